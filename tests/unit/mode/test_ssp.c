/* test_ssp.c - who is given a batch: clocks, the least of those that count, and who waits for whom. */
/* promises: ssp */

#include "ps/mode/work_mode.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define WORKERS 4
#define STEPS   1000

struct fixture {
    struct job job;
    struct work work;
    uint64_t tickets;
    uint64_t given[STEPS]; /* How often each batch was given to somebody. */
};

static struct member *member_of(struct fixture *f, uint32_t worker)
{
    return &f->work.membership.workers[worker];
}

/* A process takes the place. */
static void join(struct fixture *f, uint32_t worker)
{
    struct member *member = member_of(f, worker);
    member->present = true;
    member->dealt.asks = false;
    member->ticket = ++f->tickets;
}

static void open_fixture(struct fixture *f, uint64_t bound, uint32_t workers)
{
    static const uint8_t secret[HASH_BYTES];
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_SSP, WORKERS, 1);
    f->job.staleness_bound = bound;
    f->job.steps = STEPS;
    ck_assert_int_eq(membership_init(&f->work.membership, 1, WORKERS, secret), STATUS_OK);
    ck_assert_int_eq(work_begin(&f->work, &f->job, 0, &(struct tally_so_far){0}), STATUS_OK);
    for (uint32_t i = 0; i < workers; i++)
        join(f, i);
}

static void close_fixture(struct fixture *f)
{
    work_free(&f->work);
    job_free(&f->job);
}

/* What tests begin with, and how they end: a bound, and so many workers that are here. */
#define TEST(name, bound, workers)                                                                 \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, bound, workers), close_fixture(f))

/* LEASE of a worker: it is given what it may have. How many batches. */
static unsigned ask(struct fixture *f, uint32_t worker)
{
    uint64_t batch;
    unsigned count = 0;
    member_of(f, worker)->dealt.asks = true;
    for (; f->work.rules->ask(&f->work, worker, &batch); count++)
        f->given[batch]++;
    return count;
}

static unsigned held(struct fixture *f, uint32_t worker)
{
    uint64_t batches[WORK_HELD_MAX];
    return f->work.rules->held(&f->work, worker, batches);
}

/* LEASE of a worker that is through with the earliest that it holds, and asks for no more. Whether
 * others may go on. */
static bool finish(struct fixture *f, uint32_t worker)
{
    uint64_t batches[WORK_HELD_MAX];
    ck_assert_uint_gt(f->work.rules->held(&f->work, worker, batches), 0);
    member_of(f, worker)->dealt.asks = true;
    return f->work.rules->finished(&f->work, worker, batches[0]);
}

/* It works until it is given no more; how many batches it was through with. */
static unsigned run(struct fixture *f, uint32_t worker, unsigned most)
{
    unsigned count = 0;
    for (ask(f, worker); count < most && held(f, worker) > 0; count++) {
        finish(f, worker);
        ask(f, worker);
    }
    return count;
}

static void expect_waits(struct fixture *f, uint32_t worker, uint32_t expected)
{
    uint32_t whom = UINT32_MAX;
    ck_assert(f->work.rules->waits_for(&f->work, worker, &whom));
    ck_assert_uint_eq(whom, expected);
}

static bool waits(struct fixture *f, uint32_t worker)
{
    uint32_t whom;
    return f->work.rules->waits_for(&f->work, worker, &whom);
}

static void lose(struct fixture *f, uint32_t worker)
{
    membership_free_place(member_of(f, worker), DEPARTURE_NONE);
    f->work.rules->lost(&f->work, worker);
}

TEST(at_0_each_holds_one_and_waits_for_the_round, 0, 3)
{
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(ask(f, i), 1);
    ck_assert(!finish(f, 0));
    ck_assert_uint_eq(ask(f, 0), 0);
    expect_waits(f, 0, 1);
    ck_assert(!finish(f, 1));
    expect_waits(f, 0, 2);
    ck_assert(finish(f, 2)); /* The round is over: others may go on. */
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(ask(f, i), 1);
}

/* A batch that is held counts: who may be S ahead has S + 1 batches when the slowest has none. */
TEST(a_worker_is_at_most_the_bound_ahead, 3, 2)
{
    ck_assert_uint_eq(ask(f, 1), 2);
    ck_assert_uint_eq(run(f, 0, STEPS), 4);
    expect_waits(f, 0, 1);
    ck_assert(finish(f, 1));
    ck_assert_uint_eq(run(f, 0, STEPS), 1);
    expect_waits(f, 0, 1);
    ck_assert(!waits(f, 1));
}

TEST(a_bound_that_there_is_not_holds_nobody, MODE_UNBOUNDED, 2)
{
    ck_assert_uint_eq(ask(f, 1), 2);
    ck_assert_uint_eq(run(f, 0, STEPS), STEPS - 2);
    ck_assert(!waits(f, 0));
    finish(f, 1);
    ck_assert(!f->work.rules->has_spare(&f->work));
    lose(f, 1);
    ck_assert(f->work.rules->has_spare(&f->work)); /* The other that it held. */
}

TEST(who_has_the_least_is_always_given_a_batch, 0, 3)
{
    for (uint32_t i = 0; i < 3; i++)
        ask(f, i);
    for (unsigned round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 3; i++)
            finish(f, (i + round) % 3);
        for (uint32_t i = 0; i < 3; i++)
            ck_assert_uint_eq(ask(f, i), 1);
    }
}

TEST(who_has_never_asked_holds_nobody_up, 1, 3)
{
    ask(f, 0);
    ask(f, 1);
    ck_assert_uint_eq(run(f, 0, STEPS), 2);
    expect_waits(f, 0, 1); /* Not worker 2, which has finished no more. */
    ck_assert(finish(f, 1));
    ck_assert_uint_eq(run(f, 0, STEPS), 1);
}

TEST(a_worker_that_comes_late_starts_at_the_least, 1, 2)
{
    ask(f, 0);
    ask(f, 1);
    for (unsigned i = 0; i < 10; i++) {
        run(f, 0, 1);
        run(f, 1, 1);
    }
    join(f, 2);
    ck_assert_uint_eq(run(f, 2, STEPS), 2); /* From 10 on, and not from 0 ... */
    expect_waits(f, 2, 0);
    ck_assert_uint_eq(run(f, 0, 1), 1); /* ... so that nobody waits for it to catch up. */
    ck_assert_uint_eq(run(f, 1, 1), 1);
}

TEST(a_successor_starts_at_the_least_too, 2, 2)
{
    ask(f, 1);
    ck_assert_uint_eq(run(f, 0, STEPS), 3);
    lose(f, 0);
    join(f, 0); /* Its predecessor was 3 ahead of worker 1, which has finished none. */
    ck_assert_uint_eq(run(f, 0, STEPS), 3);
    expect_waits(f, 0, 1);
}

/* Else its computations would come behind, in clock, those that had to hold them. */
TEST(who_comes_when_all_are_lost_starts_where_the_furthest_was, 1, 3)
{
    ask(f, 1);
    ck_assert_uint_eq(run(f, 0, STEPS), 2);
    lose(f, 0);
    ck_assert_uint_eq(run(f, 1, 1), 1);
    lose(f, 1);
    for (uint32_t i = 1; i < 3; i++) {
        join(f, i);
        ask(f, i);
        ck_assert_uint_eq(f->work.rules->clock(&f->work, i), 2);
    }
}

TEST(who_is_lost_holds_nobody_up_any_more, 1, 3)
{
    for (uint32_t i = 0; i < 3; i++)
        ask(f, i);
    run(f, 0, STEPS);
    run(f, 1, STEPS);
    expect_waits(f, 0, 2);
    expect_waits(f, 1, 2);
    lose(f, 2);
    ck_assert(f->work.rules->has_spare(&f->work)); /* Others are to be asked. */
    ck_assert(!waits(f, 0));
    ck_assert_uint_gt(ask(f, 0), 0);
    ck_assert_uint_gt(ask(f, 1), 0);
    run(f, 0, STEPS);
    for (unsigned batch = 0; batch < 4; batch++) /* With what it had held. */
        ck_assert_uint_gt(f->given[batch], 0);
}

/* Who is missed is not here, though its place and its batches are kept for it. */
TEST(who_is_missed_holds_nobody_up, 0, 2)
{
    ask(f, 0);
    ask(f, 1);
    finish(f, 0);
    expect_waits(f, 0, 1);
    membership_free_place(member_of(f, 1), DEPARTURE_NONE);
    member_of(f, 1)->missed = true;
    ck_assert_uint_eq(ask(f, 0), 1);
}

TEST(what_is_finished_again_is_not_counted_again, 1, 2)
{
    uint64_t batches[WORK_HELD_MAX];
    ask(f, 0);
    ask(f, 1);
    f->work.rules->held(&f->work, 1, batches);
    ck_assert(!f->work.rules->finished(&f->work, 1, batches[0])); /* Worker 0 has none. */
    for (unsigned i = 0; i < 5; i++)
        ck_assert(!f->work.rules->finished(&f->work, 1, batches[0]));
    ck_assert_uint_eq(ask(f, 1), 0);                              /* 1, and one held. */
    ck_assert(!f->work.rules->finished(&f->work, 0, batches[0])); /* Somebody else's. */
    ck_assert(!f->work.rules->finished(&f->work, 0, 12345));
    ck_assert(finish(f, 0));
    ck_assert_uint_eq(ask(f, 1), 1); /* So worker 1 has finished 1, and not 6. */
}

TEST(going_back_begins_all_clocks_anew, 1, 2)
{
    for (unsigned i = 0; i < 20; i++) {
        run(f, 0, 1);
        run(f, 1, 1);
    }
    run(f, 0, 1);
    f->work.rules->go_back(&f->work, 7, &(struct tally_so_far){0});
    for (uint32_t i = 0; i < 2; i++)
        member_of(f, i)->dealt.asks = false; /* As whoever raises the generation does. */
    ck_assert(!waits(f, 0));
    ck_assert_uint_eq(ask(f, 1), 2);
    ck_assert_uint_eq(run(f, 0, STEPS), 2); /* Both are at 0. */
    expect_waits(f, 0, 1);
    finish(f, 1);
    ck_assert_uint_eq(run(f, 0, STEPS), 1);
}

/* At a gate no later batch is given; behind it the slowest is the first that may go on, and all the
 * others do when it has. */
TEST(at_a_gate_the_bound_keeps_nobody_for_ever, 1, 3)
{
    uint64_t made = 0;
    for (uint64_t gate = 7; gate <= 70; gate += 7) {
        f->work.rules->set_gate(&f->work, gate);
        for (unsigned turn = 0; !f->work.rules->is_at_gate(&f->work); turn++) {
            ck_assert_uint_lt(turn, 100);
            made += run(f, turn % 3, 2); /* Never more than two at a time: worker 2 is slow. */
            if (turn % 3 == 2 && held(f, 2) == 0)
                ask(f, 2);
        }
        ck_assert_uint_eq(made, gate);
    }
}

TEST(at_the_end_everything_is_given_and_all_have_enough, 0, 3)
{
    for (unsigned turn = 0; turn < 2 * STEPS; turn++)
        run(f, turn % 3, 1);
    for (uint64_t batch = 0; batch < STEPS; batch++)
        ck_assert_uint_eq(f->given[batch], 1);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(f->work.rules->is_enough(&f->work, i));
    ck_assert(f->work.rules->is_drained(&f->work));
}

/* Whoever is stopped while others wait for it: they have enough at once, and it when it is through. */
TEST(a_stop_lets_those_who_wait_go, 0, 2)
{
    ask(f, 0);
    ask(f, 1);
    finish(f, 0);
    ck_assert(waits(f, 0));
    ck_assert(f->work.rules->stop(&f->work));
    ck_assert(f->work.rules->is_enough(&f->work, 0));
    ck_assert(!f->work.rules->is_enough(&f->work, 1));
    finish(f, 1);
    ck_assert(f->work.rules->is_enough(&f->work, 1));
    ck_assert(f->work.rules->is_drained(&f->work));
}

/* It is the round that is waited for, not what stands between it and the next one. */
TEST(at_a_gate_and_at_the_end_nobody_waits_for_the_slowest, 0, 2)
{
    f->work.rules->set_gate(&f->work, 2);
    ask(f, 0);
    ask(f, 1);
    finish(f, 0);
    ck_assert(!waits(f, 0));
    f->work.rules->set_gate(&f->work, STEPS);
    expect_waits(f, 0, 1);
    ck_assert(f->work.rules->stop(&f->work));
    ck_assert(!waits(f, 0));
}

TEST(who_has_something_to_compute_waits_for_nobody, 1, 2)
{
    ask(f, 1);
    ck_assert_uint_eq(ask(f, 0), 2); /* As many as it may have. */
    ck_assert(!waits(f, 0));
    finish(f, 0);
    finish(f, 0);
    expect_waits(f, 0, 1);
}

/* Nobody is in the way of who has something to do; who waits for others owes nothing. */
TEST(who_waits_owes_nothing, 0, 2)
{
    ask(f, 0);
    ask(f, 1);
    ck_assert(f->work.rules->owes(&f->work, 0));
    finish(f, 0);
    ck_assert(!f->work.rules->owes(&f->work, 0));
    ck_assert(f->work.rules->owes(&f->work, 1));
}

TEST(there_is_room_for_workers_beyond_those_declared, 1, 2)
{
    const uint32_t many = 3 * WORKERS;
    struct member *workers = realloc(f->work.membership.workers, many * sizeof *workers);
    ck_assert_ptr_nonnull(workers);
    memset(workers + WORKERS, 0, (many - WORKERS) * sizeof *workers);
    f->work.membership.workers = workers;
    f->work.membership.worker_count = many;
    ck_assert_int_eq(f->work.rules->grow(&f->work, many), STATUS_OK);
    run(f, 0, 1);
    run(f, 1, 1);
    join(f, many - 1);
    ck_assert_uint_eq(ask(f, many - 1), 2);
    ck_assert_int_eq(f->work.rules->grow(&f->work, 2), STATUS_OK); /* Never fewer. */
    finish(f, many - 1);
}

TEST(it_says_how_far_apart_they_were_and_how_often_one_waited, 1, 2)
{
    ask(f, 1);
    for (uint64_t times = 1; times <= 3; times++) {
        struct mode_figures figures = {0};
        run(f, 0, STEPS);
        ck_assert_uint_eq(ask(f, 0), 0); /* It waits as before. */
        f->work.rules->figures(&f->work, &figures);
        ck_assert_uint_eq(figures.count, 2);
        ck_assert_uint_eq(figures.figures[0].value, 1);
        ck_assert_uint_eq(figures.figures[1].value, times);
        finish(f, 1);
        ask(f, 1);
    }
}

/* Only here do workers have clocks. */
TEST(clocks_of_other_modes_stand_at_0, 1, 2)
{
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        f->job.mode = mode;
        ck_assert_uint_eq(work_mode_of(&f->job)->clock(&f->work, 0), 0);
    }
}

int main(void)
{
    return suite_run("ssp", NULL);
}
