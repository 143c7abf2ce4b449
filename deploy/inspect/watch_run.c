/* watch_run.c - progress.h and record.h over a run directory, until run.json says that it has ended
 * or no process holds the folder. */

#include "deploy/inspect/watch_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "common/progress/progress.h"
#include "common/progress/record.h"
#include "common/progress/summary.h"
#include "common/store/event_log.h"
#include "deploy/inspect/inspect_json.h"

#define TICK_MS      200
#define LOOK_SECONDS 1.0 /* Between looks whether it has ended. */

/* Whether run.json says that it has ended, or no process holds the folder. */
static bool has_ended(const char *path, struct record *record)
{
    struct record now;
    bool unused =
        event_log_is_unused(&disk_posix, path); /* Before: at the end run.json comes first. */
    if (record_read(&now, path, NULL) != STATUS_OK)
        return unused;
    record_free(record);
    *record = now;
    return unused || strcmp(now.state, "running") != 0;
}

static enum status show_json(const char *path, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    enum status status = inspect_json_run(&writer, path, error);
    if (status == STATUS_OK && !writer.failed)
        printf("%s\n", writer.text);
    fflush(stdout);
    json_writer_free(&writer);
    return status;
}

static enum status watch_json(const char *path, const struct inspect_style *style,
                              struct error *error)
{
    struct record record = {0};
    enum status status = STATUS_OK;
    bool ended = false;
    double shown = 0;
    while (!ended && status == STATUS_OK) {
        ended = has_ended(path, &record);
        if (ended || clock_now_seconds() >= shown + style->every) {
            status = show_json(path, error);
            shown = clock_now_seconds();
        }
        if (!ended)
            usleep(TICK_MS * 1000);
    }
    record_free(&record);
    return status;
}

static void print_end(const struct record *record)
{
    bool ended = strcmp(record->state, "running") != 0;
    summary_print(stdout, record, 0);
    if (ended)
        printf("the run has ended: %s%s%s\n", record->state,
               record->summary.reason[0] != '\0' ? ", " : "", record->summary.reason);
    else
        printf("the run is not being trained: its processes have gone; the same command goes on "
               "with it\n");
}

enum status watch_run(const char *path, const struct inspect_style *style, struct error *error)
{
    if (style->json)
        return watch_json(path, style, error);
    struct record record;
    struct progress progress;
    enum status status = record_read(&record, path, error);
    if (status != STATUS_OK)
        return status;
    progress_open(&progress, stdout, progress_style_of(stdout, false, false, style->every), path,
                  clock_now_seconds());
    progress_catch_up(&progress);
    double looked = -LOOK_SECONDS;
    bool ended = false;
    while (!ended) {
        double now = clock_now_seconds();
        progress_tick(&progress, now);
        if (now >= looked + LOOK_SECONDS) {
            ended = has_ended(path, &record);
            looked = now;
        }
        if (!ended)
            usleep(TICK_MS * 1000);
    }
    progress_close(&progress);
    print_end(&record);
    record_free(&record);
    return STATUS_OK;
}
