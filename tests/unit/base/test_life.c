/* test_life.c - where the seconds of a run went, by hand: no second twice, and none left out. */
/* promises: run-json */

#include "common/base/life.h"

#include "tests/lib/suite.h"

#define S 1000000u

/* [LIFE_PARTS] seconds, in the order of the parts. */
static void expect(const struct life *life, const unsigned *seconds)
{
    double sum = 0;
    for (enum life_part i = 0; i < LIFE_PARTS; i++) {
        ck_assert_msg(life->us[i] == (uint64_t)seconds[i] * S, "%s has %g s, not %u",
                      life_part_name(i), life_seconds(life, i), seconds[i]);
        sum += life_seconds(life, i);
    }
    ck_assert_double_eq_tol(sum, life_total(life), 1e-9);
}

/* Up to the last of three updates, at 30. */
static struct life trained(void)
{
    struct life life;
    life_begin(&life, LIFE_WAITING, 10 * S);
    life_enter(&life, LIFE_OPENING, 11 * S);
    life_enter(&life, LIFE_GATHERING, 13 * S);
    life_train(&life, 16 * S);
    life_mark(&life, 20 * S);
    life_mark(&life, 25 * S);
    life_mark(&life, 30 * S);
    return life;
}

TEST_PLAIN(every_second_of_a_run_belongs_to_one_part)
{
    struct life life = trained();
    life_close(&life, LIFE_LAST_CHECKPOINT, 33 * S);
    life_close(&life, LIFE_MODEL_FILE, 37 * S);
    life_enter(&life, LIFE_END, 42 * S);
    life_enter(&life, LIFE_END, 43 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 10, 0, 0, 0, 3, 4, 5, 1});
    ck_assert_double_eq_tol(life_total(&life), 33, 1e-9);
}

TEST_PLAIN(a_score_takes_from_the_last_values_before_it_takes_from_training)
{
    struct life life = trained();
    life_hold_up(&life, 2 * S, 33 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 10, 0, 2});
    life_hold_up(&life, 4 * S, 34 * S); /* Two of them before the last update. */
    life_close(&life, LIFE_LAST_CHECKPOINT, 35 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 8, 0, 6, 0, 1});
    life_hold_up(&life, UINT64_MAX, 35 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 0, 0, 14, 0, 1});
}

TEST_PLAIN(a_checkpoint_that_stops_training_is_none_of_it)
{
    struct life life = trained();
    life_enter(&life, LIFE_CHECKPOINTS, 31 * S);
    life_mark(&life, 32 * S); /* An update that is counted late. */
    life_train(&life, 35 * S);
    life_mark(&life, 36 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 12, 0, 0, 4});
}

TEST_PLAIN(going_back_is_a_part_of_its_own_and_the_first_step_comes_once)
{
    struct life life = trained();
    life_enter(&life, LIFE_RECOVERING, 31 * S);
    life_train(&life, 38 * S);
    life_mark(&life, 40 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 13, 7});
}

TEST_PLAIN(a_run_without_an_update_has_no_first_step)
{
    struct life life;
    life_begin(&life, LIFE_OPENING, 10 * S);
    life_train(&life, 12 * S);
    life_close(&life, LIFE_MODEL_FILE, 15 * S);
    expect(&life, (unsigned[LIFE_PARTS]){0, 2, 0, 0, 0, 0, 0, 0, 3});
}

TEST_PLAIN(a_clock_behind_takes_nothing_back)
{
    struct life life = trained();
    life_enter(&life, LIFE_END, 5 * S);
    expect(&life, (unsigned[LIFE_PARTS]){1, 2, 3, 4, 10});
}

TEST_PLAIN(what_has_not_begun_stays_so)
{
    struct life life = {.begun = false};
    life_enter(&life, LIFE_OPENING, 5 * S);
    life_train(&life, 6 * S);
    life_mark(&life, 7 * S);
    life_hold_up(&life, S, 8 * S);
    life_close(&life, LIFE_END, 9 * S);
    expect(&life, (unsigned[LIFE_PARTS]){0});
}

int main(void)
{
    return suite_run("life", NULL);
}
