/* test_staleness_totals.c - what servers say over cuts, checkpoints and goings back: what was undone is
 * in no figure. */

#include "ps/extension/staleness_totals.h"

#include <math.h>
#include <string.h>

#include "tests/lib/suite.h"

/* A server says that so many updates of worker 0 were each so stale. */
static void say(struct staleness_totals *totals, uint32_t server, unsigned count, uint64_t each)
{
    struct staleness_share share = {count, count * each, count > 0 ? each : 0};
    struct staleness_tally tally = {
        .all.expected = count * each, .workers = &share, .worker_count = 1};
    for (unsigned i = 0; i < count; i++)
        histogram_add(&tally.all.shape, each);
    struct frame *frame = staleness_tally_frame(&tally);
    ck_assert_ptr_nonnull(frame);
    staleness_totals_hear(totals, server, frame);
    frame_release(frame);
}

static void check(const struct staleness_totals *totals, uint64_t count, uint64_t sum)
{
    uint64_t max;
    struct staleness_tally tally = {0};
    staleness_totals_sum(totals, &tally);
    ck_assert_uint_eq(tally.all.shape.count, count);
    ck_assert_uint_eq(tally.all.shape.sum, sum);
    ck_assert_uint_eq(tally.all.expected, sum);
    ck_assert_uint_eq(tally.worker_count > 0 ? tally.workers[0].count : 0, count);
    if (count > 0)
        ck_assert_double_eq(staleness_totals_mean(totals, &max), (double)sum / (double)count);
    else
        ck_assert(isnan(staleness_totals_mean(totals, &max)));
    staleness_tally_free(&tally);
}

static void open_ledger(struct staleness_totals *totals)
{
    ck_assert(staleness_totals_init(totals, 2, 100) == STATUS_OK);
}

#define TEST(name)                                                                                 \
    SUITE_TEST(name, struct staleness_totals, l, open_ledger(l), staleness_totals_free(l))

TEST(what_all_servers_said_last_adds_up)
{
    check(l, 0, 0);
    say(l, 0, 10, 2);
    say(l, 1, 5, 1);
    check(l, 15, 25);
    say(l, 0, 12, 2); /* In place of the 10. */
    check(l, 17, 29);
    say(l, 0, 11, 2); /* It was on its way for longer. */
    check(l, 17, 29);
}

TEST(what_is_no_tally_or_from_nobody_changes_nothing)
{
    struct frame *frame = frame_create(64);
    say(l, 0, 3, 1);
    memset(frame->data, 0xff, 64);
    staleness_totals_hear(l, 0, frame);
    staleness_totals_hear(l, 7, frame);
    staleness_totals_hear(l, 0, NULL);
    check(l, 3, 3);
    frame_release(frame);
}

TEST(going_back_leaves_what_the_checkpoint_has)
{
    say(l, 0, 10, 2);
    say(l, 1, 5, 1);
    staleness_totals_snapshot(l, 0);
    staleness_totals_snapshot(l, 1);
    say(l, 0, 20, 2); /* Goes on while the cut is written. */
    staleness_totals_keep(l, 110);
    check(l, 25, 45);
    staleness_totals_go_back(l, 110);
    check(l, 15, 25);
    say(l, 0, 1, 9);
    check(l, 16, 34);
    staleness_totals_go_back(l, 110); /* Once more, to the same. */
    check(l, 15, 25);
}

TEST(a_cut_that_is_no_checkpoint_yet_is_undone)
{
    say(l, 0, 10, 2);
    staleness_totals_snapshot(l, 0);
    staleness_totals_snapshot(l, 1);
    staleness_totals_go_back(l, 100);
    check(l, 0, 0);
    say(l, 0, 4, 2);
    check(l, 4, 8);
}

TEST(of_an_older_checkpoint_nothing_is_known)
{
    say(l, 0, 10, 2);
    staleness_totals_snapshot(l, 0);
    staleness_totals_snapshot(l, 1);
    staleness_totals_keep(l, 110);
    staleness_totals_go_back(l, 100);
    check(l, 0, 0);
}

int main(void)
{
    return suite_run("staleness_ledger", NULL);
}
