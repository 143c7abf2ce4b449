/* test_target.c - when a run has reached a target, of runs that are made up so that it can be worked out
 * by hand. */
/* promises: conclusion */

#include "deploy/conclusion/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "deploy/conclusion/statistics.h"

#include "tests/lib/suite.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* 100 batches of 10 examples, 95 examples an epoch, so that every tenth batch has 5: 950 in all, of which a
 * 20th is 47.5. */
static struct record made_up(struct record_point *points, size_t count)
{
    struct record record = {.workers = 4,
                            .steps = 100,
                            .global_batch = 10,
                            .examples = 95,
                            .accumulate = 1,
                            .points = points,
                            .point_count = count};
    for (size_t i = 0; i < count; i++)
        points[i].training_seconds = points[i].step / 10;
    return record;
}

/* Of a window of 47.5 examples, where training starts with 3. */
static struct reach reach_of(enum target_kind kind, double value, const struct record *record)
{
    struct target target = {
        .kind = kind, .values = {value}, .count = 1, .window = 47.5, .start = 3, .classes = 10};
    struct trial trial = {.record = record, .end = value};
    return target_reach(&target, 0, &trial);
}

TEST_PLAIN(the_last_batch_of_an_epoch_has_what_is_left)
{
    struct record record = made_up(NULL, 0);
    ck_assert_double_eq(target_examples(&record, 0), 0);
    ck_assert_double_eq(target_examples(&record, 9), 90);
    ck_assert_double_eq(target_examples(&record, 10), 95);
    ck_assert_double_eq(target_examples(&record, 23), 220);
    record.examples = 0; /* Not known. */
    ck_assert_double_eq(target_examples(&record, 23), 230);
}

TEST_PLAIN(a_loss_is_reached_by_its_trailing_mean)
{
    struct record_point points[] = {
        {.step = 1, .loss = 0.1}, /* 10 examples: a lucky batch is no mean. */
        {.step = 3, .loss = 2},   /* 20 more, 30 in all: still fewer than 47.5. */
        {.step = 5, .loss = 1.5, .exchanged_bytes = 700}, /* 50: (1 + 40 + 30) / 50 = 1.42. */
        {.step = 9, .loss = 0.5},  /* 40, and 20 before: (20 + 30) / 60 = 0.8333. */
        {.step = 14, .loss = 0.4}, /* 5 + 40 = 45, and 40 before: (18 + 20) / 85 = 0.447. */
    };
    struct record record = made_up(points, COUNT(points));
    struct reach reach = reach_of(TARGET_LOSS, 1.42, &record);
    ck_assert_double_eq(reach.batches, 5);
    ck_assert_double_eq(reach.seconds, 0.5);
    ck_assert_double_eq(reach.updates, 5);
    ck_assert_double_eq(reach.examples, 50);
    ck_assert_double_eq(reach.worker_seconds, 2);
    ck_assert_double_eq(reach.exchanged_bytes, 700);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 1.41, &record).batches, 9);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 0.84, &record).batches, 9);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 0.83, &record).batches, 14);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 0.448, &record).examples, 135);
    reach = reach_of(TARGET_LOSS, 0.44, &record);
    ck_assert(isinf(reach.seconds) && isinf(reach.batches) && isinf(reach.updates) &&
              isinf(reach.examples) && isinf(reach.worker_seconds) && isinf(reach.exchanged_bytes));
}

/* Told rarely a point is its own mean; a point without a loss is passed over. */
TEST_PLAIN(points_without_a_loss_take_no_part)
{
    struct record_point points[] = {
        {.step = 20, .loss = NAN},
        {.step = 40, .loss = 3},
        {.step = 60, .loss = NAN},
        {.step = 80, .loss = 1},
    };
    struct record record = made_up(points, COUNT(points));
    ck_assert_double_eq(reach_of(TARGET_LOSS, 3, &record).batches, 40);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 1, &record).batches, 80);
}

TEST_PLAIN(several_batches_may_make_an_update)
{
    struct record_point points[] = {{.step = 7, .loss = 1}};
    struct record record = made_up(points, COUNT(points));
    record.accumulate = 3;
    ck_assert_double_eq(reach_of(TARGET_LOSS, 1, &record).batches, 7);
    ck_assert_double_eq(reach_of(TARGET_LOSS, 1, &record).updates, 2);
}

TEST_PLAIN(an_accuracy_is_reached_with_a_score)
{
    struct record_evaluation scores[] = {
        {.step = 10, .training_seconds = 1, .test.accuracy = 0.8},
        {.step = 20, .training_seconds = 2, .test.accuracy = NAN},
        {.step = 30, .training_seconds = 3, .test.accuracy = 0.9},
        {.step = 40, .training_seconds = 4, .test.accuracy = 0.7},
    };
    struct record record = made_up(NULL, 0);
    record.evaluations = scores;
    record.evaluation_count = COUNT(scores);
    ck_assert_int_eq(reach_of(TARGET_ACCURACY, 0.8, &record).outcome, OUTCOME_CAME_BACK);
    scores[3].test.accuracy = 0.84; /* 0.05 below 0.89, which is 0.79 above guessing. */
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.8, &record).seconds, 1);
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.81, &record).seconds, 3);
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.9, &record).examples, 285);
    ck_assert(isinf(reach_of(TARGET_ACCURACY, 0.91, &record).seconds));
    ck_assert_int_eq(reach_of(TARGET_ACCURACY, 0.91, &record).outcome, OUTCOME_SHORT);
    ck_assert(isnan(reach_of(TARGET_NONE, 0, &record).seconds));
    record.evaluation_count = 0;
    ck_assert(isnan(reach_of(TARGET_ACCURACY, 0.8, &record).seconds));
}

/* Ten classes start with 2.303; a twentieth of 96,000 examples is 4,800, of 9,600 it would be less than 2,000, and
 * of 2,400 a quarter is 600. The shortest run decides for all. */
TEST_PLAIN(the_window_is_one_for_all_runs)
{
    static const struct {
        uint64_t steps;
        double window;
    } rows[] = {{9600, 4800}, {960, 2000}, {240, 600}};
    struct record runs[] = {{.model = "flatten, dense 300 relu, dense 10", .global_batch = 10},
                            {.model = "flatten, dense 10", .steps = 20000, .global_batch = 10}};
    struct record *records[] = {&runs[0], &runs[1]};
    struct comparison comparison;
    struct target target;
    comparison_init(&comparison);
    comparison.records = records;
    comparison.record_count = COUNT(records);
    for (size_t i = 0; i < COUNT(rows); i++) {
        runs[0].steps = rows[i].steps;
        target_set_settings(&target, &comparison);
        ck_assert_double_eq(target.window, rows[i].window);
        ck_assert_double_eq(target.start, log(10));
    }
    struct record_point points[] = {{.step = 1, .loss = 5}, {.step = 2, .loss = 1}};
    runs[0].model[0] = runs[1].model[0] = '\0'; /* Not of layers: what is told first. */
    runs[0].points = points;
    runs[0].point_count = COUNT(points);
    target_set_settings(&target, &comparison);
    ck_assert_double_eq(target.start, 5);
    ck_assert_uint_eq(target.classes, 0);
}

/* Ends of the arms' runs; whether each learns; and the ladder, from a start of 2.3. */
TEST_PLAIN(a_ladder_is_what_all_that_learned_came_to)
{
    static const struct {
        double ends[3][4];
        bool learns[3];
        size_t count;
        double values[TARGET_RUNGS];
    } rows[] = {
        /* The best is at 0.4, and so half of the way 1.35. */
        {{{0.5, 0.6, 0.7, 2}, {0.3, 0.4, 0.45, 0.4}, {1.3, 2, 2.2, 2.3}},
         {true, true, false},
         3,
         {0.7, 0.575, 0.45}},
        /* Within 0.038 of each other. */
        {{{0.40004, 0.4, 0.4, 0.4}, {0.39, 0.39, 0.4, 0.4}, {INFINITY, INFINITY, INFINITY, 0.4}},
         {true, true, false},
         1,
         {0.4001}},
        /* What has diverged is known, and what is not known is none. */
        {{{0.5, 0.5, INFINITY, INFINITY}, {0.6, NAN, NAN, NAN}, {0.5, 0.5, 0.5, INFINITY}},
         {false, true, true},
         3,
         {0.6, 0.55, 0.5}},
        {{{2.29, 2.3, 2.3, 3}, {6000, 7000, 6500, 5000}, {INFINITY, INFINITY, INFINITY, INFINITY}},
         {false, false, false},
         0,
         {0}},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct trial list[3][4];
        struct trials configs[3];
        struct target target = {.start = 2.3};
        for (size_t i = 0; i < 3; i++) {
            configs[i] = (struct trials){.list = list[i], .count = 4};
            for (size_t j = 0; j < 4; j++) {
                list[i][j] = (struct trial){.end = rows[row].ends[i][j]};
                configs[i].known += !isnan(rows[row].ends[i][j]);
            }
            configs[i].median = statistics_median(rows[row].ends[i], 4);
        }
        target_set_ladder(&target, configs, 3);
        ck_assert_uint_eq(target.count, rows[row].count);
        ck_assert_int_eq(target.kind, rows[row].count > 0 ? TARGET_LOSS : TARGET_NONE);
        for (size_t i = 0; i < 3; i++)
            ck_assert_msg(configs[i].learns == rows[row].learns[i], "row %zu, arm %zu", row, i);
        for (size_t i = 0; i < target.count; i++)
            ck_assert_double_eq_tol(target.values[i], rows[row].values[i], 1e-12);
    }
    struct target target = {.kind = TARGET_LOSS, .values = {0.30000004}};
    ck_assert_str_eq(target_text(&target, 0).text, "loss 0.3");
}

/* 0.5 is 2.5 below the start: an end up to 0.75 is still there. */
TEST_PLAIN(a_run_that_came_back_never_reached_it)
{
    struct record_point points[] = {{.step = 10, .loss = 0.4}, {.step = 20, .loss = 1}};
    struct record record = made_up(points, COUNT(points));
    struct target target = {
        .kind = TARGET_LOSS, .values = {0.5}, .count = 1, .window = 47.5, .start = 3};
    static const struct {
        enum trial_end trial_end;
        double end;
        enum outcome outcome;
    } rows[] = {{TRIAL_END_DONE, 0.75, OUTCOME_REACHED},
                {TRIAL_END_DONE, 0.76, OUTCOME_CAME_BACK},
                {TRIAL_END_DIVERGED, INFINITY, OUTCOME_DIVERGED},
                {TRIAL_END_UNKNOWN, NAN, OUTCOME_UNKNOWN}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial trial = {
            .trial_end = rows[i].trial_end, .record = &record, .end = rows[i].end};
        struct reach reach = target_reach(&target, 0, &trial);
        ck_assert_int_eq(reach.outcome, rows[i].outcome);
        ck_assert(isfinite(reach.seconds) == (i == 0) && isnan(reach.seconds) == (i == 3));
    }
}

/* The last mean of 47.5 examples; and what became of runs that are done, or are not. */
TEST_PLAIN(how_a_run_ended)
{
    struct record_point points[] = {
        {.step = 10, .loss = 2}, {.step = 14, .loss = 1}, {.step = 20, .loss = 0.5}};
    struct record record = made_up(points, COUNT(points));
    const struct record *records[] = {&record};
    struct comparison comparison;
    struct target target = {.window = 47.5, .start = 2.3};
    struct trial list[4];
    struct trials trials = {.list = list};
    comparison_init(&comparison);
    ck_assert_int_eq(comparison_group(&comparison, &(struct config){.name = "a"}, "sync", 4, NULL),
                     STATUS_OK);
    static const struct failed_run failed[] = {
        {.config = "a", .exit_code = EXIT_TRAINING_FAILED, .reason = "the gradient is not finite"},
        {.config = "a", .exit_code = EXIT_TRAINING_FAILED, .reason = "out of memory"},
        {.config = "b",
         .exit_code = EXIT_TRAINING_FAILED,
         .reason = "training diverged: too large"}};
    for (size_t i = 0; i < COUNT(failed); i++)
        ck_assert_int_eq(comparison_fail(&comparison, &failed[i], NULL), STATUS_OK);
    comparison.groups[0].records = records;
    comparison.groups[0].record_count = 1;
    snprintf(record.state, sizeof record.state, "done");
    target_set_trials(&target, &comparison, 0, &trials);
    ck_assert_uint_eq(trials.count, 3);
    ck_assert_uint_eq(trials.known, 2);
    ck_assert_double_eq_tol(list[0].end, 0.5, 1e-12); /* 55 examples in six batches. */
    ck_assert_int_eq(list[1].trial_end, TRIAL_END_DIVERGED);
    ck_assert(isinf(list[1].end) && isinf(trials.median));
    ck_assert_int_eq(list[2].trial_end, TRIAL_END_UNKNOWN);
    points[2].loss = NAN; /* It ended without a loss, but its scores are finite. */
    target_set_trials(&target, &comparison, 0, &trials);
    ck_assert_int_eq(list[0].trial_end, TRIAL_END_DONE);
    record.summary.test.loss = NAN;
    target_set_trials(&target, &comparison, 0, &trials);
    ck_assert_int_eq(list[0].trial_end, TRIAL_END_DIVERGED);
    points[2].loss = 1;
    record.summary.train.loss = INFINITY;
    target_set_trials(&target, &comparison, 0, &trials);
    ck_assert_int_eq(list[0].trial_end, TRIAL_END_DIVERGED);
    comparison.groups[0].record_count = 0;
    free(comparison.failed);
}

int main(void)
{
    return suite_run("target", NULL);
}
