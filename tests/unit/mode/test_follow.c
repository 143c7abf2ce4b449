/* test_follow.c - what a worker computes from in ssp: values that are new enough for the batch. The
 * session's part is played by the test: it pulls, computes and exchanges as it is told. */
/* promises: ssp */

#include "worker/mode/follow_mode.h"

#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct fixture {
    struct job job;
    struct follow follow;
    struct envelope envelope;
    struct post post;
    uint64_t now_us, step;
};

static void open_fixture(struct fixture *f, enum mode mode, uint64_t bound)
{
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 1);
    f->job.staleness_bound = bound;
    f->job.steps = 1000;
    f->now_us = 1000000;
    ck_assert_int_eq(follow_init(&f->follow, &f->job, 1), STATUS_OK);
    f->follow.rules->begin(&f->follow, &f->envelope);
}

static void close_fixture(struct fixture *f)
{
    follow_free(&f->follow);
    post_free(&f->post);
    job_free(&f->job);
}

/* What tests begin with, and how they end: all parameters are here, and no work. */
#define TEST(name, mode, bound)                                                                    \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, mode, bound), close_fixture(f))

static void work(struct fixture *f, uint64_t batch)
{
    struct message message = {.kind = MESSAGE_WORK, .work.batch = batch};
    f->follow.rules->work(&f->follow, &f->envelope, &message, f->now_us);
}

static void enough(struct fixture *f, uint64_t end)
{
    struct message message = {.kind = MESSAGE_WORK, .work = {.enough = true, .batch = end}};
    f->follow.rules->work(&f->follow, &f->envelope, &message, f->now_us);
}

static enum next next(struct fixture *f)
{
    return f->follow.rules->next(&f->follow, &f->step);
}

/* The session has known it before. */
static void expect_compute(struct fixture *f, uint64_t batch)
{
    uint64_t expected;
    ck_assert(f->follow.rules->expects(&f->follow, &expected));
    ck_assert_uint_eq(expected, batch);
    ck_assert_int_eq(next(f), NEXT_COMPUTE);
    ck_assert_uint_eq(f->step, batch);
}

/* The gradient leaves, and asks for new values. */
static void leave(struct fixture *f)
{
    struct message_exchange what = {.want = true};
    f->follow.rules->push(&f->follow, &what);
}

/* Every chunk has answered. */
static void complete(struct fixture *f)
{
    f->follow.rules->complete(&f->follow, 0, &f->envelope);
    post_clear(&f->post);
}

/* The first batch; what its exchange brings is new enough for what is given meanwhile. */
static void begin_with(struct fixture *f, uint64_t batch)
{
    work(f, batch);
    ck_assert_int_eq(next(f), NEXT_PULL);
    expect_compute(f, batch);
}

TEST(work_in_time_needs_no_pull, MODE_SSP, 1)
{
    begin_with(f, 0);
    for (uint64_t batch = 1; batch < 50; batch++) {
        work(f, batch);
        leave(f);
        complete(f);
        expect_compute(f, batch);
    }
}

TEST(work_that_came_after_the_exchange_had_left_pulls_first, MODE_SSP, 1)
{
    begin_with(f, 0);
    leave(f);
    work(f, 1);
    complete(f);
    ck_assert_int_eq(next(f), NEXT_PULL);
    expect_compute(f, 1); /* Once. */
    leave(f);
    complete(f);
    ck_assert_int_eq(next(f), NEXT_WAIT);
    work(f, 2);
    ck_assert_int_eq(next(f), NEXT_PULL);
    expect_compute(f, 2);
}

/* At 0 a batch is given when all others have answered for theirs: always after the exchange. */
TEST(at_0_every_batch_is_pulled_for, MODE_SSP, 0)
{
    unsigned pulls = 0;
    for (uint64_t batch = 0; batch < 20; batch++) {
        work(f, batch);
        ck_assert_int_eq(next(f), NEXT_PULL);
        pulls++;
        expect_compute(f, batch);
        leave(f);
        complete(f);
        ck_assert_int_eq(next(f), NEXT_WAIT);
    }
    ck_assert_uint_eq(pulls, 20);
}

/* As the draws of its times need it; the next batch, and one that comes again for another reason, have
 * had none. */
TEST(refusals_are_counted_of_the_batch_to_be_computed, MODE_ASYNC, 0)
{
    f->job.max_staleness = 1;
    work(f, 0);
    work(f, 1);
    for (uint32_t refusals = 0; refusals < 3; refusals++) {
        expect_compute(f, 0);
        ck_assert_uint_eq(f->follow.refusals, refusals);
        f->follow.refused = refusals < 2;
        leave(f);
        complete(f);
    }
    expect_compute(f, 1);
    ck_assert_uint_eq(f->follow.refusals, 0);
    f->follow.refused = true;
    complete(f);
    ck_assert_uint_eq(f->follow.refusals, 1);
    f->follow.rules->forget(&f->follow);
    ck_assert_uint_eq(f->follow.refusals, 0);
}

/* A part of a gradient that leaves is not the exchange: the last one asks for values. */
TEST(a_node_that_asks_for_nothing_is_not_the_exchange, MODE_SSP, 1)
{
    struct message_exchange part = {.want = false};
    begin_with(f, 0);
    f->follow.rules->push(&f->follow, &part);
    work(f, 1);
    leave(f);
    complete(f);
    expect_compute(f, 1);
}

TEST(one_batch_that_came_late_is_enough_to_pull, MODE_SSP, 3)
{
    begin_with(f, 0);
    work(f, 1); /* In time, */
    leave(f);
    work(f, 2); /* and late. */
    complete(f);
    ck_assert_int_eq(next(f), NEXT_PULL);
    expect_compute(f, 1);
    leave(f);
    complete(f);
    expect_compute(f, 2); /* From what batch 1's exchange brought, which left later still. */
}

TEST(what_is_said_again_is_not_late, MODE_SSP, 1)
{
    begin_with(f, 0);
    work(f, 1);
    leave(f);
    work(f, 0); /* Repeats, of what is computed, */
    work(f, 1); /* and of what is held. */
    complete(f);
    expect_compute(f, 1);
    leave(f);
    complete(f);
    work(f, 1); /* Done already. */
    ck_assert_int_eq(next(f), NEXT_WAIT);
}

TEST(after_a_new_start_the_newest_are_pulled, MODE_SSP, 1)
{
    begin_with(f, 0);
    work(f, 1);
    f->follow.rules->forget(&f->follow);
    ck_assert_int_eq(next(f), NEXT_WAIT); /* What was held is not any more ... */
    work(f, 1); /* ... and given anew it is for values of this generation. */
    ck_assert_int_eq(next(f), NEXT_PULL);
    expect_compute(f, 1);
}

TEST(the_end_needs_no_pull, MODE_SSP, 0)
{
    begin_with(f, 0);
    leave(f);
    complete(f);
    ck_assert_int_eq(next(f), NEXT_WAIT);
    enough(f, 1);
    ck_assert_int_eq(next(f), NEXT_ENOUGH);
    ck_assert_uint_eq(f->step, 1);
}

/* Where nobody waits for anybody there is nothing that values could lack. */
static void never_pulls(struct fixture *f)
{
    work(f, 0);
    expect_compute(f, 0);
    for (uint64_t batch = 1; batch < 20; batch++) {
        leave(f);
        if (batch % 2 == 0)
            work(f, batch);
        complete(f);
        if (batch % 2 != 0) {
            ck_assert_int_eq(next(f), NEXT_WAIT);
            work(f, batch);
        }
        expect_compute(f, batch);
    }
}

TEST(without_a_bound_nothing_is_pulled_for, MODE_SSP, MODE_UNBOUNDED)
{
    never_pulls(f);
}

TEST(in_async_nothing_is_pulled_for, MODE_ASYNC, 0)
{
    never_pulls(f);
}

/* START has the sets of steps 0 and 1: step 2 may need this worker. */
TEST(a_late_worker_leaves_out_two_steps_of_a_set_that_it_was_not_told, MODE_BACKUP, 0)
{
    uint64_t needed = 2, version = 3;
    f->follow.closed_end = 2;
    ck_assert(f->follow.rules->catch_up(&f->follow, 2, &needed));
    ck_assert(f->follow.rules->catch_up(&f->follow, 2, &version));
    ck_assert_uint_eq(needed, 2);
    ck_assert_uint_eq(version, 5);
}

int main(void)
{
    return suite_run("follow", NULL);
}
