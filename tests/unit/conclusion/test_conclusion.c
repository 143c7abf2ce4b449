/* test_conclusion.c - what a comparison says of made-up runs, against numbers worked out by hand. */
/* promises: conclusion */

#include "deploy/conclusion/conclusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/conclusion_text.h"
#include "deploy/conclusion/rate_sweep.h"
#include "deploy/report/conclusion_table.h"
#include "deploy/report/grid.h"
#include "tests/lib/suite.h"

#define RUNS_MAX 48

/* Runs with one point each, at the end of 20 batches of 10: with its loss and its time they come to a
 * target of that loss, or do not. */
struct scene {
    struct comparison comparison;
    struct record records[RUNS_MAX], *all[RUNS_MAX];
    struct record_point points[RUNS_MAX];
    const struct record *members[RUNS_MAX][RUNS_MAX];
    size_t count;
    struct conclusion conclusion;
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->comparison.records = scene->all;
}

static void scene_free(struct scene *scene)
{
    conclusion_free(&scene->conclusion);
}

#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

static struct group *group_begin(struct scene *scene, const char *mode, uint32_t workers,
                                 const char *varied)
{
    struct group *group = &scene->comparison.groups[scene->comparison.group_count];
    group->index = (unsigned)scene->comparison.group_count;
    group->workers = workers;
    group->records = scene->members[scene->comparison.group_count++];
    snprintf(group->mode_text, sizeof group->mode_text, "%s", mode);
    snprintf(group->config.varied, sizeof group->config.varied, "%s", varied);
    snprintf(group->config.name, sizeof group->config.name, "%s-w%u", mode, workers);
    snprintf(group->label, sizeof group->label, "%s, %u workers", mode, workers);
    return group;
}

/* A run of the last group; it comes to loss 1 after so many seconds and batches, 0 batches: never. */
static struct record *add_run(struct scene *scene, uint64_t seed, double seconds, double batches,
                              double accuracy)
{
    struct group *group = &scene->comparison.groups[scene->comparison.group_count - 1];
    struct record *record = &scene->records[scene->count];
    struct record_point *point = &scene->points[scene->count++];
    scene->all[scene->comparison.record_count++] = record;
    *point = (struct record_point){.training_seconds = seconds,
                                   .step = batches > 0 ? batches : 20,
                                   .loss = batches > 0 ? 1 : 2};
    *record = (struct record){.workers = group->workers,
                              .servers = 1,
                              .seed = seed,
                              .steps = 20,
                              .global_batch = 10,
                              .examples = 200,
                              .accumulate = 1,
                              .model = "flatten, dense 10",
                              .optimizer = "adam",
                              .learning_rate = 0.001,
                              .points = point,
                              .point_count = 1,
                              .staleness_mean = NAN};
    memcpy(record->mode_text, group->mode_text, sizeof record->mode_text);
    record->summary.train.loss = point->loss;
    record->summary.test.accuracy = accuracy;
    record->summary.step = 20;
    record->training_seconds = seconds;
    group->records[group->record_count++] = record;
    return record;
}

static void ask_of(struct scene *scene, struct question question)
{
    ck_assert_int_eq(
        conclusion_make(&scene->conclusion, &scene->comparison, &question, &scene->error),
        STATUS_OK);
}

static void ask(struct scene *scene)
{
    ask_of(scene, (struct question){.margin = CONCLUSION_MARGIN});
}

/* What is printed, in lines of any length. */
static const char *said(struct scene *scene, size_t index)
{
    static struct conclusion_text sentence;
    ck_assert(conclusion_head(&scene->conclusion, index, &sentence));
    return sentence.text;
}

static bool foot_has(struct scene *scene, const char *words)
{
    struct conclusion_text sentence;
    for (size_t i = 0; conclusion_foot(&scene->conclusion, i, &sentence); i++)
        if (strstr(sentence.text, words) != NULL)
            return true;
    return false;
}

/* Sync takes 10, 20 and 30 s, each with 10 batches; async with twice the workers 5, 10 and 15 s times a
 * factor, with 12, 12 and 12 batches. */
static void take_three(struct scene *scene)
{
    group_begin(scene, "sync", 2, "");
    for (uint64_t seed = 1; seed <= 3; seed++)
        add_run(scene, seed, 10.0 * (double)seed, 10, 0.90 + 0.01 * (double)seed);
    group_begin(scene, "async", 4, "");
    add_run(scene, 3, 15, 12, 0.931); /* In another order: pairs are by seed. */
    add_run(scene, 1, 10, 12, 0.908);
    add_run(scene, 2, 5, 12, 0.919);
}

/* Ratios 0.5, 1 and 0.25: logarithms -l, 0, -2 l with l = log 2: mean -l, deviation l; the quantile of two
 * degrees is 4.302653. */
TEST(an_arm_is_told_beside_the_reference)
{
    take_three(scene);
    ask(scene);
    const struct config_conclusion *config = &scene->conclusion.configs[1];
    ck_assert_uint_eq(config->rungs[0].runs, 3);
    ck_assert_uint_eq(config->rungs[0].count, 3);
    ck_assert_double_eq(config->seconds.mean.value, 10);
    ck_assert_double_eq(config->seconds.median, 10);
    ck_assert_double_eq(config->seconds.mean.deviation, 5);
    ck_assert(isnan(config->seconds.olympic));
    ck_assert_double_eq(config->examples.median, 120);
    ck_assert_double_eq(config->worker_seconds.median, 40);
    ck_assert_double_eq_tol(config->rungs[0].time.value, 0.5, 1e-12);
    ck_assert_double_eq_tol(config->rungs[0].time.deviation, log(2), 1e-12);
    ck_assert_double_eq_tol(config->rungs[0].time.high, 0.5 * exp(4.302653 * log(2) / sqrt(3)),
                            1e-5);
    ck_assert_double_eq_tol(config->work.value, 1.2, 1e-12);
    ck_assert_double_eq_tol(config->pace.value, 2.4, 1e-12);
    ck_assert_double_eq_tol(config->cost.value, 1.0, 1e-12);
    ck_assert_double_eq_tol(config->speed_up, 2, 1e-12);
    ck_assert_double_eq_tol(config->hardware, 1.2, 1e-12);
    ck_assert_double_eq_tol(config->statistical, 1 / 1.2, 1e-12);
    ck_assert_double_eq_tol(config->speed_up * 2 / 4, config->hardware * config->statistical,
                            1e-12);
    ck_assert_double_eq_tol(config->accuracy.value, -0.0666666666, 1e-8); /* -0.2, -0.1, +0.1 */
    ck_assert_int_eq(config->parity, PARITY_EQUAL);
    ck_assert(!config->unequal_work);
    ck_assert(isnan(scene->conclusion.configs[0].rungs[0].time.value));
    ck_assert_uint_eq(scene->conclusion.configs[0].rungs[0].count, 3);
    ck_assert_int_eq(config->word, WORD_OPEN);
    ck_assert_str_eq(said(scene, 0),
                     "async, 4 workers reaches loss 1 in 0.50x the time of sync, 2 workers "
                     "[0.089, 2.80], 3 of 3 seeds: not told apart; accuracy equal within 0.5 "
                     "points (-0.07 [-0.45, +0.31]).");
    ck_assert(foot_has(scene, "async, 4 workers needs 1.20x the examples, at 2.40x the pace; "
                              "speed-up 2.00 with 2.00x the workers = efficiency 1.00 (hardware "
                              "1.20, statistical 0.83)"));
    /* (4.302653 + 1.060660) log(2) / sqrt(3) */
    ck_assert(
        foot_has(scene, "with 3 seeds a difference is seen from 8.55x on, for async, 4 workers"));
}

/* A margin that the interval is not within shows nothing; one that is far off shows a difference. */
TEST(equal_is_asked_with_a_margin)
{
    take_three(scene);
    ask_of(scene, (struct question){.margin = 0.4});
    ck_assert_int_eq(scene->conclusion.configs[1].parity, PARITY_OPEN);
    ck_assert_ptr_nonnull(
        strstr(said(scene, 0), "accuracy not shown to be equal within 0.4 points"));
    conclusion_free(&scene->conclusion);
    for (size_t i = 3; i < 6; i++)
        scene->records[i].summary.test.accuracy -= 0.1;
    ask(scene);
    ck_assert_int_eq(scene->conclusion.configs[1].parity, PARITY_BELOW);
    ck_assert_ptr_nonnull(strstr(said(scene, 0), "accuracy lower: -10.07 [-10.45, -9.69] points."));
}

TEST(of_one_or_two_seeds_no_interval_is_told)
{
    static const char *const words[] = {"one seed", "two seeds"};
    for (uint64_t seeds = 1; seeds <= 2; seeds++) {
        char chance[64];
        scene_free(scene);
        scene_init(scene);
        group_begin(scene, "sync", 4, "");
        for (uint64_t seed = 1; seed <= seeds; seed++)
            add_run(scene, seed, 10, 10, 0.9);
        group_begin(scene, "async", 4, "");
        for (uint64_t seed = 1; seed <= seeds; seed++)
            add_run(scene, seed, 5, 10, 0.8);
        ask(scene);
        const struct config_conclusion *config = &scene->conclusion.configs[1];
        ck_assert_double_eq_tol(config->rungs[0].time.value, 0.5, 1e-12);
        ck_assert(isnan(config->rungs[0].time.low) && isnan(config->accuracy.low) &&
                  isnan(config->visible));
        ck_assert_int_eq(config->parity, PARITY_UNKNOWN);
        snprintf(chance, sizeof chance, "; %s: the effect of seeds is not known;",
                 words[seeds - 1]);
        ck_assert_msg(strstr(said(scene, 0), chance) != NULL, "%s", said(scene, 0));
        ck_assert_ptr_nonnull(
            strstr(said(scene, 0), "async reaches loss 1 in 0.50x sync's time, "));
        ck_assert_ptr_nonnull(strstr(said(scene, 0), "accuracy -10.00 points."));
        ck_assert_ptr_null(strchr(said(scene, 0), '['));
        ck_assert(!foot_has(scene, "can be seen"));
    }
}

/* Five seeds, one of which async does not get there with: 0.5, 0.6, 0.7, 0.8 and infinite. */
TEST(who_does_not_get_there_takes_part)
{
    group_begin(scene, "sync", 4, "");
    for (uint64_t seed = 1; seed <= 5; seed++)
        add_run(scene, seed, 10, 10, NAN);
    group_begin(scene, "async", 4, "");
    for (uint64_t seed = 1; seed <= 5; seed++)
        add_run(scene, seed, 4.0 + (double)seed, seed == 5 ? 0 : 10, NAN);
    ask(scene);
    const struct config_conclusion *config = &scene->conclusion.configs[1];
    ck_assert_uint_eq(config->rungs[0].runs, 5);
    ck_assert_uint_eq(config->rungs[0].count, 4);
    ck_assert(isinf(config->seconds.mean.value));
    ck_assert_double_eq(config->seconds.median, 7);
    ck_assert_double_eq(config->seconds.olympic, 7); /* 6, 7, 8 */
    ck_assert_double_eq_tol(config->rungs[0].time.value, 0.7, 1e-12);
    ck_assert(isinf(config->rungs[0].time.high) && isnan(config->hardware));
    ck_assert_uint_eq(config->pace.count, 4);
    ck_assert_str_eq(said(scene, 0),
                     "async reaches loss 1 in 0.70x sync's time [0.50, never] 94 %, 4 of 5 seeds: "
                     "not told apart.");
    ck_assert(foot_has(scene, "not reached: async 1 ended above it"));
    ck_assert(!foot_has(scene, "async needs"));
}

/* Sync of 10 s beside: half of it, the same, nearly the same, the double, never, and any. */
static void take_many(struct scene *scene)
{
    static const double seconds[][5] = {
        {10, 10, 10, 10, 10}, {5, 5.1, 4.9, 5, 5}, {10, 10, 10, 10, 10}, {10.05, 10, 10.1, 10, 10},
        {20, 20, 21, 19, 20}, {0, 0, 0, 0, 0},     {5, 20, 8, 14, 9},    {5, 5.2, 4.9, 5, 5.1}};
    static const char *const modes[] = {"sync",  "half",  "same", "near",
                                        "twice", "never", "any",  "half-too"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        group_begin(scene, modes[i], 4, "");
        for (uint64_t seed = 1; seed <= 5; seed++)
            add_run(scene, seed, seconds[i][seed - 1], seconds[i][0] > 0 ? 10 : 0, NAN);
    }
}

TEST(of_many_arms_the_first_and_the_last_are_named)
{
    static const enum word words[] = {WORD_NONE,  WORD_SOONER, WORD_ALIKE, WORD_ALIKE,
                                      WORD_LATER, WORD_NEVER,  WORD_OPEN,  WORD_SOONER};
    take_many(scene);
    ask(scene);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(scene->conclusion.configs[i].word == words[i], "%s is %s",
                      scene->comparison.groups[i].label,
                      conclusion_word(scene->conclusion.configs[i].word));
    ck_assert_double_nan(scene->conclusion.configs[5].p);
    ck_assert_str_eq(said(scene, 0),
                     "Loss 1 is reached first by half, in 0.50x sync's time [0.49, 0.51], 5 of 5 "
                     "seeds: sooner (half-too is not told apart); last by twice, in 2.00x its "
                     "time [1.91, 2.09], 5 of 5 seeds: later. Beside the reference: 2 alike within "
                     "2 %, 2 sooner, 1 later, 1 not told apart, 1 never.");
}

TEST(alike_is_no_first_and_no_last)
{
    take_many(scene);
    scene->comparison.group_count = 4;
    scene->comparison.groups[1] = scene->comparison.groups[3];
    scene->comparison.group_count = 3;
    ask(scene);
    ck_assert_str_eq(said(scene, 0), "No arm is seen to reach loss 1 sooner or later than sync, 5 "
                                     "of 5 seeds. Beside the reference: 2 alike within 2 %.");
}

static void fail_run(struct scene *scene, const char *config, uint64_t seed, const char *reason)
{
    struct failed_run run = {.seed = seed, .exit_code = EXIT_TRAINING_FAILED};
    snprintf(run.config, sizeof run.config, "%s", config);
    snprintf(run.reason, sizeof run.reason, "%s", reason);
    ck_assert_int_eq(comparison_fail(&scene->comparison, &run, NULL), STATUS_OK);
}

/* It is in the denominator, in its pair and in the difference of accuracies; what failed otherwise is not. */
TEST(a_run_that_diverged_never_gets_there)
{
    group_begin(scene, "sync", 4, "");
    for (uint64_t seed = 1; seed <= 5; seed++)
        add_run(scene, seed, 10, 10, 0.9);
    group_begin(scene, "async", 4, "");
    for (uint64_t seed = 1; seed <= 3; seed++)
        add_run(scene, seed, 5, 10, 0.9);
    fail_run(scene, "async-w4", 4, "training diverged: the gradient is not finite");
    fail_run(scene, "async-w4", 5, "out of memory for the job");
    ask(scene);
    const struct config_conclusion *config = &scene->conclusion.configs[1];
    ck_assert_uint_eq(config->rungs[0].time.count, 4);
    ck_assert(isinf(config->rungs[0].time.high) && isinf(config->loss.value));
    ck_assert_double_eq_tol(config->accuracy.value, -80.0 / 4, 1e-9);
    ck_assert_str_eq(said(scene, 0),
                     "async reaches loss 1 in 0.50x sync's time [0.50, never] 88 %, 3 of 4 known "
                     "seeds: not told apart; accuracy not shown to be equal within 0.5 points "
                     "(-20.00 [-83.65, +43.65]).");
    ck_assert(foot_has(scene, "not reached: async 1 diverged, 1 not known"));
    for (uint64_t seed = 1; seed <= 2; seed++)
        fail_run(scene, "sync-w4", 6 + seed, "training diverged: the gradient is not finite");
    conclusion_free(&scene->conclusion);
    ask(scene);
    ck_assert_uint_eq(scene->conclusion.configs[0].rungs[0].runs, 7);
    free(scene->comparison.failed);
}

/* Of an arm of which no run was done nothing is said but that. */
TEST(an_arm_may_be_without_a_run)
{
    group_begin(scene, "async", 4, "");
    fail_run(scene, "async-w4", 1, "training diverged: the gradient is not finite");
    group_begin(scene, "sync", 4, "");
    struct record *record = add_run(scene, 1, 10, 10, 0.9);
    record->global_batch = record->micro_batch = 64;
    ask(scene);
    ck_assert_str_eq(said(scene, 0),
                     "sync reaches loss 1 in 10.0 s, 1 of 1 seed; async never does, 0 of 1; one "
                     "seed: the effect of seeds is not known; accuracy +80.00 points.");
    ck_assert_ptr_null(strstr(said(scene, 1), "computation"));
    free(scene->comparison.failed);
}

/* Nothing that guessing has is a target, whoever ends there. */
TEST(where_nothing_learns_there_is_no_target)
{
    take_three(scene);
    for (size_t i = 0; i < scene->count; i++)
        scene->points[i].loss = i < 3 ? 62 : 6035;
    fail_run(scene, "async-w4", 4, "training diverged: the gradient is not finite");
    ask(scene);
    ck_assert_str_eq(
        said(scene, 0),
        "No target: no arm's loss came below 2.303, with which training starts, in "
        "most of its runs; ask with --target-accuracy; diverged: async, 4 workers 1 of "
        "4.");
    ck_assert(isnan(scene->conclusion.configs[1].rungs[0].time.value) && !foot_has(scene, ""));
    conclusion_free(&scene->conclusion);
    ask_of(scene, (struct question){.target_loss = 2.5, .margin = 0.5});
    ck_assert_ptr_nonnull(
        strstr(said(scene, 0), "No target: loss 2.5 is not below 2.303, with which training"));
    conclusion_free(&scene->conclusion);
    ask_of(scene, (struct question){.target_accuracy = 0.1, .margin = 0.5});
    ck_assert_ptr_nonnull(
        strstr(said(scene, 0), "No target: test accuracy 10 % is not above that of guessing"));
    free(scene->comparison.failed);
}

/* Sync deals a step's four leaves, backup workers are not waited for, and async computes a batch at once. */
TEST(an_update_is_of_computations)
{
    static const struct {
        const char *mode;
        double computations, examples;
    } rows[] = {{"sync", 4, 16}, {"sync+backup:1", 3, 16}, {"async", 1, 64}, {"ssp:2", 1, 64}};
    for (size_t i = 0; i < 4; i++) {
        group_begin(scene, rows[i].mode, 4, "");
        struct record *record = add_run(scene, 1, 10, 10, NAN);
        record->global_batch = 64;
        record->micro_batch = 16;
    }
    ask(scene);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_double_eq(scene->conclusion.configs[i].update.computations, rows[i].computations);
        ck_assert_double_eq(scene->conclusion.configs[i].update.examples, rows[i].examples);
    }
    ck_assert_ptr_nonnull(strstr(said(scene, 0), "; equal batch."));
    ck_assert_str_eq(
        said(scene, 1),
        "A worker's computation is of 16 examples in sync, of 64 in ssp:2. --straggle "
        "and --pause are drawn once a computation, and ssp's bound counts them; --fair "
        "worker-batch makes them equal.");
    conclusion_free(&scene->conclusion);
    for (size_t i = 2; i < 4; i++)
        scene->records[i].global_batch = 16;
    ask(scene);
    ck_assert_ptr_nonnull(strstr(said(scene, 0), "; equal worker batch."));
}

TEST(a_target_may_be_asked_for)
{
    take_three(scene);
    ask_of(scene, (struct question){.target_loss = 0.5, .margin = 0.5});
    ck_assert(scene->conclusion.target.asked_for);
    ck_assert_uint_eq(scene->conclusion.configs[0].rungs[0].count, 0);
    ck_assert_uint_eq(scene->conclusion.configs[0].rungs[0].runs, 3);
    ck_assert(isnan(scene->conclusion.configs[1].rungs[0].time.value));
    ck_assert_uint_eq(scene->conclusion.configs[1].rungs[0].time.count, 0);
    ck_assert_ptr_nonnull(strstr(said(scene, 0), "async, 4 workers never reaches loss 0.5, 0 of 3 "
                                                 "seeds (sync, 2 workers: 0 of 3)"));
    conclusion_free(&scene->conclusion);
    struct record_evaluation score = {.training_seconds = 3, .step = 5, .test.accuracy = 0.9};
    for (size_t i = 0; i < scene->count; i++) {
        scene->records[i].evaluations = &score;
        scene->records[i].evaluation_count = 1;
    }
    ask_of(scene, (struct question){.target_accuracy = 0.9, .margin = 0.5});
    ck_assert_double_eq(scene->conclusion.configs[0].seconds.median, 3);
    ck_assert_ptr_nonnull(strstr(said(scene, 0), "reaches test accuracy 90 % in 1.00x"));
}

/* Three batches fewer in each of three runs, more or less: with the same rate that is no speed. */
TEST(fewer_examples_than_sync_are_marked)
{
    group_begin(scene, "sync", 4, "");
    for (uint64_t seed = 1; seed <= 3; seed++)
        add_run(scene, seed, 10, 17, 0.9);
    group_begin(scene, "async", 4, "");
    add_run(scene, 1, 10, 13, 0.9);
    add_run(scene, 2, 10, 14, 0.9);
    struct record *last = add_run(scene, 3, 10, 15, 0.9);
    ask(scene);
    ck_assert(scene->conclusion.configs[1].unequal_work);
    ck_assert(foot_has(scene, "* unequal work?"));
    conclusion_free(&scene->conclusion);
    scene->records[3].global_batch = 20;
    ask(scene);
    ck_assert(!scene->conclusion.configs[1].unequal_work);
    scene->records[3].global_batch = 10;
    conclusion_free(&scene->conclusion);
    scene->records[3].learning_rate = 0.01;
    ask(scene);
    ck_assert(!scene->conclusion.configs[1].unequal_work);
    scene->records[3].learning_rate = 0.001;
    conclusion_free(&scene->conclusion);
    scene->points[last - scene->records].step = 19; /* 13, 14 and 19 of 17: it may be chance. */
    ask(scene);
    ck_assert(!scene->conclusion.configs[1].unequal_work);
}

/* Two modes with two rates each, and one with other servers, which is no member of either grid. */
static void take_grids(struct scene *scene)
{
    static const struct {
        const char *mode, *varied;
        double rate, seconds;
    } configs[] = {{"sync", "learning-rate 0.001, ps 1", 0.001, 20},
                   {"sync", "learning-rate 0.01, ps 1", 0.01, 10},
                   {"async", "ps 1, learning-rate 0.02", 0.02, 8},
                   {"async", "ps 1, learning-rate 0.03", 0.03, 5},
                   {"async", "ps 2, learning-rate 0.03", 0.03, 1}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        group_begin(scene, configs[i].mode, 4, configs[i].varied);
        for (uint64_t seed = 1; seed <= 3; seed++)
            add_run(scene, seed, configs[i].seconds * (double)seed, 10, 0.9)->learning_rate =
                configs[i].rate;
    }
}

TEST(of_a_grid_of_rates_the_best_and_the_default_are_told)
{
    struct rate_sweep grid;
    take_grids(scene);
    ask(scene);
    ck_assert(rate_sweep_at(&scene->conclusion, 0, &grid));
    ck_assert_uint_eq(grid.count, 2);
    ck_assert_uint_eq(grid.best, 1);
    ck_assert(grid.has_default && grid.default_rate == 0 && isnan(grid.time.value));
    ck_assert(rate_sweep_at(&scene->conclusion, 1, &grid));
    ck_assert_uint_eq(grid.best, 3);
    ck_assert(!grid.has_default);
    ck_assert_double_eq_tol(grid.time.value, 0.5, 1e-12); /* 5 beside 10. */
    ck_assert(!rate_sweep_at(&scene->conclusion, 2, &grid));
    ck_assert(foot_has(scene,
                       "best of its grid of 2 learning rates: sync, learning-rate 0.01, ps 1, "
                       "20.0 s; the default rate, 0.001, 40.0 s"));
    ck_assert(foot_has(scene,
                       "best of its grid of 2 learning rates: async, ps 1, learning-rate 0.03, "
                       "10.0 s; the default rate is not in it; best beside best 0.50"));
    ck_assert_ptr_nonnull(strstr(said(scene, 0),
                                 "Loss 1 is reached first by async, ps 2, "
                                 "learning-rate 0.03, in 0.050x the time of sync, "
                                 "learning-rate 0.001, ps 1 [0.050, 0.050], 3 of 3 "
                                 "seeds: sooner; last by sync, learning-rate 0.001, "
                                 "ps 1, 3 of 3 seeds. Beside the reference: 4 sooner"));
}

/* The best of three is not fair beside the best of two. */
TEST(grids_of_unequal_budgets_are_told)
{
    take_grids(scene);
    ask(scene);
    ck_assert(!foot_has(scene, "unequal budgets"));
    group_begin(scene, "async", 4, "ps 1, learning-rate 0.04");
    for (uint64_t seed = 1; seed <= 3; seed++)
        add_run(scene, seed, 30, 10, 0.9)->learning_rate = 0.04;
    conclusion_free(&scene->conclusion);
    ask(scene);
    ck_assert(foot_has(scene, "best beside best 0.50 [0.50, 0.50]; unequal budgets: chosen from 3 "
                              "rates and 9 runs, the first from 2 and 6"));
}

/* Where nobody gets there it is the loss that tells. */
TEST(a_grid_that_never_gets_there_has_a_best_as_well)
{
    struct rate_sweep grid;
    take_grids(scene);
    for (size_t i = 0; i < scene->count; i++)
        scene->points[i].loss = scene->records[i].learning_rate > 0.02 ? 3 : 2;
    ask_of(scene, (struct question){.target_loss = 0.1, .margin = 0.5});
    ck_assert(rate_sweep_at(&scene->conclusion, 1, &grid));
    ck_assert_uint_eq(grid.best, 2);
}

TEST(what_is_printed_has_its_place_in_80_columns)
{
    take_grids(scene);
    ask(scene);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    conclusion_write_text(stream, &scene->conclusion);
    fclose(stream);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    ck_assert_ptr_nonnull(strstr(text, "vs the first\n"));
    ck_assert_ptr_nonnull(strstr(text, " 3/3 20.0 (10.0)"));
    free(text);
}

TEST(nothing_is_made_of_nothing)
{
    ask(scene);
    ck_assert_str_eq(said(scene, 0), "No target: there are no runs.");
    conclusion_free(&scene->conclusion);
    group_begin(scene, "sync", 4, "");
    struct record *only = add_run(scene, 1, 10, 10, 0.9);
    ask(scene);
    ck_assert_str_eq(said(scene, 0),
                     "sync reaches loss 1 in 10.0 s, 1 of 1 seed; there is no other arm.");
    conclusion_free(&scene->conclusion);
    only->point_count = 0;
    ask(scene);
    ck_assert_str_eq(said(scene, 0), "No target: the runs have no loss.");
    ck_assert(!foot_has(scene, ""));
}

/* What is known to be infinite is no null. */
TEST(json_tells_never_from_not_known)
{
    struct json_writer writer;
    group_begin(scene, "sync", 4, "");
    add_run(scene, 1, 10, 10, 0.9);
    group_begin(scene, "async", 4, "");
    add_run(scene, 1, 10, 0, 0.9);
    ask(scene);
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    conclusion_write_config_json(&writer, &scene->conclusion, 1);
    json_writer_end(&writer);
    ck_assert_ptr_nonnull(strstr(writer.text,
                                 "\"runs\":1,\"reached\":0,\"seconds\":{\"mean\":\"inf\","
                                 "\"deviation\":null,"));
    ck_assert_ptr_nonnull(strstr(writer.text, "\"speed_up\":null"));
    json_writer_free(&writer);
}

TEST_PLAIN(cells_are_escaped_for_each_kind_of_page)
{
    struct grid grid;
    char *text = NULL;
    size_t bytes = 0;
    grid_init(&grid);
    grid_column(&grid, "", "arm", 0);
    grid_column(&grid, "a", "b_c", 1);
    grid_column(&grid, "", "other", 2);
    grid_row(&grid);
    grid_cell(&grid, 1, "inf");
    grid_row(&grid);
    grid_cell(&grid, 0, "x|y<z>");
    grid_cell(&grid, 1, "never [-5, never] 75 %%");
    FILE *stream = open_memstream(&text, &bytes);
    grid_write_markdown(stream, &grid);
    grid_write_latex(stream, &grid, 1, "50 %", "one");
    grid_write_latex(stream, &grid, 3, "none", "none");
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(
        text,
        "| arm | a b\\_c | other |\n|:--|--:|--:|\n|  | inf |  |\n| x\\|y\\<z\\> | never \\[-5"));
    ck_assert_ptr_nonnull(strstr(text, "\\caption{50 \\%}\n\\label{tab:one}\n"));
    ck_assert_ptr_nonnull(
        strstr(text, " & a \\\\\narm & b\\_c \\\\\n\\midrule\n & {}$\\infty$ \\\\\n"));
    ck_assert_ptr_nonnull(strstr(text, "x|y\\textless{}z\\textgreater{} & "
                                       "\\begin{tabular}[t]{@{}r@{}}$\\infty$\\\\{}[$-$5, "
                                       "$\\infty$]\\\\75 \\%\\end{tabular} \\\\\n"));
    ck_assert_ptr_null(strstr(text, "none"));
    free(text);
}

int main(void)
{
    return suite_run("answer", NULL);
}
