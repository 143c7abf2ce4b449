/* test_target.c - when a run has reached a target, of runs that are made up so that it can be worked out
 * by hand. */

#include "deploy/answer/target.h"

#include <math.h>

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

static struct reach reach_of(enum target_kind kind, double value, const struct record *record)
{
    struct target target = {.kind = kind, .value = value};
    return target_reach(&target, record);
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
    record.point_count = 1;
    ck_assert(isnan(reach_of(TARGET_LOSS, 1, &record).seconds));
    record.point_count = 0;
    ck_assert(isnan(reach_of(TARGET_LOSS, 1, &record).seconds));
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
        {.step = 10, .training_seconds = 1, .test_accuracy = 0.8},
        {.step = 20, .training_seconds = 2, .test_accuracy = NAN},
        {.step = 30, .training_seconds = 3, .test_accuracy = 0.9},
        {.step = 40, .training_seconds = 4, .test_accuracy = 0.7},
    };
    struct record record = made_up(NULL, 0);
    record.evaluations = scores;
    record.evaluation_count = COUNT(scores);
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.8, &record).seconds, 1);
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.81, &record).seconds, 3);
    ck_assert_double_eq(reach_of(TARGET_ACCURACY, 0.9, &record).examples, 285);
    ck_assert(isinf(reach_of(TARGET_ACCURACY, 0.91, &record).seconds));
    ck_assert(isnan(reach_of(TARGET_NONE, 0, &record).seconds));
    record.evaluation_count = 0;
    ck_assert(isnan(reach_of(TARGET_ACCURACY, 0.8, &record).seconds));
}

/* Never that of the best run, nor of another arm. */
TEST_PLAIN(the_target_is_the_median_of_the_reference)
{
    struct record runs[] = {{.summary.train_loss = 0.5},
                            {.summary.train_loss = NAN},
                            {.summary.train_loss = 0.2},
                            {.summary.train_loss = 0.3},
                            {.summary.train_loss = 0.01}};
    const struct record *first[] = {&runs[0], &runs[1], &runs[2], &runs[3]};
    const struct record *second[] = {&runs[4]};
    struct comparison comparison;
    comparison_init(&comparison);
    ck_assert_int_eq(target_of(&comparison).kind, TARGET_NONE);
    comparison.group_count = 2;
    comparison.groups[0].records = first;
    comparison.groups[0].record_count = COUNT(first);
    comparison.groups[1].records = second;
    comparison.groups[1].record_count = COUNT(second);
    struct target target = target_of(&comparison);
    ck_assert_int_eq(target.kind, TARGET_LOSS);
    ck_assert_double_eq(target.value, 0.3);
    ck_assert(!target.asked_for);
    ck_assert_str_eq(target_text(&target).text, "loss 0.3");
    first[0] = &runs[1];
    comparison.groups[0].record_count = 2; /* Of no loss there is no target. */
    ck_assert_int_eq(target_of(&comparison).kind, TARGET_NONE);
    ck_assert_str_eq(target_text(&(struct target){.kind = TARGET_ACCURACY, .value = 0.9}).text,
                     "test accuracy 90 %");
}

int main(void)
{
    return suite_run("target", NULL);
}
