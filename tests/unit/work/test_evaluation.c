/* test_evaluation.c - which score is under way, who has which share of it, and what comes in. */

#include "ps/work/evaluation.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Epochs of 3 batches; the job ends with its second, after 6. */
struct fixture {
    struct job job;
    struct evaluation board;
};

static void open_fixture(struct fixture *f)
{
    f->job = small_job(MODE_ASYNC, 2, 1);
    f->job.test_examples = 10;
    evaluation_init(&f->board, &f->job, 0);
}

static void close_fixture(struct fixture *f)
{
    job_free(&f->job);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static uint32_t dealt(struct fixture *f, uint32_t worker)
{
    struct message_work work;
    ck_assert(evaluation_deal(&f->board, worker, &work));
    ck_assert_uint_eq(work.scored, f->board.batches);
    ck_assert_uint_eq(work.shares, f->board.shares);
    evaluation_check(&f->board);
    return work.share;
}

static bool is_dealt(struct fixture *f, uint32_t worker)
{
    struct message_work work;
    return evaluation_deal(&f->board, worker, &work);
}

static bool came(struct fixture *f, uint32_t share, int64_t loss)
{
    struct message_evaluation message = {.step = f->board.batches,
                                         .share = share,
                                         .shares = f->board.shares,
                                         .loss = loss,
                                         .correct = 3,
                                         .examples = 5,
                                         .took_us = 1000 * (share + 1)};
    return evaluation_add(&f->board, &message);
}

TEST(shares_add_up_and_each_counts_once)
{
    ck_assert(evaluation_open(&f->board, 3, 2));
    ck_assert(!evaluation_open(&f->board, 3, 2)); /* It is under way. */
    ck_assert_uint_eq(dealt(f, 7), 0);
    ck_assert_uint_eq(dealt(f, 4), 1);
    ck_assert(came(f, 1, 100));
    ck_assert(!came(f, 1, 100));
    ck_assert(!evaluation_is_whole(&f->board) && evaluation_holds(&f->board, 7));
    ck_assert(came(f, 0, 11));
    ck_assert(evaluation_is_whole(&f->board) && !evaluation_holds(&f->board, 7));
    ck_assert_int_eq(f->board.tally.loss, 111);
    ck_assert_uint_eq(f->board.tally.correct, 6);
    ck_assert_uint_eq(f->board.tally.examples, 10);
    ck_assert_uint_eq(f->board.took_sum_us, 3000);
    ck_assert_uint_eq(f->board.took_max_us, 2000);
    evaluation_settle(&f->board);
    evaluation_check(&f->board);
    ck_assert(!evaluation_open(&f->board, 3, 2)); /* Once and for all. */
    ck_assert(evaluation_open(&f->board, 6, 2));
}

TEST(a_worker_has_one_share_at_a_time_and_hears_of_it_again)
{
    evaluation_open(&f->board, 3, 2);
    ck_assert_uint_eq(dealt(f, 0), 0);
    ck_assert_uint_eq(dealt(f, 0), 0);
    ck_assert_uint_eq(dealt(f, 1), 1);
    ck_assert(!is_dealt(f, 2));
}

TEST(the_share_of_who_is_gone_is_for_another)
{
    evaluation_open(&f->board, 3, 2);
    dealt(f, 0);
    dealt(f, 1);
    evaluation_lost(&f->board, 0);
    ck_assert(came(f, 1, 0));
    ck_assert_uint_eq(dealt(f, 1), 0);
    ck_assert(came(f, 0, 0)); /* From the one or the other: the numbers are the same. */
    ck_assert(evaluation_is_whole(&f->board));
}

TEST(there_are_no_more_shares_than_examples)
{
    f->job.test_examples = 3;
    evaluation_open(&f->board, 3, 8);
    ck_assert_uint_eq(f->board.shares, 3);
    for (uint32_t i = 0; i < 8; i++)
        ck_assert(is_dealt(f, i) == (i < 3));
}

TEST(there_are_no_more_shares_than_pieces)
{
    f->job.score_piece = 4; /* 4, 4 and 2 examples. */
    evaluation_open(&f->board, 3, 8);
    ck_assert_uint_eq(f->board.shares, 3);
}

TEST(every_worker_there_can_be_has_a_share)
{
    f->job.test_examples = 100000;
    evaluation_open(&f->board, 3, JOB_WORKERS_MAX);
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++) {
        struct message_work work;
        ck_assert(evaluation_deal(&f->board, i, &work));
        ck_assert_uint_eq(work.share, i);
    }
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++)
        ck_assert(came(f, i, 1));
    ck_assert(evaluation_is_whole(&f->board));
    ck_assert_int_eq(f->board.tally.loss, JOB_WORKERS_MAX);
}

TEST(what_the_next_count_is_passed_before_is_dropped_and_counted)
{
    f->job.steps = 20;
    evaluation_open(&f->board, 3, 2);
    dealt(f, 0);
    ck_assert(came(f, 0, 1));
    evaluation_pass(&f->board, 3, false); /* Where it is. */
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 0);
    evaluation_pass(&f->board, 6, false);
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 1);
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 0);
    ck_assert(f->board.batches == 0 && !came(f, 1, 1));
    evaluation_pass(&f->board, 15, false); /* 6, 9 and 12. */
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 3);
    evaluation_pass(&f->board, 18, true); /* 15, and 18 for want of memory. */
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 2);
    ck_assert(!evaluation_open(&f->board, 18, 2));
    evaluation_pass(&f->board, 20, false);
    ck_assert_uint_eq(evaluation_take_dropped(&f->board), 0);
    ck_assert(evaluation_open(&f->board, 20, 2)); /* The end, within an epoch. */
}

TEST(scores_made_in_an_earlier_session_are_not_made_again)
{
    evaluation_init(&f->board, &f->job, 3);
    ck_assert(!evaluation_open(&f->board, 3, 2));
    ck_assert(evaluation_open(&f->board, 6, 2));
}

TEST(going_back_forgets_the_score_under_way_and_later_ones)
{
    evaluation_open(&f->board, 3, 1);
    dealt(f, 0);
    came(f, 0, 1);
    evaluation_settle(&f->board);
    evaluation_open(&f->board, 6, 2);
    dealt(f, 0);
    evaluation_go_back(&f->board, 3);
    ck_assert(f->board.batches == 0 && f->board.settled == 3);
    ck_assert(evaluation_open(&f->board, 6, 2));
    ck_assert_uint_eq(f->board.share_count, 0);
    evaluation_go_back(&f->board, 0);
    ck_assert(evaluation_open(&f->board, 3, 2)); /* Made again when it is passed again. */
    evaluation_go_back(&f->board, 5); /* The score under way was of chunks that are gone. */
    ck_assert_uint_eq(f->board.settled, 0);
}

TEST(the_score_of_the_end_is_waited_for_and_any_that_is_under_way)
{
    ck_assert(evaluation_is_awaited(&f->board, 6));
    ck_assert(!evaluation_is_awaited(&f->board, 5)); /* Stopped within an epoch. */
    evaluation_open(&f->board, 3, 1);
    ck_assert(evaluation_is_awaited(&f->board, 5));
    evaluation_settle(&f->board);
    ck_assert(!evaluation_is_awaited(&f->board, 5) && evaluation_is_awaited(&f->board, 6));
    evaluation_pass(&f->board, 6, true);
    ck_assert(!evaluation_is_awaited(&f->board, 6));
    f->job.test_examples = 0;
    evaluation_init(&f->board, &f->job, 0);
    ck_assert(!evaluation_is_awaited(&f->board, 6));
}

int main(void)
{
    return suite_run("evaluation", NULL);
}
