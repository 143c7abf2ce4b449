/* test_interval.c - where in time lay what was exchanged and waited, around what was scored. */
/* promises: trace */

#include "worker/client/interval.h"

#include "tests/lib/suite.h"

struct told {
    struct span pieces[4];
    uint32_t count;
};

static void note(void *context, const struct span *span)
{
    struct told *told = context;
    ck_assert_uint_lt(told->count, 4);
    told->pieces[told->count++] = *span;
}

static struct told tell(const struct interval *interval, uint64_t from, uint64_t to)
{
    struct told told = {.count = 0};
    const struct span_listener listener = {&told, note};
    interval_tell(interval, from, to, (struct span){.kind = SPAN_WAIT, .other = 4}, &listener);
    return told;
}

static void is(const struct told *told, uint32_t piece, uint64_t from_us, uint64_t to_us)
{
    ck_assert_uint_lt(piece, told->count);
    ck_assert_uint_eq(told->pieces[piece].from_ns, 1000 * from_us);
    ck_assert_uint_eq(told->pieces[piece].to_ns, 1000 * to_us);
    ck_assert(told->pieces[piece].kind == SPAN_WAIT && told->pieces[piece].other == 4);
}

TEST_PLAIN(without_a_score_it_lies_as_it_is)
{
    const struct interval interval = interval_after(1000, 100, 200, 1500);
    struct told told = tell(&interval, 0, 500);
    ck_assert_uint_eq(told.count, 1);
    is(&told, 0, 1000, 1500);
    told = tell(&interval, 200, 200);
    ck_assert_uint_eq(told.count, 0);
}

/* It began at 1000, and was moved on by a score from 1100 to 1400. */
TEST_PLAIN(what_was_scored_meanwhile_is_cut_out)
{
    const struct interval interval = interval_after(1300, 1100, 1400, 1900);
    ck_assert_uint_eq(interval.from_us, 1000);
    struct told told = tell(&interval, 0, 600);
    ck_assert_uint_eq(told.count, 2);
    is(&told, 0, 1000, 1100);
    is(&told, 1, 1400, 1900);
    told = tell(&interval, 0, 50);
    ck_assert_uint_eq(told.count, 1);
    is(&told, 0, 1000, 1050);
    told = tell(&interval, 100, 300);
    ck_assert_uint_eq(told.count, 1);
    is(&told, 0, 1400, 1600);
}

TEST_PLAIN(a_time_within_it_has_so_much_before_it)
{
    const struct interval interval = interval_after(1300, 1100, 1400, 1900);
    ck_assert_uint_eq(interval_before(&interval, 900), 0);
    ck_assert_uint_eq(interval_before(&interval, 1060), 60);
    ck_assert_uint_eq(interval_before(&interval, 1250), 100);
    ck_assert_uint_eq(interval_before(&interval, 1500), 200);
    ck_assert_uint_eq(interval_before(&interval, 9999), 600);
}

TEST_PLAIN(nobody_is_told_where_nobody_listens)
{
    const struct interval interval = {.from_us = 1, .to_us = 9};
    const struct span_listener nobody = {NULL, NULL};
    interval_tell(&interval, 0, 8, (struct span){.kind = SPAN_WAIT}, &nobody);
}

int main(void)
{
    return suite_run("stretch", NULL);
}
