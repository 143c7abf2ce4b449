/* test_report.c - the report of compared runs: groups, spreads, what it states and warns of, and
 * that it is whole. */
/* promises: compare */

#include "deploy/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "deploy/report/config.h"
#include "deploy/report/table.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

struct scene {
    char folder[64];
    struct comparison comparison;
    struct conclusion conclusion; /* See ask. */
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    runs_make(scene->folder);
    comparison_init(&scene->comparison);
}

static void scene_free(struct scene *scene)
{
    conclusion_free(&scene->conclusion);
    comparison_free(&scene->comparison);
    runs_remove(scene->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

/* As a run of this arm. */
static void take_as(struct scene *scene, const char *config_name, const char *label,
                    const char *name)
{
    char path[256];
    struct config config = {.label = ""};
    snprintf(config.name, sizeof config.name, "%s", config_name);
    snprintf(config.label, sizeof config.label, "%s", label);
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    ck_assert_msg(comparison_add(&scene->comparison, &config, path, &scene->error) == STATUS_OK,
                  "%s", scene->error.text);
}

/* The arm is what stands before the seed. */
static void take(struct scene *scene, const char *name)
{
    char config[64];
    const char *seed = strrchr(name, '-');
    snprintf(config, sizeof config, "%.*s", seed != NULL ? (int)(seed - name) : 63, name);
    take_as(scene, config, "", name);
}

static void take_run(struct scene *scene, const struct made_run *run)
{
    runs_finished(scene->folder, run);
    take(scene, run->name);
}

/* What the runs that are there have to say. */
static const struct conclusion *ask(struct scene *scene)
{
    struct question question = {.margin = CONCLUSION_MARGIN};
    conclusion_free(&scene->conclusion);
    ck_assert_int_eq(
        conclusion_make(&scene->conclusion, &scene->comparison, &question, &scene->error),
        STATUS_OK);
    return &scene->conclusion;
}

/* Sync and async, one and two workers, seeds 1 and 2. */
static void take_eight(struct scene *scene)
{
    static const struct made_run runs[] = {
        {"sync-w1-s1", "sync", "aaaa", 1, 1, 0.2, 0.90},
        {"sync-w2-s1", "sync", "aaaa", 2, 1, 0.2, 0.90},
        {"async-w1-s1", "async", "cccc", 1, 1, 0.2, 0.90},
        {"async-w2-s1", "async", "dddd", 2, 1, 0.3, 0.88},
        {"sync-w1-s2", "sync", "bbbb", 1, 2, 0.3, 0.92},
        {"sync-w2-s2", "sync", "bbbb", 2, 2, 0.3, 0.92},
        {"async-w1-s2", "async", "eeee", 1, 2, 0.3, 0.92},
        {"async-w2-s2", "async", "ffff", 2, 2, 0.5, 0.90},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        take_run(scene, &runs[i]);
}

/* And a third seed of one of the four. */
static void take_ninth(struct scene *scene)
{
    take_eight(scene);
    take_run(scene, &(struct made_run){"async-w2-s3", "async", "9999", 2, 3, 0.7, 0.92});
}

/* The data of the page: an object, a member for each file. */
static struct json *page_data(struct scene *scene)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    struct json *root = NULL;
    char *text = runs_read(scene->folder, "report.html");
    char *data = strstr(text, begin);
    ck_assert_ptr_nonnull(data);
    data += strlen(begin);
    char *end = strchr(data, '<'); /* There is none in it. */
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(strncmp(end, "</script>", 9), 0);
    ck_assert_msg(json_parse(data, (size_t)(end - data), "report.html", &root, &scene->error) ==
                      STATUS_OK,
                  "%s", scene->error.text);
    free(text);
    return root;
}

/* Writes the report; what is in the page is JSON. */
static void write_and_check(struct scene *scene, const char *hostile)
{
    struct report_facts facts = {.command = hostile,
                                 .machine = hostile,
                                 .date = hostile,
                                 .slow = hostile,
                                 .remark = hostile};
    enum status status =
        report_write(&disk_posix, scene->folder, ask(scene), &facts, &scene->error);
    ck_assert_msg(status == STATUS_OK, "%s", scene->error.text);
    struct json *data = page_data(scene);
    ck_assert_uint_eq(json_length(data, ""),
                      4); /* compare.json, points.csv, methods.txt, steps.json. */
    json_release(&data);
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        count++;
    return count;
}

static void page_has(const struct scene *scene, const char *name, const char *what, size_t times)
{
    char *text = runs_read(scene->folder, name);
    ck_assert_msg(occurrences(text, what) == times, "%s has %zu times, not %zu: %s", name,
                  occurrences(text, what), times, what);
    free(text);
}

TEST(runs_are_grouped_by_arm)
{
    take_eight(scene);
    ck_assert_uint_eq(scene->comparison.group_count, 4);
    const struct group *group = &scene->comparison.groups[3];
    ck_assert_str_eq(group->label, "async, 2 workers");
    ck_assert_str_eq(scene->comparison.groups[0].label, "sync, 1 worker");
    ck_assert_uint_eq(group->record_count, 2);
    ck_assert_uint_eq(group->records[1]->seed, 2);
    ck_assert_uint_eq(group->workers_index, scene->comparison.groups[1].workers_index);
    ck_assert_uint_ne(group->mode_index, scene->comparison.groups[1].mode_index);
}

TEST(arms_of_one_mode_are_told_apart)
{
    static const struct made_run runs[] = {
        {"fast-s1", "async", "aaaa", 2, 1, 0.2, 0.90},
        {"slow-s1", "async", "bbbb", 2, 1, 0.3, 0.88},
        {"other-s1", "async", "cccc", 2, 1, 0.3, 0.88},
        {"fast-s2", "async", "dddd", 2, 2, 0.4, 0.80},
    };
    static const char *const configs[] = {"fast", "slow", "other", "fast"};
    static const char *const labels[] = {"rate 0.1", "rate 0.01", "rate 0.1", "rate 0.1"};
    const struct group *groups = scene->comparison.groups;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        runs_finished(scene->folder, &runs[i]);
        take_as(scene, configs[i], labels[i], runs[i].name);
    }
    ck_assert_uint_eq(scene->comparison.group_count, 3);
    ck_assert_uint_eq(groups[0].record_count, 2);
    ck_assert_str_eq(groups[0].label, "rate 0.1");
    ck_assert_str_eq(groups[1].label, "rate 0.01");
    ck_assert_str_eq(groups[2].label, "other"); /* Not a second "rate 0.1". */
    for (size_t i = 1; i < 3; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(groups[i].mode_index != groups[j].mode_index ||
                              groups[i].workers_index != groups[j].workers_index,
                          "%s and %s look the same", groups[i].label, groups[j].label);
}

static double test_accuracy(const struct record *record)
{
    return record->summary.test.accuracy;
}

static double nothing(const struct record *record)
{
    (void)record;
    return NAN;
}

TEST(a_spread_is_mean_and_sample_deviation)
{
    take_ninth(scene);
    struct spread spread = group_spread(&scene->comparison.groups[3], test_accuracy);
    ck_assert_uint_eq(spread.count, 3);
    ck_assert_double_eq_tol(spread.mean, 0.90, 1e-12);
    ck_assert_double_eq_tol(spread.deviation, 0.02, 1e-12);
    spread = group_spread(&scene->comparison.groups[0], test_accuracy);
    ck_assert_uint_eq(spread.count, 2);
    ck_assert_double_eq_tol(spread.mean, 0.91, 1e-12);
    ck_assert_double_nan(spread.deviation); /* Of two it would say nothing. */
    spread = group_spread(&scene->comparison.groups[0], nothing);
    ck_assert_uint_eq(spread.count, 0);
    ck_assert_double_nan(spread.mean);
}

TEST(equal_bits_of_sync_runs_are_stated)
{
    struct bits_verdict bits;
    take_eight(scene);
    comparison_bits(&scene->comparison, &bits);
    ck_assert_uint_eq(bits.seeds, 2);
    ck_assert(bits.equal);
    ck_assert_str_eq(bits.text,
                     "sync: the same bits for 1 and 2 workers, for each of 2 seeds: aaaa...");
}

TEST(one_bit_of_difference_is_a_warning)
{
    static const struct made_run other = {"sync-w4-s2", "sync", "bbbc", 4, 2, 0.3, 0.9};
    struct bits_verdict bits;
    take_eight(scene);
    take_run(scene, &other);
    comparison_bits(&scene->comparison, &bits);
    ck_assert(!bits.equal);
    ck_assert_str_eq(bits.text,
                     "WARNING: sync with seed 2 differs between 1 and 4 workers: bbbb... and "
                     "bbbc...");
}

TEST(nothing_is_stated_without_two_runs_to_compare)
{
    static const struct made_run runs[] = {
        {"a", "sync", "aaaa", 1, 1, 0.2, 0.9}, /* Another seed than the next. */
        {"b", "sync", "bbbb", 2, 2, 0.2, 0.9},
        {"c", "async", "cccc", 2, 1, 0.2, 0.9}, /* Another mode. */
        {"d", "sync", "", 4, 1, 0.2, 0.9},      /* No model was written. */
    };
    struct bits_verdict bits;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        take_run(scene, &runs[i]);
    comparison_bits(&scene->comparison, &bits);
    ck_assert_uint_eq(bits.seeds, 0);
    ck_assert_str_eq(bits.text, "");
}

TEST(the_table_has_a_row_for_each_group)
{
    char *text = NULL;
    size_t bytes = 0;
    take_ninth(scene);
    FILE *stream = open_memstream(&text, &bytes);
    table_write_text(stream, &scene->comparison);
    fclose(stream);
    /* What does not fit beside the rows' names goes on below, with these once more. */
    ck_assert_uint_eq(occurrences(text, "\n"), 1 + 6 + 1 + 6 + 1 + 6);
    ck_assert_uint_eq(occurrences(text, "\nasync, 2 workers  "), 3);
    ck_assert_uint_eq(occurrences(text, "staleness"), 1);
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        ck_assert_msg(end - line <= 80, "%.*s", (int)(end - line), line);
    ck_assert_msg(strncmp(text, "each run: batches 200, examples a batch 64\n", 43) == 0, "%s",
                  text);
    ck_assert_ptr_nonnull(strstr(text, "90.00 +- 2.00")); /* async, 2 workers */
    ck_assert_ptr_nonnull(strstr(text, "0.5000 +- 0.2000"));
    ck_assert_uint_eq(occurrences(text, "90.00 +-"), 1);
    free(text);
}

TEST(work_that_differs_has_columns)
{
    char *text = NULL;
    size_t bytes = 0;
    take_ninth(scene);
    for (size_t i = 0; i < scene->comparison.record_count; i++)
        if (scene->comparison.records[i]->seed == 2)
            scene->comparison.records[i]->summary.step = 100; /* Stopped early: another mean. */
    FILE *stream = open_memstream(&text, &bytes);
    table_write_text(stream, &scene->comparison);
    fclose(stream);
    ck_assert_ptr_null(strstr(text, "each run"));
    ck_assert_ptr_nonnull(strstr(text, "  batches  "));
    ck_assert_ptr_nonnull(strstr(text, "167 +- 58"));
    free(text);
}

TEST(a_number_that_was_not_recorded_is_a_dash)
{
    char run[128];
    char *text = NULL;
    size_t bytes = 0;
    snprintf(run, sizeof run, "%s/bare", scene->folder);
    runs_write(run, "run.json", "{\"mode\": \"sync\", \"workers\": 1, \"test_accuracy\": null}");
    take(scene, "bare");
    FILE *stream = open_memstream(&text, &bytes);
    table_write_text(stream, &scene->comparison);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(text, " - "));
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
}

/* A run of four workers whose gradients grew stale: as many of 0, 1, 2 and 3; of a hundred that came
 * 20 were too old. `job` is of its declaration, expected the right side of staleness.h. */
static void take_aged(struct scene *scene, const char *name, const char *mode, const char *job,
                      unsigned expected)
{
    char folder[128];
    char text[2048];
    snprintf(folder, sizeof folder, "%s/%s", scene->folder, name);
    snprintf(text, sizeof text,
             "{\"mode\": \"%s\", \"workers\": 4, \"seed\": 1, \"step\": 200, \"global_batch\": 64, "
             "\"versions\": %d, \"train_loss\": 0.3, \"test_accuracy\": 0.9, \"seconds\": 12.5, "
             "\"images_per_second\": 1024, \"job\": {%s}, "
             "\"staleness\": {\"count\": 100, \"mean\": 1.5, \"max\": 3, \"sum\": 150, "
             "\"deviation\": 1.1, \"histogram\": [25, 25, 25, 25], \"renewed\": 30, "
             "\"expected\": %u}, "
             "\"spread\": {\"count\": 100, \"sum\": 50, \"max\": 1, \"histogram\": [50, 50]}, "
             "\"part_spread\": {\"count\": 100, \"sum\": 0, \"max\": 0, \"histogram\": [100]}, "
             "\"verdicts\": {\"applied\": 60, \"stale\": 20, \"duplicate\": 15, \"rejected\": 5}, "
             "\"worker_details\": [{\"wall_seconds\": 19.75, \"compute_seconds\": 9, "
             "\"exchange_seconds\": 1.5, \"waits\": {\"gate\": 2}, \"evaluate_seconds\": 0.25}]}",
             mode, strstr(job, "accumulate") != NULL ? 50 : 200, job, expected);
    runs_write(folder, "run.json", text);
    take(scene, name);
}

static const char all_configs[] =
    "\"use_locking\": true, \"staleness_rate\": \"inverse\", \"delay_compensation\": 0.04, "
    "\"max_staleness\": 2";

/* Sync is given the same options, and has none of them; its steps that were late are no gradients
 * that --max-staleness sent back. */
static void take_configs(struct scene *scene)
{
    take_aged(scene, "sync", "sync", "\"use_locking\": false", 180);
    take_aged(scene, "async", "async", all_configs, 180);
}

/* What `write` says, malloc'd. */
static char *said(const struct scene *scene,
                  void write(FILE *stream, const struct comparison *comparison))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    write(stream, &scene->comparison);
    fclose(stream);
    return text;
}

TEST(modes_are_named_with_what_they_do_about_staleness)
{
    take_configs(scene);
    char *text = said(scene, configs_write_text);
    ck_assert_str_eq(text,
                     "async: --use-locking --staleness-rate inverse --delay-compensation 0.04\n"
                     "--max-staleness 2\n"
                     "sync: none of these, which have no use in it: no gradient grows stale\n");
    free(text);
}

TEST(a_mode_of_stale_gradients_may_have_none_of_the_options)
{
    take_aged(scene, "sums", "async", "\"accumulate\": 4", 180);
    take_aged(scene, "bound", "ssp:1", "\"use_locking\": false", 180);
    char *text = said(scene, configs_write_text);
    ck_assert_str_eq(text, "async: --accumulate 4\nssp:1: none of these\n");
    free(text);
}

/* The one has done as many batches as the other, and made a quarter of its updates. */
TEST(who_failed_is_named_and_what_is_to_come_is_said)
{
    take_eight(scene);
    char *text = said(scene, table_write_missing);
    ck_assert_str_eq(text, "");
    free(text);
    scene->comparison.planned = 12;
    static const struct failed_run failed = {"async-w2-s3", "async-w2", 3, EXIT_TRAINING_FAILED,
                                             "training <diverged>"};
    ck_assert(comparison_fail(&scene->comparison, &failed, &scene->error) == STATUS_OK);
    text = said(scene, table_write_missing);
    ck_assert_str_eq(text, "9 of 12 runs so far, 1 of them failed\n"
                           "failed: async-w2-s3: training <diverged>\n");
    free(text);
    char *json = table_json(ask(scene), "");
    ck_assert_ptr_nonnull(strstr(json, "\"runs_planned\": 12"));
    ck_assert_ptr_nonnull(strstr(json, "\"runs_done\": 8"));
    ck_assert_ptr_nonnull(strstr(json, "\"virtual\": null"));
    ck_assert_ptr_nonnull(strstr(json, "\"run\": \"async-w2-s3\", \"arm\": \"async-w2\", "
                                       "\"seed\": 3, \"exit_code\": 1, "));
    free(json);
    scene->comparison.planned = 9;
    write_and_check(scene, "");
    page_has(scene, "report.html", "\"reason\":\"training \\u003cdiverged>\"", 1);
    page_has(scene, "runs.csv", "\nasync-w2,3,async-w2-s3,failed,,", 1);
    page_has(scene, "runs.csv", ",done,", 8);
    text = runs_read(scene->folder, "table.txt");
    ck_assert_ptr_nonnull(strstr(text, "1 of 9 runs failed\nfailed: async-w2-s3: training"));
    free(text);
}

TEST(updates_are_those_that_were_made)
{
    take_aged(scene, "sums", "async", "\"accumulate\": 4", 180);
    take_aged(scene, "bound", "ssp:1", "\"use_locking\": false", 180);
    char *text = said(scene, table_write_text);
    ck_assert_msg(strstr(text, "\narm   updates ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "\nasync      50 ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "\nssp:1     200 ") != NULL, "%s", text);
    free(text);
    char *json = table_json(ask(scene), "");
    ck_assert_msg(strstr(json, "\"batches\": {\"mean\": 200.0, ") != NULL, "%s", json);
    ck_assert_ptr_nonnull(strstr(json, "\"updates\": {\"mean\": 50.0, "));
    ck_assert_ptr_nonnull(strstr(json, "\"updates\": {\"mean\": 200.0, "));
    free(json);
}

/* 35 steps of 64 of 1,000 examples: two epochs of 16, the last step of each of 40, and three. */
TEST(what_backup_workers_drop_is_a_share_of_all_examples)
{
    take_run(scene, &(struct made_run){"backup", "sync+backup:1", "aaaa", 3, 1, 0.2, 0.9});
    take_run(scene, &(struct made_run){"sync", "sync", "aaaa", 3, 1, 0.2, 0.9});
    struct record *backup = scene->comparison.records[0];
    backup->examples = 1000;
    backup->global_batch = 64;
    backup->summary.step = 35;
    backup->training_seconds = 4;
    mode_figures_add(&backup->summary.mode_figures, "examples_dropped", 548);
    ck_assert_double_eq_tol(record_dropped(backup), 548.0 / (2 * 1000 + 3 * 64), 1e-12);
    ck_assert_double_nan(record_dropped(scene->comparison.records[1]));
    ck_assert_double_eq_tol(record_worker_seconds(backup), 12, 1e-12);
    char *text = said(scene, table_write_text);
    ck_assert_msg(strstr(text, " dropped\n") != NULL, "%s", text);
    ck_assert_msg(strstr(text, " 25.00\n") != NULL, "%s", text);
    free(text);
    char *json = table_json(ask(scene), "");
    ck_assert_ptr_nonnull(strstr(json, "\"worker_seconds\": {\"mean\": 12.0, "));
    free(json);
}

TEST(what_was_done_about_staleness_has_numbers)
{
    take_configs(scene);
    const struct record *sync = scene->comparison.records[0];
    const struct record *async = scene->comparison.records[1];
    ck_assert_double_eq_tol(config_sent_back(async), 0.2, 1e-12);
    ck_assert_double_nan(config_lost(async));
    ck_assert_double_eq_tol(config_rate(async), 2.5 / 3, 1e-6); /* Of 0, 1 and 2. */
    ck_assert_double_eq_tol(config_moved(async), 2.0 / 3, 1e-12);
    ck_assert_double_nan(config_sent_back(sync));
    ck_assert_double_nan(config_rate(sync));
    ck_assert_double_nan(config_moved(sync));
}

TEST(lost_gradients_are_not_sent_back)
{
    take_aged(scene, "lost", "async", "\"max_staleness\": 2, \"staleness_loses\": true", 180);
    ck_assert_double_eq_tol(config_lost(scene->comparison.records[0]), 0.2, 1e-12);
    ck_assert_double_nan(config_sent_back(scene->comparison.records[0]));
}

TEST(a_rate_is_told_where_it_is_known)
{
    take_aged(scene, "all", "async", "\"staleness_rate\": \"inverse\"", 180);
    take_aged(scene, "alike", "async", "\"staleness_rate\": \"constant\"", 180);
    take_aged(scene, "sums", "async", "\"staleness_rate\": \"inverse\", \"accumulate\": 4", 180);
    ck_assert_double_eq_tol(config_rate(scene->comparison.records[0]), (2 + 0.5 + 1.0 / 3) / 4,
                            1e-6);
    ck_assert_double_eq_tol(config_rate(scene->comparison.records[1]), 1.0 / 3, 1e-6);
    ck_assert_double_nan(config_rate(scene->comparison.records[2]));
}

TEST(without_such_options_nothing_is_said_of_them)
{
    take_eight(scene);
    char *text = said(scene, configs_write_text);
    ck_assert_str_eq(text, "");
    free(text);
}

TEST(the_report_has_the_options_and_what_they_did)
{
    take_configs(scene);
    write_and_check(scene, "");
    page_has(scene, "table.txt", "sent back %", 1);
    page_has(scene, "table.txt", " 20.00 ", 1);
    page_has(scene, "compare.json", "--max-staleness 2", 1);
    page_has(scene, "runs.csv", "--use-locking --staleness-rate inverse", 1);
}

/* Over all runs of an arm, also where two that are wrong would make up for each other. */
TEST(staleness_has_both_sides_of_its_identity)
{
    take_aged(scene, "right", "async", "", 180);
    take_aged(scene, "wrong", "ssp:1", "", 170);
    write_and_check(scene, "");
    page_has(scene, "compare.json",
             "\"staleness\": {\"sum\": 150, \"renewed\": 30, \"expected\": 180, \"apart\": 0, "
             "\"histogram\": [25, 25, 25, 25]}",
             1);
    page_has(scene, "compare.json", "\"expected\": 170, \"apart\": 10, ", 1);
}

TEST(one_run_does_not_hide_what_another_lacks)
{
    take_aged(scene, "async-more", "async", "", 170);
    take_aged(scene, "async-less", "async", "", 190);
    write_and_check(scene, "");
    page_has(scene, "compare.json", "\"expected\": 360, \"apart\": 20, ", 1);
}

TEST(every_second_of_a_worker_has_a_name)
{
    take_aged(scene, "async", "async", "", 180);
    write_and_check(scene, "");
    page_has(scene, "compare.json",
             "{\"computing\": 9.0000, \"exchanging\": 1.5000, \"lease\": 0.0000, "
             "\"bound\": 0.0000, \"gate\": 2.0000, \"barrier\": 0.0000, \"scoring\": 0.2500, "
             "\"other\": 7.0000}",
             1);
}

TEST(the_page_says_how_it_was_measured_and_whose_time_it_is)
{
    take_aged(scene, "real", "async", "", 180);
    write_and_check(scene, "");
    page_has(scene, "report.html", "one run after another", 1);
    page_has(scene, "report.html", "time was modelled", 0);
    comparison_free(&scene->comparison);
    comparison_init(&scene->comparison);
    take_aged(scene, "modelled", "async", "\"cluster\": \"64 hosts, 10Gbit\"", 180);
    write_and_check(scene, "");
    page_has(scene, "report.html", "one run after another", 0);
    page_has(scene, "report.html", "Learning was computed, time was modelled: 64 hosts, 10Gbit.",
             1);
    page_has(scene, "methods.txt", "virtual, those of the", 1);
}

/* The page has what it draws from, and nothing is fetched from elsewhere. */
TEST(the_report_is_whole)
{
    take_eight(scene);
    write_and_check(scene, "syncopate compare --seeds 2");
    page_has(scene, "report.html", "sync-w1,1,loss,20,", 2); /* And async-w1. */
    page_has(scene, "report.html", "the same bits for 1 and 2 workers", 1);
    page_has(scene, "report.html", "default-src 'none'; script-src 'sha256-", 1);
    page_has(scene, "report.html", " src=", 0);
    page_has(scene, "report.html", "url(", 0);
    page_has(scene, "report.html", "@import", 0);
    page_has(scene, "points.csv", "\nsync-w1,1,images_per_second,20,", 1);
    page_has(scene, "runs.csv", "\nasync-w2,2,async-w2-s2,done,async,", 1);
}

TEST(the_numbers_can_be_read_by_programs)
{
    struct json *root = NULL;
    take_eight(scene);
    write_and_check(scene, "it's \"quoted\" \\ <&>");
    char *text = runs_read(scene->folder, "compare.json");
    ck_assert_int_eq(json_parse(text, strlen(text), "compare.json", &root, &scene->error),
                     STATUS_OK);
    ck_assert_str_eq(json_text(root, "command"), "it's \"quoted\" \\ <&>");
    ck_assert_ptr_nonnull(strstr(text, "\"same_bits\": true"));
    const struct json *groups = json_at(root, "groups");
    ck_assert_uint_eq(json_length(groups, ""), 4);
    const struct json *last = json_item(groups, 3);
    ck_assert_str_eq(json_text(last, "mode"), "async");
    ck_assert_uint_eq(json_u64(last, "workers", 0), 2);
    ck_assert_double_eq_tol(json_number(last, "train_loss.mean"), 0.4, 1e-12);
    ck_assert_double_eq_tol(json_number(last, "wait_seconds.mean"), 2, 1e-12);
    json_release(&root);
    free(text);
}

TEST_PLAIN(hostile_names_stay_text)
{
    static const char *const hostile = "</pre></dd><script>alert(\"x\")</script> & \xff\x01 '";
    struct scene scene;
    char run[128];
    scene_init(&scene);
    snprintf(run, sizeof run, "%s/evil", scene.folder);
    runs_write(run, "run.json",
               "{\"mode\": \"</text><script>1\", \"workers\": 3, \"data\": \"<b>&\\u0007\", "
               "\"model\": \"<!-- ]]>\", \"optimizer\": \"<script>\", \"train_loss\": 1, "
               "\"test_accuracy\": 0.5}");
    take(&scene, "evil");
    write_and_check(&scene, hostile);
    page_has(&scene, "report.html", "<script", 2); /* The page's own: data, and what draws it. */
    page_has(&scene, "report.html", "<!--", 0);
    scene_free(&scene);
}

TEST(runs_with_nothing_in_them_make_a_report)
{
    char run[128];
    write_and_check(scene, ""); /* No run at all. */
    snprintf(run, sizeof run, "%s/bare", scene->folder);
    runs_write(run, "run.json", "{\"mode\": \"sync\", \"workers\": 1}");
    runs_write(run, "events.jsonl",
               "{\"event\": \"progress\", \"time\": null, \"loss\": null}\n"
               "{\"event\": \"progress\", \"time\": 1, \"step\": 1, \"loss\": null}\n"
               "{\"event\": \"evaluation\", \"epoch\": 1, \"test_accuracy\": null}\n");
    take(scene, "bare");
    write_and_check(scene, "");
}

TEST(runs_that_score_by_loss_alone_have_no_accuracy)
{
    char run[128];
    snprintf(run, sizeof run, "%s/loss", scene->folder);
    runs_write(run, "run.json",
               "{\"mode\": \"sync\", \"workers\": 1, \"train_loss\": 1, \"test_loss\": 2}");
    take(scene, "loss");
    const struct report_facts facts = {.command = ""};
    ck_assert_int_eq(report_write(&disk_posix, scene->folder, ask(scene), &facts, &scene->error),
                     STATUS_OK);
    page_has(scene, "table.md", "accuracy", 0);
}

TEST(absurd_numbers_do_not_break_the_report)
{
    char run[128];
    snprintf(run, sizeof run, "%s/wild", scene->folder);
    runs_write(
        run, "run.json",
        "{\"mode\": \"async\", \"workers\": 4294967295, \"step\": 9223372036854775807, "
        "\"seconds\": 1e300, \"train_loss\": -1e308, \"test_accuracy\": 1e9, "
        "\"images_per_second\": 1e-300, "
        "\"staleness\": {\"mean\": 1e99, \"histogram\": [1e300, -5, null, 1e-300, 7]}, "
        "\"worker_details\": [{\"compute_seconds\": 1e300, \"waits\": {\"gate\": -3}}, 4, {}]}");
    runs_write(run, "events.jsonl",
               "{\"event\": \"progress\", \"time\": 1e300, \"step\": 1e308, \"loss\": 1e300}\n"
               "{\"event\": \"progress\", \"time\": -1, \"step\": -1e308, \"loss\": 0}\n"
               "{\"event\": \"progress\", \"time\": 2, \"step\": 2, \"loss\": -7}\n"
               "{\"event\": \"evaluation\", \"epoch\": 1e12, \"test_accuracy\": 1e9}\n");
    take(scene, "wild");
    write_and_check(scene, "");
}

TEST(very_many_groups_and_workers_fit)
{
    char name[32];
    for (unsigned i = 0; i < COMPARISON_GROUPS_MAX; i++) {
        snprintf(name, sizeof name, "w%u", i);
        struct made_run run = {name, "async", "aaaa", i + 1, 1, 0.2, 0.9};
        take_run(scene, &run);
    }
    write_and_check(scene, "");
    struct made_run one_more = {"more", "async", "aaaa", 1000, 1, 0.2, 0.9};
    runs_finished(scene->folder, &one_more);
    char path[128];
    const struct config config = {.name = "more"};
    snprintf(path, sizeof path, "%s/more", scene->folder);
    ck_assert_int_eq(comparison_add(&scene->comparison, &config, path, &scene->error),
                     STATUS_INVALID);
}

static char arguments[][40] = {
    "syncopate",  "compare", "--model",         "conv 8x3 relu, dense 10",
    "--out=it's", "",        "--slow=1:2.0,3:4"};

TEST_PLAIN(a_command_can_be_pasted_into_a_shell)
{
    char *argv[7];
    char text[256];
    for (int i = 0; i < 7; i++)
        argv[i] = arguments[i];
    report_command(text, sizeof text, 7, argv);
    ck_assert_str_eq(text,
                     "syncopate compare --model 'conv 8x3 relu, dense 10' '--out=it'\\''s' '' "
                     "--slow=1:2.0,3:4");
    report_command(text, 40, 7, argv);
    ck_assert_str_eq(text, "syncopate compare --model ...");
}

TEST(a_folder_that_cannot_be_written_is_an_error)
{
    struct report_facts facts = {0};
    ck_assert_int_ne(report_write(&disk_posix, "/proc/nowhere", ask(scene), &facts, &scene->error),
                     STATUS_OK);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "/proc/nowhere"));
}

int main(void)
{
    return suite_run("report", NULL);
}
