/* runs.c - run.json and events.jsonl written by hand into folders under /tmp. */

#include "tests/lib/runs/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <check.h>

#include "common/file/disk.h"

void runs_make(char *folder)
{
    snprintf(folder, 64, "/tmp/syncopate-runs-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void runs_remove(const char *folder)
{
    char command[128];
    ck_assert(strncmp(folder, "/tmp/syncopate-runs-", 20) == 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

void runs_write(const char *folder, const char *name, const char *text)
{
    char path[512];
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

char *runs_read(const char *folder, const char *name)
{
    char path[512];
    void *data = NULL;
    size_t bytes = 0;
    struct error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum status status =
        disk_posix.read_file(disk_posix.context, path, 16 << 20, &data, &bytes, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    char *text = realloc(data, bytes + 1);
    ck_assert_ptr_nonnull(text);
    text[bytes] = '\0';
    return text;
}

static void write_run_json(const char *folder, const struct made_run *run)
{
    char text[4096];
    snprintf(
        text, sizeof text,
        "{\"mode\": \"%s\", \"workers\": %u, \"servers\": 1, \"seed\": %llu, \"epochs\": 2, "
        "\"steps\": 200, \"global_batch\": 64, \"micro_batch\": 16, \"optimizer\": \"adam\", "
        "\"learning_rate\": 0.001, \"model\": \"dense 10\", \"data\": \"synthetic\", "
        "\"step\": 200, \"state\": \"done\", \"reason\": \"\", \"train_loss\": %g, "
        "\"test_accuracy\": %g, \"seconds\": 12.5, \"images_per_second\": 1024, "
        "\"staleness\": {\"count\": 200, \"mean\": 0.5, \"max\": 1, \"sum\": 100, "
        "\"deviation\": 0.5, "
        "\"histogram\": [100, 100]}, "
        "\"verdicts\": {\"applied\": 200, \"stale\": 0, \"duplicate\": 0, \"rejected\": 0}, "
        "\"worker_details\": [{\"batches\": 100, \"examples\": 6400, \"compute_seconds\": 9, "
        "\"exchange_seconds\": 1.5, \"waits\": {\"barrier\": 2}, \"evaluate_seconds\": 0.25}], "
        "\"parameters_sha256\": \"%s\"}\n",
        run->mode, run->workers, run->seed, run->loss, run->accuracy, run->sha256);
    runs_write(folder, "run.json", text);
}

static void write_events(const char *folder, const struct made_run *run)
{
    char text[8192];
    int used = snprintf(text, sizeof text,
                        "{\"time\": 1.0, \"event\": \"start\", \"step\": 0, \"steps\": 200, "
                        "\"steps_per_epoch\": 100}\n");
    for (int step = 20; step <= 200; step += 20) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used,
                     "{\"time\": %g, \"event\": \"progress\", \"training_seconds\": %g, "
                     "\"step\": %d, \"epoch\": %g, "
                     "\"loss\": %g, \"accuracy\": 0.5, \"images_per_second\": 1000}\n",
                     1.0 + step * 0.07, step / 16.0, step, step / 100.0, run->loss + 20.0 / step);
        if (step % 100 == 0)
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "{\"time\": %g, \"event\": \"evaluation\", \"training_seconds\": %g, "
                             "\"step\": %d, \"epoch\": %d, \"test_loss\": 1, \"test_accuracy\": "
                             "%g, \"seconds\": 0.1}\n",
                             1.1 + step * 0.07, step / 16.0, step, step / 100,
                             run->accuracy - (step < 200 ? 0.1 : 0));
    }
    runs_write(folder, "events.jsonl", text);
}

void runs_finished(const char *folder, const struct made_run *run)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, run->name);
    mkdir(path, 0700);
    write_run_json(path, run);
    write_events(path, run);
}
