#include "ps/ledger.h"

#include <math.h>

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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
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
    ledger_free(&ledger);
    job_free(&job);
}
END_TEST

START_TEST(leaves_may_be_cut_into_nodes_in_several_ways)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ck_assert(report(&ledger, 0, (struct node){0, 1}));
    ck_assert(report(&ledger, 0, (struct node){2, 1}));
    ck_assert(report(&ledger, 0, (struct node){0, 2}));  /* In the place of its left half. */
    ck_assert(!report(&ledger, 0, (struct node){1, 1})); /* Within it. */
    ck_assert(!ledger_lacks(&ledger, (struct node){0, 3}));
    ck_assert(ledger_lacks(&ledger, (struct node){2, 2}));
    ck_assert(report(&ledger, 0, (struct node){0, 4})); /* In the place of all. */
    ck_assert_uint_eq(ledger.updates, 1);
    struct tally window = ledger_take_window(&ledger);
    ck_assert_uint_eq(window.examples, 8);
    ck_assert_int_eq(window.loss, 100);
    ck_assert(!report(&ledger, 0, (struct node){3, 1}));
    ck_assert_uint_eq(ledger.updates, 1);
    ck_assert(ledger_lacks(&ledger, (struct node){0, 1})); /* Of step 1, which is open now. */
    ledger_free(&ledger);
    job_free(&job);
}
END_TEST

static void report_steps(struct ledger *ledger, uint64_t first, uint64_t end)
{
    for (uint64_t step = first; step < end; step++)
        ck_assert(report(ledger, step, tree_root(job_batch(ledger->job, step).leaves)));
}

START_TEST(going_back_forgets_what_came_after_and_counts_it_again)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ledger_mark(&ledger, 4, UINT64_MAX);
    report_steps(&ledger, 0, 5);
    ck_assert(report(&ledger, 5, (struct node){0, 1}));
    ledger_mark(&ledger, 6, 4);
    for (int i = 0; i < 2; i++) {
        ledger_go_back(&ledger, 4);
        ck_assert_uint_eq(ledger.step, 4);
        ck_assert_uint_eq(ledger.updates, 4);
        ck_assert_uint_eq(ledger_take_window(&ledger).updates, 0);
        ck_assert_uint_eq(ledger_last_epoch(&ledger).updates, 1); /* Step 3. */
        report_steps(&ledger, 4, 6);
        ck_assert_uint_eq(ledger.updates, 6);
        ck_assert_uint_eq(ledger_last_epoch(&ledger).updates, 3);
        ck_assert_uint_eq(ledger_last_epoch(&ledger).examples, 20);
    }
    ledger_go_back(&ledger, 0);
    ck_assert_uint_eq(ledger_last_epoch(&ledger).examples, 0);
    report_steps(&ledger, 0, 6);
    ck_assert_uint_eq(ledger.updates, 6);
    ledger_free(&ledger);
    job_free(&job);
}
END_TEST

START_TEST(a_mark_that_was_given_up_does_not_push_out_the_whole_checkpoint_s)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    ledger_mark(&ledger, 2, UINT64_MAX);
    report_steps(&ledger, 0, 2);
    ledger_mark(&ledger, 3, 2);
    report_steps(&ledger, 2, 3);
    ledger_mark(&ledger, 4, 2); /* Step 3 was not written. */
    report_steps(&ledger, 3, 5);
    ledger_go_back(&ledger, 2);
    ck_assert_uint_eq(ledger_last_epoch(&ledger).updates, 2);
    ledger_free(&ledger);
    job_free(&job);
}
END_TEST

START_TEST(going_back_further_than_this_session_counts_from_there)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 4);
    report_steps(&ledger, 4, 5);
    ledger_go_back(&ledger, 2); /* The newest checkpoint was damaged. */
    ck_assert_uint_eq(ledger.first, 2);
    ck_assert_uint_eq(ledger.updates, 0);
    report_steps(&ledger, 2, 6);
    ck_assert_uint_eq(ledger.first + ledger.updates, 6);
    ledger_free(&ledger);
    job_free(&job);
}
END_TEST

START_TEST(a_bad_gradient_counts_its_batch_and_nothing_else)
{
    struct job job = small_job(MODE_ASYNC, 2, 1);
    struct ledger ledger;
    ledger_init(&ledger, &job, 0);
    struct message_report bad = report_of(0, (struct node){0, 4}, 8);
    bad.bad = true;
    ck_assert(ledger_report(&ledger, &bad));
    ck_assert(!ledger_report(&ledger, &bad));
    ck_assert_uint_eq(ledger.updates, 1);
    struct tally window = ledger_take_window(&ledger);
    ck_assert_uint_eq(window.updates, 1);
    ck_assert_uint_eq(window.examples, 0);
    ck_assert_int_eq(window.loss, 0);
    ledger_free(&ledger);
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
    tcase_add_test(t, leaves_may_be_cut_into_nodes_in_several_ways);
    tcase_add_test(t, going_back_forgets_what_came_after_and_counts_it_again);
    tcase_add_test(t, a_mark_that_was_given_up_does_not_push_out_the_whole_checkpoint_s);
    tcase_add_test(t, going_back_further_than_this_session_counts_from_there);
    tcase_add_test(t, a_bad_gradient_counts_its_batch_and_nothing_else);
    tcase_add_test(t, means_are_over_examples_and_of_nothing_are_not_numbers);
}

int main(void)
{
    return suite_run("ledger", add);
}
