/* test_evaluation.c - shares of an epoch's score add up once each, whatever comes late, twice or of
 * an older assignment. */

#include "ps/work/evaluation.h"

#include "tests/lib/suite.h"

static const struct scoring *share(struct evaluation *board, uint32_t worker, uint64_t epoch)
{
    struct message_evaluation message = {.epoch = epoch,
                                         .step = 10 * epoch,
                                         .loss = 100 + worker,
                                         .correct = 3,
                                         .examples = 5,
                                         .took_us = 1000 * (worker + 1)};
    return evaluation_add(board, worker, &message);
}

TEST_PLAIN(shares_add_up_and_each_counts_once)
{
    struct evaluation board;
    evaluation_init(&board, 100000, 0);
    ck_assert_ptr_nonnull(share(&board, 0, 1));
    ck_assert_ptr_null(share(&board, 0, 1));
    const struct scoring *epoch = share(&board, 2, 1);
    ck_assert_ptr_nonnull(epoch);
    ck_assert_ptr_null(share(&board, 2, 1));
    ck_assert_uint_eq(epoch->epoch, 1);
    ck_assert_int_eq(epoch->tally.loss, 202);
    ck_assert_uint_eq(epoch->tally.correct, 6);
    ck_assert_uint_eq(epoch->tally.examples, 10);
    ck_assert_uint_eq(epoch->took_sum_us, 4000);
    ck_assert_uint_eq(epoch->took_max_us, 3000);
}

TEST_PLAIN(two_epochs_may_be_open_side_by_side)
{
    struct evaluation board;
    evaluation_init(&board, 100000, 0);
    share(&board, 0, 1);
    share(&board, 0, 2);
    ck_assert_uint_eq(share(&board, 1, 1)->tally.examples, 10);
    ck_assert_uint_eq(share(&board, 1, 2)->tally.examples, 10);
    ck_assert_uint_eq(share(&board, 0, 3)->tally.examples, 5); /* In the place of the first. */
}

TEST_PLAIN(every_worker_there_can_be_has_a_place)
{
    struct evaluation board;
    evaluation_init(&board, 100000, 0);
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX; worker++)
        ck_assert_uint_eq(share(&board, worker, 1)->tally.examples, 5 * (worker + 1));
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX; worker++)
        ck_assert_ptr_null(share(&board, worker, 1));
}

static const struct scoring *share_of(struct evaluation *board, uint32_t worker, uint64_t epoch,
                                      uint32_t assignment)
{
    struct message_evaluation message = {
        .epoch = epoch, .step = 10 * epoch, .examples = 5, .assignment = assignment};
    return evaluation_add(board, worker, &message);
}

TEST_PLAIN(an_epoch_is_complete_once_and_stays)
{
    struct evaluation board;
    evaluation_init(&board, 10, 0);
    ck_assert(!share_of(&board, 0, 1, 1)->complete);
    ck_assert_uint_eq(board.scored, 0);
    ck_assert(share_of(&board, 1, 1, 1)->complete);
    ck_assert_uint_eq(board.scored, 1);
    ck_assert_ptr_null(share_of(&board, 2, 1, 1));
    ck_assert_ptr_null(share_of(&board, 0, 1, 2)); /* Another assignment does not open it again. */
}

TEST_PLAIN(a_newer_assignment_starts_an_epoch_anew)
{
    struct evaluation board;
    evaluation_init(&board, 10, 0);
    ck_assert_ptr_nonnull(share_of(&board, 0, 1, 1));
    const struct scoring *anew = share_of(&board, 1, 1, 2);
    ck_assert_uint_eq(anew->tally.examples, 5);
    ck_assert_ptr_null(share_of(&board, 2, 1, 1)); /* Late, of the one before. */
    ck_assert(share_of(&board, 0, 1, 2)->complete);
}

TEST_PLAIN(epochs_scored_in_an_earlier_session_are_not_scored_again)
{
    struct evaluation board;
    evaluation_init(&board, 10, 3);
    ck_assert_ptr_null(share_of(&board, 0, 3, 1));
    ck_assert_ptr_nonnull(share_of(&board, 0, 4, 1));
}

TEST_PLAIN(going_back_forgets_later_epochs_only)
{
    struct evaluation board;
    evaluation_init(&board, 10, 0);
    for (uint64_t epoch = 1; epoch < 4; epoch++)
        for (uint32_t worker = 0; worker < 2; worker++)
            share_of(&board, worker, epoch, 1);
    ck_assert_uint_eq(board.scored, 3);
    evaluation_go_back(&board, 2);
    ck_assert_uint_eq(board.scored, 2);
    ck_assert_ptr_null(share_of(&board, 0, 2, 2));
    ck_assert(!share_of(&board, 0, 3, 2)->complete);
    ck_assert(share_of(&board, 1, 3, 2)->complete);
    evaluation_go_back(&board, 7);
    ck_assert_uint_eq(board.scored, 3);
}

int main(void)
{
    return suite_run("evaluation", NULL);
}
