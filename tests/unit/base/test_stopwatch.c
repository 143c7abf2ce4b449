/* test_stopwatch.c - what is training and what is apart, by hand. */

#include "common/base/stopwatch.h"

#include "tests/lib/suite.h"

#define S 1000000u

static void expect(const struct stopwatch *clock, uint64_t now, double trained, double evaluation,
                   double checkpoint)
{
    ck_assert_double_eq_tol(stopwatch_seconds(clock, now * S), trained, 1e-9);
    ck_assert_double_eq_tol(stopwatch_paused(clock, PAUSE_EVALUATION, now * S), evaluation, 1e-9);
    ck_assert_double_eq_tol(stopwatch_paused(clock, PAUSE_CHECKPOINT, now * S), checkpoint, 1e-9);
}

TEST_PLAIN(a_clock_counts_from_when_training_begins)
{
    struct stopwatch clock = {0};
    expect(&clock, 7, 0, 0, 0);
    stopwatch_begin(&clock, 10 * S);
    expect(&clock, 10, 0, 0, 0);
    expect(&clock, 13, 3, 0, 0);
}

TEST_PLAIN(what_it_stands_for_is_apart_while_it_stands_and_after)
{
    struct stopwatch clock = {0};
    stopwatch_begin(&clock, 10 * S);
    stopwatch_stand(&clock, PAUSE_CHECKPOINT, 12 * S);
    expect(&clock, 15, 2, 0, 3);
    stopwatch_stand(&clock, PAUSE_EVALUATION, 15 * S);
    stopwatch_go_on(&clock, 16 * S);
    stopwatch_go_on(&clock, 18 * S);
    expect(&clock, 20, 6, 1, 3);
}

TEST_PLAIN(who_scores_for_himself_holds_up_training_but_not_twice)
{
    struct stopwatch clock = {0};
    stopwatch_begin(&clock, 10 * S);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, 2 * S, 15 * S);
    expect(&clock, 15, 3, 2, 0);
    stopwatch_stand(&clock, PAUSE_CHECKPOINT, 16 * S);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, 1 * S, 18 * S);
    expect(&clock, 18, 4, 3, 1);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, 2 * S, 18 * S); /* One of them before it. */
    expect(&clock, 18, 3, 5, 0);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, UINT64_MAX, 18 * S);
    expect(&clock, 18, 0, 8, 0);
}

TEST_PLAIN(windows_add_up_to_the_seconds_at_the_end)
{
    struct stopwatch clock = {0};
    stopwatch_begin(&clock, 10 * S);
    stopwatch_mark(&clock, 12 * S);
    ck_assert_double_eq_tol(stopwatch_take_window(&clock), 2, 1e-9);
    stopwatch_stand(&clock, PAUSE_EVALUATION, 12 * S);
    stopwatch_go_on(&clock, 20 * S);
    stopwatch_mark(&clock, 21 * S);
    stopwatch_mark(&clock, 23 * S);
    ck_assert_double_eq_tol(stopwatch_take_window(&clock), 3, 1e-9);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, 1 * S, 24 * S);
    stopwatch_end(&clock);
    expect(&clock, 30, 5, 9, 0);
    ck_assert_double_eq_tol(stopwatch_marked(&clock), 5, 1e-9);
    stopwatch_go_on(&clock, 30 * S); /* To be done again. */
    expect(&clock, 30, 11, 9, 0);
}

TEST_PLAIN(it_never_goes_back)
{
    struct stopwatch clock = {0};
    stopwatch_begin(&clock, 10 * S);
    stopwatch_mark(&clock, 15 * S);
    stopwatch_hold_up(&clock, PAUSE_EVALUATION, 3 * S, 15 * S); /* Heard late. */
    stopwatch_mark(&clock, 16 * S);
    expect(&clock, 16, 5, 3, 0);
    ck_assert_double_eq_tol(stopwatch_take_window(&clock), 5, 1e-9);
    stopwatch_mark(&clock, 19 * S);
    ck_assert_double_eq_tol(stopwatch_take_window(&clock), 1, 1e-9);
}

int main(void)
{
    return suite_run("training_clock", NULL);
}
