/* test_quorum.c - whose leaves a step is made of: decided when as many have reported as it takes, once;
 * and what they scored. */
/* promises: backup */

#include "ps/work/quorum.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/frame.h"
#include "ps/mode/work_mode.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Four workers, one of them spare; steps of 8 leaves of one example, and a last one of 3. */
static struct job job_of(void)
{
    struct job job = small_job(MODE_BACKUP, 4, 1);
    job.micro_batch = 1;
    job.batch = 8;
    job.examples = 19;
    job.steps = 9;
    return job;
}

static enum quorum_result report(struct quorum *c, uint64_t step, struct node node, uint32_t place)
{
    const struct message_report report = {.step = step,
                                          .node = node,
                                          .examples = node.leaf_count,
                                          .correct = node.leaf_count,
                                          .loss = 100 * (int64_t)(node.first_leaf + 1)};
    enum quorum_result result = quorum_report(c, &report, place, place, 0.5);
    if (result != QUORUM_COUNTED)
        quorum_check(c);
    return result;
}

static enum quorum_result report_run(struct quorum *c, uint64_t step, uint32_t members,
                                     uint32_t place)
{
    return report(c, step, tree_run(job_batch(c->job, step).leaves, members, place), place);
}

static void expect_tally(struct quorum *c, uint64_t examples, int64_t loss)
{
    struct tally tally = quorum_counted(c);
    ck_assert_uint_eq(tally.examples, examples);
    ck_assert_uint_eq(tally.correct, examples);
    ck_assert_int_eq(tally.loss, loss);
    ck_assert_uint_eq(tally.updates, 1);
    quorum_go_on(c);
    quorum_check(c);
}

/* What tests begin with, and how they end. */
#define TEST(name, first)                                                                          \
    SUITE_TEST(name, struct quorum, c, struct job job = job_of();                                  \
               quorum_init(c, &job, NULL, first), quorum_free(c); job_free(&job))

TEST(a_step_is_made_of_the_first_who_report, 0)
{
    struct leaf_set set;
    quorum_deal(c, 4);
    ck_assert_uint_eq(quorum_needed(c), 3);
    ck_assert_int_eq(report_run(c, 0, 4, 3), QUORUM_KEPT);
    ck_assert_int_eq(report_run(c, 0, 4, 0), QUORUM_KEPT);
    ck_assert_int_eq(report_run(c, 0, 4, 0), QUORUM_STRANGE); /* Nobody counts twice. */
    ck_assert(quorum_owes(c, 1) && quorum_owes(c, 2) && !quorum_owes(c, 3));
    ck_assert(!quorum_set(c, 0, &set));
    ck_assert_int_eq(report_run(c, 0, 4, 2), QUORUM_COUNTED);
    ck_assert(quorum_set(c, 0, &set));
    ck_assert_uint_eq(leaf_set_count(&set, tree_root(8)), 6);
    ck_assert(!leaf_set_has(&set, 2) && !leaf_set_has(&set, 3));
    expect_tally(c, 6, 100 * (7 + 1 + 5));
    ck_assert_int_eq(report_run(c, 0, 4, 1), QUORUM_LATE);
    ck_assert_uint_eq(c->dropped.examples, 2);
    ck_assert_uint_eq(c->dropped.reports, 1);
    ck_assert(c->dropped.seconds == 0.5);
}

TEST(what_was_reported_and_is_not_in_the_set_is_dropped, 0)
{
    quorum_deal(c, 4);
    report(c, 0, (struct node){2, 1}, 1); /* Half of its run. */
    report_run(c, 0, 4, 3);
    report_run(c, 0, 4, 0);
    ck_assert_int_eq(report_run(c, 0, 4, 2), QUORUM_COUNTED);
    expect_tally(c, 6, 100 * (7 + 1 + 5));
    ck_assert_uint_eq(c->dropped.reports, 1);
}

TEST(a_short_step_waits_for_all_who_have_a_leaf, 2)
{
    quorum_deal(c, 4); /* Three leaves, of places 1, 2 and 3. */
    ck_assert_uint_eq(quorum_needed(c), 3);
    ck_assert(!quorum_owes(c, 0));
    report_run(c, 2, 4, 1);
    report_run(c, 2, 4, 3);
    ck_assert_int_eq(report_run(c, 2, 4, 2), QUORUM_COUNTED);
    expect_tally(c, 3, 600);
    ck_assert_uint_eq(c->dropped.examples, 0);
    quorum_deal(c, 2); /* Fewer than are to be waited for: all of them. */
    ck_assert_uint_eq(quorum_needed(c), 2);
}

TEST(dealt_anew_who_has_to_report_is_new_and_reports_stay, 0)
{
    quorum_deal(c, 4);
    report_run(c, 0, 4, 0);
    report_run(c, 0, 4, 1);
    quorum_deal(c, 3);
    ck_assert_int_eq(report_run(c, 0, 3, 0), QUORUM_STRANGE); /* It was here. */
    ck_assert_int_eq(report(c, 0, (struct node){2, 2}, 1), QUORUM_STRANGE);
    ck_assert_int_eq(report(c, 0, (struct node){4, 1}, 1), QUORUM_KEPT);
    ck_assert_int_eq(report(c, 0, (struct node){5, 1}, 2), QUORUM_KEPT);
    ck_assert_int_eq(report(c, 0, (struct node){6, 2}, 2), QUORUM_COUNTED);
    expect_tally(c, 8, 100 * (1 + 3 + 5 + 6 + 7));
}

/* The worker that was left out is in time now. */
TEST(after_a_going_back_a_step_is_decided_anew, 0)
{
    struct leaf_set set;
    quorum_deal(c, 4);
    for (uint64_t step = 0; step < 2; step++) {
        for (uint32_t place = 0; place < 3; place++)
            report_run(c, step, 4, place);
        quorum_go_on(c);
    }
    ck_assert_uint_eq(c->dropped.examples, 4);
    quorum_go_back(c, 1);
    quorum_check(c);
    ck_assert_uint_eq(c->dropped.examples, 2);
    ck_assert(!quorum_set(c, 0, &set) && !quorum_set(c, 1, &set));
    quorum_deal(c, 4);
    for (uint32_t place = 1; place < 4; place++)
        report_run(c, 1, 4, place);
    ck_assert(quorum_set(c, 1, &set) && leaf_set_has(&set, 6) && !leaf_set_has(&set, 0));
    quorum_go_on(c);
    struct frame *list = quorum_list(c, 5, 1, 2);
    ck_assert(leaf_sets_find((char *)list->data + 5, list->bytes - 5, 1, &set));
    ck_assert(leaf_set_has(&set, 6));
    frame_release(list);
    quorum_forget(c, 2);
    ck_assert(!quorum_set(c, 1, &set));
}

/* A late report, from before the work was dealt anew, has leaves that are not in the set. */
TEST(a_step_that_is_decided_waits_for_the_sums_of_its_set, 0)
{
    struct leaf_set set;
    quorum_deal(c, 4);
    report(c, 0, (struct node){0, 4}, 0);
    report_run(c, 0, 4, 2);
    ck_assert_int_eq(report_run(c, 0, 4, 3), QUORUM_KEPT);
    ck_assert(quorum_set(c, 0, &set) && !leaf_set_has(&set, 2));
    ck_assert(quorum_owes(c, 0) && !quorum_owes(c, 1) && !quorum_owes(c, 2));
    ck_assert_int_eq(report_run(c, 0, 4, 0), QUORUM_COUNTED);
    expect_tally(c, 6, 100 * (1 + 5 + 7));
}

/* --- a policy ------------------------------------------------------------------------------ */

/* Says one word after the other, and remembers the latest question. */
struct script {
    const enum policy_verdict *next;
    struct policy_gradient asked;
};

static struct policy_answer say_next(void *context, const struct policy_gradient *gradient)
{
    struct script *script = context;
    script->asked = *gradient;
    return (struct policy_answer){*script->next++, 1};
}

TEST(a_policy_holds_ignores_and_closes, 0)
{
    static const enum policy_verdict words[] = {POLICY_HOLD,  POLICY_IGNORE, POLICY_AGAIN,
                                                POLICY_APPLY, POLICY_IGNORE, POLICY_APPLY};
    struct script script = {words, {0}};
    const struct policy policy = {.context = &script, .judge = say_next};
    struct leaf_set set;
    c->policy = &policy;
    quorum_deal(c, 4);
    ck_assert_int_eq(report_run(c, 0, 4, 3), QUORUM_KEPT);
    ck_assert_uint_eq(script.asked.worker, 3);
    ck_assert(node_equal(script.asked.node, (struct node){6, 2}) && script.asked.leaves == 8);
    ck_assert_int_eq(report_run(c, 0, 4, 3), QUORUM_STRANGE); /* It hears of a node once. */
    ck_assert_int_eq(report_run(c, 0, 4, 0), QUORUM_KEPT);
    ck_assert_int_eq(report_run(c, 0, 4, 1), QUORUM_KEPT); /* Not made again: held. */
    ck_assert(script.next == words + 3 && !quorum_set(c, 0, &set));
    ck_assert(quorum_owes(c, 2) && !quorum_owes(c, 0));
    ck_assert_int_eq(report_run(c, 0, 4, 2), QUORUM_COUNTED);
    ck_assert_uint_eq(script.asked.held, 4);
    ck_assert(quorum_set(c, 0, &set) && !leaf_set_has(&set, 0) && !leaf_set_has(&set, 1));
    ck_assert_uint_eq(c->dropped.examples, 2);
    ck_assert_uint_eq(c->dropped.reports, 1);
    expect_tally(c, 6, 100 * (3 + 5 + 7));
    ck_assert_int_eq(report_run(c, 1, 4, 2), QUORUM_KEPT); /* Nothing is held of the step before. */
    ck_assert_uint_eq(script.asked.held, 0);
    ck_assert_int_eq(report_run(c, 1, 4, 1), QUORUM_COUNTED);
    expect_tally(c, 2, 100 * 3);
    ck_assert(script.next == words + 6);
}

/* A worker that is lost has no report any more that a policy could wait for; its leaves are dealt. */
TEST(what_a_policy_holds_stays_where_work_is_dealt_anew, 0)
{
    static const enum policy_verdict words[] = {POLICY_HOLD, POLICY_HOLD, POLICY_APPLY};
    struct script script = {words, {0}};
    const struct policy policy = {.context = &script, .judge = say_next};
    c->policy = &policy;
    quorum_deal(c, 2);
    report_run(c, 0, 2, 0);
    report(c, 0, (struct node){4, 2}, 1);
    quorum_deal(c, 1);
    ck_assert_int_eq(report(c, 0, (struct node){6, 2}, 0), QUORUM_COUNTED);
    ck_assert_uint_eq(script.asked.held, 6);
    expect_tally(c, 8, 100 * (1 + 5 + 7));
}

TEST(it_is_said_what_was_dropped, 0)
{
    struct work work = {0};
    struct mode_figures figures = {0};
    ck_assert_int_eq(work_begin(&work, c->job, 0, &(struct tally_so_far){0}), STATUS_OK);
    struct quorum *quorum = work.rules->quorum(&work);
    quorum->dropped = (struct quorum_dropped){.examples = 3, .reports = 2, .seconds = 0.25};
    work.rules->figures(&work, &figures);
    ck_assert_uint_eq(figures.count, 3);
    ck_assert_uint_eq(figures.figures[0].value, 3);
    ck_assert_uint_eq(figures.figures[1].value, 2);
    ck_assert_uint_eq(figures.figures[2].value, 250);
    work_free(&work);
}

int main(void)
{
    return suite_run("closings", NULL);
}
