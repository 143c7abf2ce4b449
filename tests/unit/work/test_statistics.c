/* test_statistics.c - what reports add up to, in whatever order and however often they come. */
/* promises: windows */

#include "ps/work/statistics.h"

#include <math.h>
#include <stddef.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static struct message_report report_of(uint64_t step, struct node node, uint64_t examples)
{
    return (struct message_report){
        .step = step, .node = node, .loss = 100, .correct = 1, .examples = examples};
}

static bool report(struct statistics *statistics, uint64_t step, struct node node)
{
    struct message_report message = report_of(step, node, 2 * node.leaf_count);
    return statistics_report(statistics, &message);
}

/* What tests begin with, and how they end. */
#define TEST(name, mode, workers, first)                                                           \
    SUITE_TEST(name, struct statistics, statistics, struct job job = small_job(mode, workers, 1);  \
               statistics_init(statistics, &job, first, &(struct tally_so_far){0}),                \
               statistics_free(statistics);                                                        \
               job_free(&job))

TEST(a_sync_step_counts_when_its_last_leaf_is_reported, MODE_SYNC, 2, 0)
{
    ck_assert(report(statistics, 0, (struct node){2, 2}));
    ck_assert_uint_eq(statistics->updates, 0);
    ck_assert_uint_eq(statistics->step, 0);
    ck_assert(report(statistics, 0, (struct node){0, 2}));
    ck_assert_uint_eq(statistics->updates, 1);
    ck_assert_uint_eq(statistics->step, 1);
    struct tally window = statistics_take_window(statistics);
    ck_assert_uint_eq(window.examples, 8);
    ck_assert_int_eq(window.loss, 200);
    ck_assert_uint_eq(window.correct, 2);
    ck_assert_uint_eq(window.updates, 1);
    ck_assert_uint_eq(statistics_take_window(statistics).updates, 0);
}

TEST(a_leaf_is_counted_once_whoever_reports_it, MODE_SYNC, 2, 0)
{
    ck_assert(report(statistics, 0, (struct node){0, 2}));
    ck_assert(!report(statistics, 0, (struct node){0, 2}));
    ck_assert(!report(statistics, 0, (struct node){1, 1}));
    ck_assert(report(statistics, 0, (struct node){2, 2}));
    ck_assert(!report(statistics, 0, (struct node){2, 2}));
    ck_assert_uint_eq(statistics->updates, 1);
    ck_assert_uint_eq(statistics_take_window(statistics).examples, 8);
}

TEST(steps_may_be_reported_across_each_other, MODE_SYNC, 2, 0)
{
    ck_assert(report(statistics, 0, (struct node){0, 2}));
    ck_assert(report(statistics, 1, (struct node){0, 2}));
    ck_assert(report(statistics, 1, (struct node){2, 2}));
    ck_assert_uint_eq(statistics->step, 2);
    ck_assert(report(statistics, 0, (struct node){2, 2}));
    ck_assert_uint_eq(statistics->updates, 2);
    ck_assert_uint_eq(statistics->step, 2);
}

TEST(reports_that_do_not_fit_the_job_are_refused, MODE_SYNC, 2, 0)
{
    ck_assert(!report(statistics, 6, (struct node){0, 2}));
    ck_assert(!report(statistics, UINT64_MAX, (struct node){0, 2}));
    ck_assert(!report(statistics, 0, (struct node){1, 2}));
    ck_assert(!report(statistics, 0, (struct node){0, 0}));
    ck_assert(!report(statistics, 0, (struct node){UINT32_MAX, 2}));
    ck_assert(!report(statistics, 2, (struct node){0, 4})); /* The short batch has two leaves. */
    struct message_report many = report_of(0, (struct node){0, 4}, 9);
    ck_assert(!statistics_report(statistics, &many));
    ck_assert_uint_eq(statistics->updates, 0);
}

TEST(an_async_batch_is_counted_once_in_any_order, MODE_ASYNC, 2, 0)
{
    ck_assert(report(statistics, 3, (struct node){0, 4}));
    ck_assert_uint_eq(statistics->step, 4);
    ck_assert(report(statistics, 0, (struct node){0, 4}));
    ck_assert(!report(statistics, 3, (struct node){0, 4}));
    ck_assert(!report(statistics, 0, (struct node){0, 4}));
    ck_assert_uint_eq(statistics->updates, 2);
}

TEST(a_resumed_run_counts_from_its_checkpoint, MODE_ASYNC, 1, 4)
{
    ck_assert_uint_eq(statistics->step, 4);
    ck_assert(!report(statistics, 3, (struct node){0, 4}));
    ck_assert(report(statistics, 4, (struct node){0, 4}));
    ck_assert_uint_eq(statistics->updates, 1);
}

TEST(the_epoch_now_is_that_of_the_last_update, MODE_SYNC, 1, 0)
{
    struct tally none = statistics_epoch_now(statistics).tally;
    ck_assert_uint_eq(none.examples, 0);
    for (uint64_t step = 0; step < 6; step++) {
        uint32_t leaves = job_batch(statistics->job, step).leaves;
        ck_assert(report(statistics, step, (struct node){0, leaves}));
        struct tally epoch = statistics_epoch_now(statistics).tally;
        const uint64_t examples[] = {8, 16, 20, 8, 16, 20};
        ck_assert_uint_eq(epoch.examples, examples[step]);
        ck_assert_uint_eq(epoch.updates, step % 3 + 1);
    }
}

/* Reports one step, and takes the epoch that it completes; 0: none, else its number from 1. */
static uint64_t completes(struct statistics *statistics, uint64_t step, struct tally *tally)
{
    struct statistics_epoch epoch;
    ck_assert(report(statistics, step, tree_root(job_batch(statistics->job, step).leaves)));
    if (!statistics_take_epoch(statistics, &epoch))
        return 0;
    *tally = epoch.tally;
    return epoch.number + 1;
}

TEST(an_epoch_is_complete_with_its_last_update_and_is_told_once, MODE_SYNC, 1, 0)
{
    struct statistics_epoch none;
    struct tally tally;
    for (uint64_t step = 0; step < 6; step++) {
        ck_assert_uint_eq(completes(statistics, step, &tally), step % 3 == 2 ? step / 3 + 1 : 0);
        if (step % 3 == 2) {
            ck_assert_uint_eq(tally.examples, 20);
            ck_assert_uint_eq(tally.updates, 3);
        }
    }
    ck_assert(!statistics_take_epoch(statistics, &none));
}

TEST_PLAIN(an_epoch_that_the_job_ends_within_is_complete_there)
{
    struct job job = small_job(MODE_SYNC, 1, 1);
    struct statistics statistics;
    struct tally tally;
    job.steps = 5;
    ck_assert_uint_eq(job_epochs(&job), 2);
    ck_assert_uint_eq(job_epoch(&job, 1).examples, 16);
    statistics_init(&statistics, &job, 0, &(struct tally_so_far){0});
    for (uint64_t step = 0; step < 4; step++)
        ck_assert_uint_eq(completes(&statistics, step, &tally), step == 2 ? 1 : 0);
    ck_assert_uint_eq(completes(&statistics, 4, &tally), 2);
    ck_assert_uint_eq(tally.examples, 16);
    statistics_free(&statistics);
    job_free(&job);
}

TEST(an_epoch_resumed_within_is_of_what_this_session_has_counted, MODE_SYNC, 1, 1)
{
    struct tally tally;
    ck_assert_uint_eq(statistics_epoch_now(statistics).tally.updates, 0);
    ck_assert_uint_eq(completes(statistics, 1, &tally), 0);
    ck_assert_uint_eq(completes(statistics, 2, &tally), 1);
    ck_assert_uint_eq(tally.examples, 12);
}

TEST_PLAIN(an_epoch_gone_back_into_is_told_again)
{
    struct job job = small_job(MODE_SYNC, 1, 1);
    struct statistics statistics;
    struct tally tally;
    for (int marked = 0; marked <= 1; marked++) {
        statistics_init(&statistics, &job, 0, &(struct tally_so_far){0});
        if (marked)
            statistics_mark(&statistics, 2);
        for (uint64_t step = 0; step < 4; step++)
            completes(&statistics, step, &tally);
        const struct tally_so_far so_far = statistics_so_far(&statistics, 2);
        statistics_go_back(&statistics, 2, &so_far);
        ck_assert_uint_eq(completes(&statistics, 2, &tally), 1);
        ck_assert_uint_eq(tally.examples, marked ? 20 : 4);
        ck_assert_uint_eq(completes(&statistics, 3, &tally), 0);
        ck_assert_uint_eq(statistics_epoch_now(&statistics).number, 1);
        ck_assert_uint_eq(statistics_epoch_now(&statistics).tally.examples, 8);
        statistics_free(&statistics);
    }
    job_free(&job);
}

TEST(async_epochs_overlap_and_each_is_complete_with_its_own_updates, MODE_ASYNC, 2, 0)
{
    struct tally tally;
    static const uint64_t steps[] = {0, 3, 2, 4, 1, 5};
    static const uint64_t complete[] = {0, 0, 0, 0, 1, 2};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(completes(statistics, steps[i], &tally), complete[i]);
        ck_assert_uint_eq(statistics_made(statistics),
                          i + 1); /* Updates made, not the highest number. */
        if (complete[i] != 0)
            ck_assert_uint_eq(tally.examples, 20);
    }
    ck_assert_uint_eq(statistics_epoch_now(statistics).tally.examples, 20);
}

TEST_PLAIN(an_epoch_that_is_left_far_behind_is_told_without_its_last_update)
{
    struct job job = small_job(MODE_ASYNC, 2, 1);
    struct statistics statistics;
    struct tally tally;
    job.steps = 12;
    statistics_init(&statistics, &job, 0, &(struct tally_so_far){0});
    static const uint64_t steps[] = {0, 1, 3, 4, 5}; /* Number 2 is somebody's who sleeps. */
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(completes(&statistics, steps[i], &tally), steps[i] == 5 ? 2 : 0);
    ck_assert_uint_eq(completes(&statistics, 6, &tally), 1);
    ck_assert_uint_eq(tally.updates, 2);
    ck_assert_uint_eq(completes(&statistics, 2, &tally), 0); /* Counts, but in no epoch. */
    ck_assert_uint_eq(statistics_made(&statistics), 7);
    ck_assert_uint_eq(completes(&statistics, 7, &tally), 0);
    ck_assert_uint_eq(completes(&statistics, 8, &tally), 3);
    ck_assert_uint_eq(tally.examples, 20);
    statistics_free(&statistics);
    job_free(&job);
}

TEST(leaves_may_be_cut_into_nodes_in_several_ways, MODE_SYNC, 2, 0)
{
    ck_assert(report(statistics, 0, (struct node){0, 1}));
    ck_assert(report(statistics, 0, (struct node){2, 1}));
    ck_assert(report(statistics, 0, (struct node){0, 2}));  /* In the place of its left half. */
    ck_assert(!report(statistics, 0, (struct node){1, 1})); /* Within it. */
    ck_assert(!statistics_lacks(statistics, (struct node){0, 3}));
    ck_assert(statistics_lacks(statistics, (struct node){2, 2}));
    ck_assert(report(statistics, 0, (struct node){0, 4})); /* In the place of all. */
    ck_assert_uint_eq(statistics->updates, 1);
    struct tally window = statistics_take_window(statistics);
    ck_assert_uint_eq(window.examples, 8);
    ck_assert_int_eq(window.loss, 100);
    ck_assert(!report(statistics, 0, (struct node){3, 1}));
    ck_assert_uint_eq(statistics->updates, 1);
    ck_assert(
        statistics_lacks(statistics, (struct node){0, 1})); /* Of step 1, which is open now. */
}

static void report_steps(struct statistics *statistics, uint64_t first, uint64_t end)
{
    for (uint64_t step = first; step < end; step++)
        ck_assert(report(statistics, step, tree_root(job_batch(statistics->job, step).leaves)));
}

TEST(going_back_forgets_what_came_after_and_counts_it_again, MODE_SYNC, 2, 0)
{
    statistics_mark(statistics, 4);
    report_steps(statistics, 0, 5);
    ck_assert(report(statistics, 5, (struct node){0, 1}));
    const struct tally_so_far so_far = statistics_so_far(statistics, 4);
    statistics_mark(statistics, 6); /* While that of step 4 is written. */
    for (int i = 0; i < 2; i++) {
        statistics_go_back(statistics, 4, &so_far);
        ck_assert_uint_eq(statistics->step, 4);
        ck_assert_uint_eq(statistics->updates, 4);
        ck_assert_uint_eq(statistics_take_window(statistics).updates, 0);
        ck_assert_uint_eq(statistics_epoch_now(statistics).tally.updates, 1); /* Step 3. */
        report_steps(statistics, 4, 6);
        ck_assert_uint_eq(statistics->updates, 6);
        ck_assert_uint_eq(statistics_epoch_now(statistics).tally.updates, 3);
        ck_assert_uint_eq(statistics_epoch_now(statistics).tally.examples, 20);
    }
    statistics_go_back(statistics, 0, &(struct tally_so_far){0});
    ck_assert_uint_eq(statistics_epoch_now(statistics).tally.examples, 0);
    report_steps(statistics, 0, 6);
    ck_assert_uint_eq(statistics->updates, 6);
}

/* At its gate: all before it are done, in whatever order, and none after. */
TEST(going_back_in_async_counts_every_batch_once_again, MODE_ASYNC, 2, 0)
{
    report_steps(statistics, 2, 4);
    report_steps(statistics, 0, 2);
    statistics_mark(statistics, 4);
    const struct tally_so_far so_far = statistics_so_far(statistics, 4);
    report_steps(statistics, 5, 6);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(statistics_go_back(statistics, 4, &so_far), (uint64_t)i + 1);
        ck_assert_uint_eq(statistics->updates, 4);
        ck_assert_uint_eq(statistics_epoch_now(statistics).tally.updates, 1); /* Batch 3. */
        report_steps(statistics, 4, 6);
        ck_assert(!report(statistics, 5, tree_root(job_batch(statistics->job, 5).leaves)));
        ck_assert_uint_eq(statistics->updates, 6);
        ck_assert_uint_eq(statistics_epoch_now(statistics).tally.examples, 20);
    }
}

/* Three updates an epoch: the checkpoint at step 4 lies in the middle of the second. */
TEST(the_epoch_in_which_a_run_goes_on_is_counted_whole, MODE_SYNC, 2, 0)
{
    statistics_mark(statistics, 3);
    report_steps(statistics, 0, 3);
    ck_assert_uint_eq(statistics_so_far(statistics, 3).epoch.updates,
                      0); /* An epoch begins there. */
    statistics_mark(statistics, 4);
    ck_assert_uint_eq(statistics_so_far(statistics, 4).epoch.updates,
                      0); /* It is not counted yet. */
    report_steps(statistics, 3, 6);
    struct tally_so_far so_far = statistics_so_far(statistics, 4);
    ck_assert_uint_eq(so_far.epoch.updates, 1);
    struct tally whole = statistics_epoch_now(statistics).tally;

    struct statistics on;
    statistics_init(&on, statistics->job, 4, &so_far);
    for (int i = 0; i < 2; i++) {
        report_steps(&on, 4, 6);
        struct statistics_epoch epoch;
        ck_assert(statistics_take_epoch(&on, &epoch));
        ck_assert_uint_eq(epoch.number, 1);
        ck_assert_mem_eq(&epoch.tally, &whole, sizeof whole);
        ck_assert_uint_eq(on.updates, 2);    /* Of this session. */
        statistics_go_back(&on, 4, &so_far); /* To where it began. */
    }
    statistics_free(&on);
}

/* Windows of four: the checkpoint at step 3 lies in the first. */
TEST(windows_are_counted_whole_through_going_back_and_going_on, MODE_SYNC, 2, 0)
{
    struct job job = *statistics->job;
    job.report_every = 4;
    struct statistics live, on;
    struct window first, again;
    statistics_init(&live, &job, 0, &(struct tally_so_far){0});
    statistics_mark(&live, 3);
    report_steps(&live, 0, 4);
    ck_assert(statistics_take_whole(&live, &first));
    ck_assert(!statistics_take_whole(&live, &again));
    ck_assert_uint_eq(first.tally.updates, 4);
    ck_assert_uint_eq(first.tally.examples, 28);
    struct tally_so_far so_far = statistics_so_far(&live, 3);
    ck_assert_uint_eq(so_far.window.tally.updates, 3);
    statistics_init(&on, &job, 3, &so_far);
    statistics_go_back(&live, 3, &so_far);
    struct statistics *both[] = {&live, &on};
    for (int i = 0; i < 2; i++) {
        report_steps(both[i], 3, 4);
        ck_assert(statistics_take_whole(both[i], &again));
        ck_assert_mem_eq(&again, &first,
                         offsetof(struct window, ragged)); /* Behind it is padding. */
        ck_assert_int_eq(again.ragged, first.ragged);
        statistics_free(both[i]);
    }
}

TEST(going_back_further_than_this_session_counts_from_there, MODE_SYNC, 2, 4)
{
    report_steps(statistics, 4, 5);
    statistics_go_back(statistics, 2, &(struct tally_so_far){0}); /* The newest is damaged. */
    ck_assert_uint_eq(statistics->first, 2);
    ck_assert_uint_eq(statistics->updates, 0);
    report_steps(statistics, 2, 6);
    ck_assert_uint_eq(statistics->first + statistics->updates, 6);
}

TEST(a_bad_gradient_counts_its_batch_and_nothing_else, MODE_ASYNC, 2, 0)
{
    struct message_report bad = report_of(0, (struct node){0, 4}, 8);
    bad.bad = true;
    ck_assert(statistics_report(statistics, &bad));
    ck_assert(!statistics_report(statistics, &bad));
    ck_assert_uint_eq(statistics->updates, 1);
    struct tally window = statistics_take_window(statistics);
    ck_assert_uint_eq(window.updates, 1);
    ck_assert_uint_eq(window.examples, 0);
    ck_assert_int_eq(window.loss, 0);
}

TEST_PLAIN(means_are_over_examples_and_of_nothing_are_not_numbers)
{
    struct job job = {.scores = SCORES_ACCURACY};
    struct tally tally = {.loss = 3 << 24, .correct = 1, .examples = 4};
    ck_assert(tally_loss(&tally, &job) == 0.75);
    ck_assert(tally_accuracy(&tally, &job) == 0.25);
    job = (struct job){.scores = SCORES_LOSS, .loss_unit = 0x1p-23};
    ck_assert(tally_loss(&tally, &job) == 1.5);
    ck_assert(isnan(tally_accuracy(&tally, &job)));
    tally = (struct tally){0};
    ck_assert(isnan(tally_loss(&tally, &job)));
    ck_assert(isnan(tally_accuracy(&tally, &job)));
}

int main(void)
{
    return suite_run("statistics", NULL);
}
