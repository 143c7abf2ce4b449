/* test_record.c - runs are read from made-up directories, whole, unfinished and damaged. */
/* promises: windows */

#include "common/progress/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/progress/summary.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

static const struct made_run plain = {"run", "sync", "3f2a", 2, 7, 0.25, 0.875};

/* A folder with one run in it, or with whatever files a test writes. */
struct scene {
    char folder[64];
    char run[128];
    struct record record;
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    runs_make(scene->folder);
    snprintf(scene->run, sizeof scene->run, "%s/run", scene->folder);
}

static void scene_free(struct scene *scene)
{
    record_free(&scene->record);
    runs_remove(scene->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

static enum status read_again(struct scene *scene)
{
    record_free(&scene->record);
    return record_read(&scene->record, scene->run, &scene->error);
}

TEST(a_finished_run_is_read_whole)
{
    runs_finished(scene->folder, &plain);
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    const struct record *record = &scene->record;
    ck_assert_str_eq(record->mode_text, "sync");
    ck_assert_str_eq(record->model, "dense 10");
    ck_assert_str_eq(record->summary.parameters_sha256, "3f2a");
    ck_assert_uint_eq(record->workers, 2);
    ck_assert_uint_eq(record->seed, 7);
    ck_assert_uint_eq(record->summary.step, 200);
    ck_assert_double_eq(record->learning_rate, 0.001);
    ck_assert_double_eq(record->summary.test.accuracy, 0.875);
    ck_assert_double_eq(record->staleness_mean, 0.5);
    ck_assert_double_eq(record->summary.staleness.shape.buckets[1], 100);
    ck_assert_double_eq(record->summary.staleness.shape.buckets[2], 0);
    ck_assert_double_eq(record->summary.verdicts.applied, 200);
    ck_assert_uint_eq(record->summary.worker_count, 1);
    ck_assert_double_eq(worker_summary_wait(&record->summary.workers[0]), 2);
    ck_assert_uint_eq(record->point_count, 10);
    ck_assert_uint_eq(record->evaluation_count, 2);
    ck_assert_double_eq(record->evaluations[1].test.accuracy, 0.875);
}

TEST(the_last_point_is_at_the_seconds_of_training)
{
    runs_finished(scene->folder, &plain);
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_double_eq_tol(scene->record.points[0].training_seconds, 1.25, 1e-9);
    ck_assert_double_eq_tol(scene->record.points[9].training_seconds, scene->record.summary.seconds,
                            1e-9);
}

TEST(what_was_done_about_staleness_is_read)
{
    runs_write(scene->run, "run.json",
               "{\"job\": {\"use_locking\": true, \"staleness_rate\": \"constant\", "
               "\"delay_compensation\": 0.04, \"compensation_adapts\": true, \"max_staleness\": 3, "
               "\"staleness_loses\": true}}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    const struct job *config = &scene->record.config;
    ck_assert(config->use_locking && config->compensation_adapts && config->staleness_loses);
    ck_assert_int_eq(config->staleness_rate, STALENESS_RATE_CONSTANT);
    ck_assert_float_eq(config->delay_compensation, 0.04f);
    ck_assert_uint_eq(config->max_staleness, 3);
    runs_write(scene->run, "run.json",
               "{\"job\": {\"use_locking\": 1, \"staleness_rate\": \"odd\", "
               "\"delay_compensation\": -1, \"max_staleness\": \"many\"}}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert(!config->use_locking && !config->compensation_adapts && !config->staleness_loses);
    ck_assert_int_eq(config->staleness_rate, STALENESS_RATE_NONE);
    ck_assert_float_eq(config->delay_compensation, 0);
    ck_assert_uint_eq(config->max_staleness, 0);
}

TEST(what_is_missing_is_not_there)
{
    runs_write(scene->run, "run.json", "{\"test_accuracy\": null, \"mode\": 3, \"workers\": -1}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_double_nan(scene->record.summary.test.accuracy);
    ck_assert_double_nan(scene->record.summary.seconds);
    ck_assert_double_nan(scene->record.staleness_mean);
    ck_assert_str_eq(scene->record.mode_text, "");
    ck_assert_uint_eq(scene->record.workers, 0);
    ck_assert_uint_eq(scene->record.summary.worker_count, 0);
    ck_assert_uint_eq(scene->record.point_count, 0);
}

TEST(a_folder_without_a_run_is_not_found)
{
    ck_assert_int_eq(read_again(scene), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "run.json"));
}

TEST(a_run_json_that_is_not_json_is_refused)
{
    runs_write(scene->run, "run.json", "{\"mode\": ");
    ck_assert_int_eq(read_again(scene), STATUS_INVALID);
    runs_write(scene->run, "run.json", "[]");
    ck_assert_int_eq(read_again(scene), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "run.json"));
}

#define START_AT(step)  "{\"time\": 0, \"event\": \"start\", \"step\": " #step "}\n"
#define POINT_AT(step)  "{\"time\": " #step ", \"event\": \"progress\", \"step\": " #step "}\n"
#define SET_ASIDE(name) "{\"time\": 0, \"event\": \"set_aside\", \"file\": \"" name "\"}\n"

TEST(damaged_events_are_counted_and_left_out)
{
    runs_write(scene->run, "run.json", "{}");
    runs_write(scene->run, "events.jsonl",
               START_AT(0) "\nnonsense\n" POINT_AT(1) "{\"time\": 2,\n\377\n" POINT_AT(3));
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_uint_eq(scene->record.damaged_lines, 3);
    ck_assert_uint_eq(scene->record.point_count, 2);
    ck_assert_str_eq(scene->record.no_events.text, "");
}

#define WINDOW_OF(first, last, score)                                                              \
    "{\"time\": 1, \"event\": \"window\", \"window\": 1, \"from\": " #first ", \"step\": " #last   \
    ", \"every\": 10, \"batches\": 10, \"loss\": " #score ", \"accuracy\": 0.5, \"examples\": 9, " \
    "\"of\": 9, \"seconds\": 1, \"training_seconds\": " #last "}\n"

/* Told across each other, told again after going back, and the last once more when the run was made
 * longer. */
TEST(of_every_window_the_last_that_was_told_is_read)
{
    runs_write(scene->run, "run.json", "{}");
    runs_write(
        scene->run, "events.jsonl",
        START_AT(0) WINDOW_OF(10, 20, 2) WINDOW_OF(
            0, 10, 1) "{\"time\": 2, \"event\": \"generation\", \"step\": 15}\n" WINDOW_OF(10, 20,
                                                                                           3)
            WINDOW_OF(20, 23, 4) START_AT(23) WINDOW_OF(30, 40, 6) WINDOW_OF(20, 30, 5));
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_uint_eq(scene->record.window_count, 4);
    const double losses[] = {1, 3, 5, 6};
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(scene->record.windows[i].window.first, 10 * i);
        ck_assert(scene->record.windows[i].window.loss == losses[i]);
    }
}

/* Anything in the place of the events is no reason not to show the run. */
TEST(events_that_cannot_be_read_are_a_remark)
{
    char path[256];
    snprintf(path, sizeof path, "%s/events.jsonl", scene->run);
    runs_write(scene->run, "run.json", "{}");
    ck_assert_int_eq(mkfifo(path, 0666), 0);
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(scene->record.no_events.text, "a pipe"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(scene->record.no_events.text, "a folder"));
    ck_assert_int_eq(rmdir(path), 0);
    FILE *file = fopen(path, "w"); /* No log at all: reading ends. */
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 20000; i++)
        fputs("x\n", file);
    fputs(POINT_AT(1), file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(scene->record.no_events.text, "is no log of events"));
    ck_assert_uint_eq(scene->record.point_count, 0);
}

TEST(a_log_that_was_set_aside_is_the_beginning_of_the_next)
{
    runs_write(scene->run, "run.json", "{}");
    runs_write(scene->run, "events.jsonl.damaged-1", START_AT(0) POINT_AT(10) POINT_AT(20));
    runs_write(scene->run, "events.jsonl.damaged-2",
               SET_ASIDE("events.jsonl.damaged-1") START_AT(10) "x\n" POINT_AT(11));
    runs_write(scene->run, "events.jsonl",
               SET_ASIDE("events.jsonl.damaged-2") START_AT(11) POINT_AT(12));
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_uint_eq(scene->record.damaged_lines, 1);
    ck_assert_uint_eq(scene->record.point_count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq(scene->record.points[i].step, 10 + (double)i);
}

/* Nor do names lead anywhere else, or in a circle. */
TEST(a_log_leads_to_no_other_place)
{
    static const char *const names[] = {
        "../run/events.jsonl.damaged-1", "/etc/passwd",           "run.json", "",
        "events.jsonl.damaged-x/..",     "events.jsonl.damaged-3"};
    runs_write(scene->run, "run.json", "{}");
    runs_write(scene->run, "events.jsonl.damaged-1", POINT_AT(10));
    runs_write(scene->run, "events.jsonl.damaged-3", SET_ASIDE("events.jsonl.damaged-3"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[300];
        snprintf(text, sizeof text, SET_ASIDE("%s") POINT_AT(12), names[i]);
        runs_write(scene->run, "events.jsonl", text);
        ck_assert_int_eq(read_again(scene), STATUS_OK);
        ck_assert_uint_eq(scene->record.point_count, 1);
    }
}

TEST(a_last_line_that_is_cut_off_is_left_out)
{
    runs_write(scene->run, "run.json", "{}");
    runs_write(
        scene->run, "events.jsonl",
        "{\"time\": 1, \"event\": \"progress\", \"step\": 1}\n{\"time\": 2, \"event\": \"pro");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_uint_eq(scene->record.point_count, 1);
}

TEST(a_resumed_run_is_one_series)
{
    runs_write(scene->run, "run.json", "{\"exchanged_bytes\": 170, \"seconds\": 1.5}");
    runs_write(scene->run, "events.jsonl",
               "{\"time\": 5, \"event\": \"start\", \"step\": 0}\n"
               "{\"time\": 6, \"event\": \"progress\", \"exchanged_bytes\": 100, "
               "\"training_seconds\": 1, \"step\": 10}\n"
               "{\"time\": 9, \"event\": \"progress\", \"exchanged_bytes\": 200, "
               "\"training_seconds\": 2, \"step\": 20}\n"
               "{\"time\": 10, \"event\": \"progress\", \"exchanged_bytes\": 300, "
               "\"training_seconds\": 3, \"step\": 30}\n"
               "{\"time\": 10, \"event\": \"evaluation\", \"step\": 30}\n"
               "{\"time\": 0.5, \"event\": \"start\", \"step\": 20}\n"
               "{\"time\": 5.5, \"event\": \"progress\", \"exchanged_bytes\": 150, "
               "\"training_seconds\": 1, \"step\": 30}\n"
               "{\"time\": 6, \"event\": \"evaluation\", \"exchanged_bytes\": 160, "
               "\"training_seconds\": 1, \"step\": 30}\n");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_uint_eq(scene->record.point_count, 3);
    ck_assert_uint_eq(scene->record.evaluation_count, 1);
    ck_assert_double_eq(scene->record.points[2].step, 30);
    /* 2 s of the first, 1 s of the second. */
    ck_assert_double_eq(scene->record.points[2].training_seconds, 3);
    ck_assert_double_eq(scene->record.points[2].exchanged_bytes, 350);
    ck_assert_double_eq(scene->record.evaluations[0].exchanged_bytes, 360);
    ck_assert_double_eq(scene->record.exchanged_bytes, 370);
    ck_assert_double_eq(scene->record.training_seconds, 3.5);
}

/* An older one, of which nothing is made up. */
TEST(a_run_that_does_not_say_what_it_moved_has_no_bytes)
{
    runs_write(scene->run, "run.json", "{}");
    runs_write(scene->run, "events.jsonl",
               "{\"time\": 5, \"event\": \"start\", \"step\": 0}\n"
               "{\"time\": 6, \"event\": \"progress\", \"training_seconds\": 1, \"step\": 10}\n"
               "{\"time\": 7, \"event\": \"start\", \"step\": 10}\n"
               "{\"time\": 9, \"event\": \"progress\", \"exchanged_bytes\": 200, "
               "\"training_seconds\": 2, \"step\": 20}\n");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    ck_assert_double_nan(scene->record.points[0].exchanged_bytes);
    ck_assert_double_nan(scene->record.points[1].exchanged_bytes);
    ck_assert_double_nan(scene->record.exchanged_bytes);
    ck_assert_double_eq(scene->record.points[1].training_seconds, 3);
}

static void print_summary(const struct scene *scene, char *text, size_t bytes)
{
    FILE *out = fmemopen(text, bytes, "w");
    summary_print(out, &scene->record, 0);
    fclose(out);
}

/* What run.json has of a histogram is what is read of it, and what is told. */
TEST(staleness_is_told_by_its_mean_and_its_shape)
{
    char text[8192] = {0};
    runs_write(scene->run, "run.json",
               "{\"mode\": \"async\", \"workers\": 4, \"processors\": 2, \"workers_beside\": 4, "
               "\"staleness\": {\"count\": 10, \"mean\": 205.4, \"deviation\": 614.0, \"max\": "
               "2047, \"sum\": 2054, \"histogram\": [3, 6], \"histogram_powers\": [1], "
               "\"expected\": 2060, \"renewed\": 6}}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    const struct staleness *staleness = &scene->record.summary.staleness;
    ck_assert_uint_eq(staleness->shape.buckets[HISTOGRAM_EXACT], 1);
    ck_assert_uint_eq(staleness->shape.sum + staleness->renewed, staleness->expected);
    print_summary(scene, text, sizeof text);
    ck_assert_msg(
        strstr(text,
               "  staleness      mean 205.40, deviation 614.00, half up to 1, 99 % up to 2,047,\n"
               "                 max 2,047 updates\n") != NULL,
        "%s", text);
    ck_assert_msg(strstr(text, "one less") == NULL, "%s", text);
    ck_assert_msg(strstr(text, "4 workers on 2 processors: this is the scheduler's shape") != NULL,
                  "%s", text);
}

TEST(a_loss_that_is_no_better_than_guessing_is_said_to_be)
{
    static const struct {
        const char *model, *loss;
        bool said;
    } cases[] = {{"flatten, dense 64 relu, dense 10", "2.28", true},
                 {"flatten, dense 64 relu, dense 10", "2.27", false},
                 {"flatten, dense 10 relu, dense 2", "0.69", true},
                 {"flatten, dense 10 relu, dense 2", "0.68", false},
                 {"mine", "9", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char run[256], text[8192] = {0};
        snprintf(run, sizeof run,
                 "{\"mode\": \"sync\", \"model\": \"%s\", \"train_loss\": %s, \"train_accuracy\": "
                 "0.1, \"train_epoch\": 1, \"train_examples\": 60}",
                 cases[i].model, cases[i].loss);
        runs_write(scene->run, "run.json", run);
        ck_assert_int_eq(read_again(scene), STATUS_OK);
        print_summary(scene, text, sizeof text);
        const char *line = strstr(text, "\n                 the loss is no better than guessing (");
        ck_assert_msg((line != NULL) == cases[i].said, "%s", text);
        ck_assert(line == NULL || strstr(line, i == 0 ? "(2.303)\n" : "(0.693)\n") != NULL);
    }
}

TEST(what_is_beyond_a_bound_of_staleness_is_told)
{
    char text[8192] = {0};
    runs_write(scene->run, "run.json",
               "{\"mode\": \"async\", \"workers\": 8, \"job\": {\"max_staleness\": 1}, "
               "\"verdicts\": {\"applied\": 100, \"stale\": 30}, \"staleness\": {\"count\": 100, "
               "\"mean\": 0.97, \"deviation\": 1, \"max\": 1, \"sum\": 97, \"histogram\": [3, 97], "
               "\"expected\": 600, \"renewed\": 1}}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    print_summary(scene, text, sizeof text);
    ck_assert_msg(strstr(text, "  staleness      mean 0.97, deviation ") != NULL &&
                      strstr(text, "100 applied, 30 sent back as too old, 0 duplicate") != NULL,
                  "%s", text);
}

TEST(what_its_mode_says_of_itself_is_read_and_told)
{
    char text[8192] = {0};
    runs_write(
        scene->run, "run.json",
        "{\"mode\": \"ssp:2\", \"mode_figures\": {\"batches_apart_max\": 2, \"waits\": 31}}");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    const struct mode_figures *figures = &scene->record.summary.mode_figures;
    ck_assert_uint_eq(figures->count, 2);
    ck_assert_str_eq(figures->figures[1].name, "waits");
    ck_assert_uint_eq(figures->figures[1].value, 31);
    print_summary(scene, text, sizeof text);
    ck_assert_msg(strstr(text, "  mode           batches apart max 2, waits 31\n") != NULL, "%s",
                  text);
}

TEST(what_was_written_beside_training_is_told_within_the_line)
{
    char text[8192] = {0};
    struct run_summary *summary = &scene->record.summary;
    summary->evaluation_seconds = 0.001;
    summary->checkpoint_seconds = 1234.5;
    summary->beside_seconds = 2345.6;
    print_summary(scene, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, " more of that beside"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        ck_assert_msg(strlen(line) <= 80, "%s", line);
}

TEST(files_that_are_there_are_told_with_one_blank_between_them)
{
    char text[8192] = {0};
    runs_write(scene->run, "run.json", "{\"mode\": \"sync\"}");
    runs_write(scene->run, "record", "");
    runs_write(scene->run, "logs", "");
    ck_assert_int_eq(read_again(scene), STATUS_OK);
    print_summary(scene, text, sizeof text);
    const char *files = strstr(text, "  files ");
    ck_assert_ptr_nonnull(files);
    ck_assert_msg(strstr(files, "\n                 run.json") != NULL, "%s", files);
    ck_assert_msg(strstr(files, " record\n                 logs\n") != NULL, "%s", files);
}

int main(void)
{
    return suite_run("record", NULL);
}
