#include "ps/scoreboard.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static const struct scoring *share(struct scoreboard *board, uint32_t worker, uint64_t epoch)
{
    struct message_evaluation message = {.epoch = epoch,
                                         .step = 10 * epoch,
                                         .loss = 100 + worker,
                                         .correct = 3,
                                         .examples = 5,
                                         .took_us = 1000 * (worker + 1)};
    return scoreboard_add(board, worker, &message);
}

START_TEST(shares_add_up_and_each_counts_once)
{
    struct scoreboard board = {0};
    ck_assert_ptr_nonnull(share(&board, 0, 1));
    ck_assert_ptr_null(share(&board, 0, 1));
    const struct scoring *epoch = share(&board, 2, 1);
    ck_assert_ptr_nonnull(epoch);
    ck_assert_ptr_null(share(&board, 2, 1));
    ck_assert_uint_eq(epoch->epoch, 1);
    ck_assert_uint_eq(epoch->step, 10);
    ck_assert_int_eq(epoch->tally.loss, 202);
    ck_assert_uint_eq(epoch->tally.correct, 6);
    ck_assert_uint_eq(epoch->tally.examples, 10);
    ck_assert_uint_eq(epoch->took_sum_us, 4000);
    ck_assert_uint_eq(epoch->took_max_us, 3000);
}
END_TEST

START_TEST(two_epochs_may_be_open_side_by_side)
{
    struct scoreboard board = {0};
    share(&board, 0, 1);
    share(&board, 0, 2);
    ck_assert_uint_eq(share(&board, 1, 1)->tally.examples, 10);
    ck_assert_uint_eq(share(&board, 1, 2)->tally.examples, 10);
    ck_assert_uint_eq(share(&board, 0, 3)->tally.examples, 5); /* In the place of the first. */
}
END_TEST

START_TEST(every_worker_there_can_be_has_a_place)
{
    struct scoreboard board = {0};
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX; worker++)
        ck_assert_uint_eq(share(&board, worker, 1)->tally.examples, 5 * (worker + 1));
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX; worker++)
        ck_assert_ptr_null(share(&board, worker, 1));
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, shares_add_up_and_each_counts_once);
    tcase_add_test(t, two_epochs_may_be_open_side_by_side);
    tcase_add_test(t, every_worker_there_can_be_has_a_place);
}

int main(void)
{
    return suite_run("scoreboard", add);
}
