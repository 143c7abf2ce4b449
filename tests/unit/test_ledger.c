#include "ps/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static struct message_report report_of(uint64_t step, struct node node, uint64_t examples)
{
    return (struct message_report){
        .step = step, .node = node, .loss = 100, .correct = 1, .examples = examples};
}

static bool report(struct ledger *ledger, uint64_t step, struct node node)
{
    struct message_report message = report_of(step, node, 2 * node.leaf_count);
    return ledger_report(ledger, &message);
}

START_TEST(a_sync_step_counts_when_its_last_leaf_is_reported)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(report(&ledger, 0, (struct node){2, 2}));
    ck_assert_uint_eq(ledger.updates, 0);
    ck_assert_uint_eq(ledger.step, 0);
    ck_assert(report(&ledger, 0, (struct node){0, 2}));
    ck_assert_uint_eq(ledger.updates, 1);
    ck_assert_uint_eq(ledger.step, 1);
    struct tally window = ledger_take_window(&ledger);
    ck_assert_uint_eq(window.examples, 8);
    ck_assert_int_eq(window.loss, 200);
    ck_assert_uint_eq(window.correct, 2);
    ck_assert_uint_eq(window.updates, 1);
    ck_assert_uint_eq(ledger_take_window(&ledger).updates, 0);
    job_free(&job);
}
END_TEST

START_TEST(a_leaf_is_counted_once_whoever_reports_it)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(report(&ledger, 0, (struct node){0, 2}));
    ck_assert(!report(&ledger, 0, (struct node){0, 2}));
    ck_assert(!report(&ledger, 0, (struct node){1, 1}));
    ck_assert(report(&ledger, 0, (struct node){2, 2}));
    ck_assert(!report(&ledger, 0, (struct node){2, 2}));
    ck_assert_uint_eq(ledger.updates, 1);
    ck_assert_uint_eq(ledger_take_window(&ledger).examples, 8);
    job_free(&job);
}
END_TEST

START_TEST(steps_may_be_reported_across_each_other)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(report(&ledger, 0, (struct node){0, 2}));
    ck_assert(report(&ledger, 1, (struct node){0, 2}));
    ck_assert(report(&ledger, 1, (struct node){2, 2}));
    ck_assert_uint_eq(ledger.step, 2);
    ck_assert(report(&ledger, 0, (struct node){2, 2}));
    ck_assert_uint_eq(ledger.updates, 2);
    ck_assert_uint_eq(ledger.step, 2);
    job_free(&job);
}
END_TEST

START_TEST(reports_that_do_not_fit_the_job_are_refused)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(!report(&ledger, 6, (struct node){0, 2}));
    ck_assert(!report(&ledger, UINT64_MAX, (struct node){0, 2}));
    ck_assert(!report(&ledger, 0, (struct node){1, 2}));
    ck_assert(!report(&ledger, 0, (struct node){0, 0}));
    ck_assert(!report(&ledger, 0, (struct node){UINT32_MAX, 2}));
    ck_assert(!report(&ledger, 2, (struct node){0, 4})); /* The short batch has two leaves. */
    struct message_report many = report_of(0, (struct node){0, 4}, 9);
    ck_assert(!ledger_report(&ledger, &many));
    ck_assert_uint_eq(ledger.updates, 0);
    job_free(&job);
}
END_TEST

START_TEST(an_async_batch_is_counted_once_in_any_order)
{
    struct job job = small_job(MODE_ASYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(report(&ledger, 3, (struct node){0, 4}));
    ck_assert_uint_eq(ledger.step, 4);
    ck_assert(report(&ledger, 0, (struct node){0, 4}));
    ck_assert(!report(&ledger, 3, (struct node){0, 4}));
    ck_assert(!report(&ledger, 0, (struct node){0, 4}));
    ck_assert_uint_eq(ledger.updates, 2);
    job_free(&job);
}
END_TEST

START_TEST(a_resumed_run_counts_from_its_checkpoint)
{
    struct job job = small_job(MODE_ASYNC, 1, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 4);
    ck_assert_uint_eq(ledger.step, 4);
    ck_assert(!report(&ledger, 3, (struct node){0, 4}));
    ck_assert(report(&ledger, 4, (struct node){0, 4}));
    ck_assert_uint_eq(ledger.updates, 1);
    job_free(&job);
}
END_TEST

START_TEST(the_last_epoch_is_the_latest_that_has_anything)
{
    struct job job = small_job(MODE_SYNC, 1, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    struct tally none = ledger_last_epoch(&ledger);
    ck_assert_uint_eq(none.examples, 0);
    for (uint64_t step = 0; step < 6; step++) {
        uint32_t leaves = job_batch(&job, step).leaves;
        ck_assert(report(&ledger, step, (struct node){0, leaves}));
        struct tally epoch = ledger_last_epoch(&ledger);
        const uint64_t examples[] = {8, 16, 20, 8, 16, 20};
        ck_assert_uint_eq(epoch.examples, examples[step]);
        ck_assert_uint_eq(epoch.updates, step % 3 + 1);
    }
    job_free(&job);
}
END_TEST

START_TEST(means_are_over_examples_and_of_nothing_are_not_numbers)
{
    struct tally tally = {.loss = 3 << 24, .correct = 1, .examples = 4};
    ck_assert(tally_loss(&tally) == 0.75);
    ck_assert(tally_accuracy(&tally) == 0.25);
    tally = (struct tally){0};
    ck_assert(isnan(tally_loss(&tally)));
    ck_assert(isnan(tally_accuracy(&tally)));
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_sync_step_counts_when_its_last_leaf_is_reported);
    tcase_add_test(t, a_leaf_is_counted_once_whoever_reports_it);
    tcase_add_test(t, steps_may_be_reported_across_each_other);
    tcase_add_test(t, reports_that_do_not_fit_the_job_are_refused);
    tcase_add_test(t, an_async_batch_is_counted_once_in_any_order);
    tcase_add_test(t, a_resumed_run_counts_from_its_checkpoint);
    tcase_add_test(t, the_last_epoch_is_the_latest_that_has_anything);
    tcase_add_test(t, means_are_over_examples_and_of_nothing_are_not_numbers);
}

int main(void)
{
    return suite_run("ledger", add);
}
