/* test_run_phases.c - where the seconds of a run went, by hand: no second twice, and none left out. */
/* promises: run-json */

#include "common/base/run_phases.h"

#include "tests/lib/suite.h"

#define S 1000000u

/* [RUN_PHASE_COUNT] seconds, in the order of the parts. */
static void expect(const struct run_phases *phases, const unsigned *seconds)
{
    double sum = 0;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++) {
        ck_assert_msg(phases->us[i] == (uint64_t)seconds[i] * S, "%s has %g s, not %u",
                      run_phase_name(i), run_phases_seconds(phases, i), seconds[i]);
        sum += run_phases_seconds(phases, i);
    }
    ck_assert_double_eq_tol(sum, run_phases_total(phases), 1e-9);
}

/* Up to the last of three updates, at 30. */
static struct run_phases trained(void)
{
    struct run_phases phases;
    run_phases_begin(&phases, RUN_PHASE_WAITING, 10 * S);
    run_phases_enter(&phases, RUN_PHASE_OPENING, 11 * S);
    run_phases_enter(&phases, RUN_PHASE_GATHERING, 13 * S);
    run_phases_train(&phases, 16 * S);
    run_phases_mark(&phases, 20 * S);
    run_phases_mark(&phases, 25 * S);
    run_phases_mark(&phases, 30 * S);
    return phases;
}

TEST_PLAIN(every_second_of_a_run_belongs_to_one_part)
{
    struct run_phases phases = trained();
    run_phases_close(&phases, RUN_PHASE_LAST_CHECKPOINT, 33 * S);
    run_phases_close(&phases, RUN_PHASE_MODEL_FILE, 37 * S);
    run_phases_enter(&phases, RUN_PHASE_END, 42 * S);
    run_phases_enter(&phases, RUN_PHASE_END, 43 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 10, 0, 0, 0, 3, 4, 5, 1});
    ck_assert_double_eq_tol(run_phases_total(&phases), 33, 1e-9);
}

TEST_PLAIN(a_score_takes_from_the_last_values_before_it_takes_from_training)
{
    struct run_phases phases = trained();
    run_phases_hold_up(&phases, 2 * S, 33 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 10, 0, 2});
    run_phases_hold_up(&phases, 4 * S, 34 * S); /* Two of them before the last update. */
    run_phases_close(&phases, RUN_PHASE_LAST_CHECKPOINT, 35 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 8, 0, 6, 0, 1});
    run_phases_hold_up(&phases, UINT64_MAX, 35 * S);
    /* At most all there is of training. */
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 0, 0, 0, 19});
}

TEST_PLAIN(a_checkpoint_that_stops_training_is_none_of_it)
{
    struct run_phases phases = trained();
    run_phases_enter(&phases, RUN_PHASE_CHECKPOINTS, 31 * S);
    run_phases_mark(&phases, 32 * S); /* An update that is counted late. */
    run_phases_train(&phases, 35 * S);
    run_phases_mark(&phases, 36 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 12, 0, 0, 4});
}

TEST_PLAIN(going_back_is_a_part_of_its_own_and_the_first_step_comes_once)
{
    struct run_phases phases = trained();
    run_phases_enter(&phases, RUN_PHASE_RECOVERING, 31 * S);
    run_phases_train(&phases, 38 * S);
    run_phases_mark(&phases, 40 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 13, 7});
}

TEST_PLAIN(a_run_without_an_update_has_no_first_step)
{
    struct run_phases phases;
    run_phases_begin(&phases, RUN_PHASE_OPENING, 10 * S);
    run_phases_train(&phases, 12 * S);
    run_phases_close(&phases, RUN_PHASE_MODEL_FILE, 15 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){0, 2, 0, 0, 0, 0, 0, 0, 3});
}

TEST_PLAIN(a_clock_behind_takes_nothing_back)
{
    struct run_phases phases = trained();
    run_phases_enter(&phases, RUN_PHASE_END, 5 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){1, 2, 3, 4, 10});
}

TEST_PLAIN(what_has_not_begun_stays_so)
{
    struct run_phases phases = {.begun = false};
    run_phases_enter(&phases, RUN_PHASE_OPENING, 5 * S);
    run_phases_train(&phases, 6 * S);
    run_phases_mark(&phases, 7 * S);
    run_phases_hold_up(&phases, S, 8 * S);
    run_phases_close(&phases, RUN_PHASE_END, 9 * S);
    expect(&phases, (unsigned[RUN_PHASE_COUNT]){0});
}

/* Training seconds, and those apart. */
static void trains(struct run_phases phases, uint64_t now, double trained, double evaluation,
                   double checkpoint)
{
    ck_assert_double_eq_tol(run_phases_trained(&phases, now * S), trained, 1e-9);
    run_phases_enter(&phases, phases.part, now * S);
    ck_assert_double_eq_tol(run_phases_trained(&phases, now * S), trained, 1e-9);
    ck_assert_double_eq_tol(run_phases_seconds(&phases, RUN_PHASE_EVALUATION), evaluation, 1e-9);
    ck_assert_double_eq_tol(run_phases_seconds(&phases, RUN_PHASE_CHECKPOINTS), checkpoint, 1e-9);
}

/* Training begins at 10. */
static struct run_phases begun(void)
{
    struct run_phases phases;
    run_phases_begin(&phases, RUN_PHASE_GATHERING, 5 * S);
    trains(phases, 7, 0, 0, 0);
    run_phases_train(&phases, 10 * S);
    trains(phases, 10, 0, 0, 0);
    trains(phases, 13, 3, 0, 0);
    return phases;
}

TEST_PLAIN(what_training_stands_for_is_apart_while_it_stands_and_after)
{
    struct run_phases phases = begun();
    run_phases_enter(&phases, RUN_PHASE_CHECKPOINTS, 12 * S);
    trains(phases, 15, 2, 0, 3);
    run_phases_enter(&phases, RUN_PHASE_EVALUATION, 15 * S);
    run_phases_train(&phases, 16 * S);
    run_phases_train(&phases, 18 * S);
    trains(phases, 20, 6, 1, 3);
}

TEST_PLAIN(a_score_holds_up_training_but_not_twice)
{
    struct run_phases phases = begun();
    run_phases_hold_up(&phases, 2 * S, 15 * S);
    trains(phases, 15, 3, 2, 0);
    run_phases_enter(&phases, RUN_PHASE_CHECKPOINTS, 16 * S);
    run_phases_mark(&phases, 17 * S); /* Counted late: it still stands. */
    run_phases_hold_up(&phases, 1 * S, 18 * S);
    trains(phases, 18, 4, 3, 1);
    run_phases_hold_up(&phases, 2 * S, 18 * S); /* One of them before it stood. */
    phases.marked_us = 0;
    trains(phases, 18, 3, 5, 0);
    run_phases_hold_up(&phases, UINT64_MAX, 18 * S);
    trains(phases, 18, 0, 8, 0);
}

TEST_PLAIN(windows_add_up_to_the_seconds_at_the_end)
{
    struct run_phases phases = begun();
    run_phases_mark(&phases, 12 * S);
    ck_assert_double_eq_tol(run_phases_take_window(&phases), 2, 1e-9);
    run_phases_enter(&phases, RUN_PHASE_EVALUATION, 12 * S);
    run_phases_train(&phases, 20 * S);
    run_phases_mark(&phases, 21 * S);
    run_phases_mark(&phases, 23 * S);
    ck_assert_double_eq_tol(run_phases_take_window(&phases), 3, 1e-9);
    run_phases_hold_up(&phases, 1 * S, 24 * S);
    run_phases_close(&phases, RUN_PHASE_LAST_CHECKPOINT, 25 * S);
    run_phases_enter(&phases, RUN_PHASE_CHECKPOINTS, 26 * S);
    run_phases_train(&phases, 28 * S);
    ck_assert(phases.part == RUN_PHASE_LAST_CHECKPOINT);
    trains(phases, 30, 5, 9, 0);
    ck_assert_double_eq_tol(run_phases_marked(&phases), 5, 1e-9);
    run_phases_enter(&phases, RUN_PHASE_RECOVERING, 30 * S); /* The last steps once more. */
    trains(phases, 31, 7, 9, 0);
}

TEST_PLAIN(training_seconds_never_go_back)
{
    struct run_phases phases = begun();
    run_phases_mark(&phases, 15 * S);
    run_phases_hold_up(&phases, 3 * S, 15 * S); /* Heard late. */
    run_phases_mark(&phases, 16 * S);
    trains(phases, 16, 5, 3, 0);
    ck_assert_double_eq_tol(run_phases_take_window(&phases), 5, 1e-9);
    run_phases_mark(&phases, 19 * S);
    ck_assert_double_eq_tol(run_phases_take_window(&phases), 1, 1e-9);
}

TEST_PLAIN(checkpoints_beside_training_take_nothing_from_it)
{
    struct run_phases phases = begun();
    run_phases_beside(&phases, false, 11 * S);
    run_phases_beside(&phases, true, 12 * S);
    run_phases_beside(&phases, false, 14 * S);
    run_phases_beside(&phases, false, 15 * S);
    ck_assert_uint_eq(phases.beside_us, 2 * S);
    trains(phases, 15, 5, 0, 0);
}

int main(void)
{
    return suite_run("run_phases", NULL);
}
