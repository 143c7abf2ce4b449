/* test_leases.c - batches on lease: each to one worker, in order, up to the gate, and again when
 * its worker is gone. */
/* promises: server-lost */

#include "ps/work/leases.h"

#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

static struct leases opened(uint32_t workers, uint64_t first, uint64_t limit)
{
    struct leases leases;
    ck_assert(leases_init(&leases, workers, first, limit) == STATUS_OK);
    return leases;
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct leases, leases, *leases = opened(__VA_ARGS__), leases_free(leases))

TEST(batches_are_given_in_order_two_to_a_worker, 2, 10, 100)
{
    uint64_t batch;
    const uint32_t workers[] = {0, 1, 1, 0};
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert(leases_take(leases, workers[i], &batch));
        ck_assert_uint_eq(batch, 10 + i);
    }
    ck_assert(!leases_take(leases, 0, &batch));
    ck_assert(!leases_take(leases, 1, &batch));
    leases_finish(leases, 1, 12);
    ck_assert(!leases_take(leases, 0, &batch)); /* The free place is worker 1's. */
    ck_assert(leases_take(leases, 1, &batch));
    ck_assert_uint_eq(batch, 14);
}

TEST(a_batch_is_finished_once_and_by_whoever_holds_it, 2, 0, 100)
{
    uint64_t batch;
    ck_assert(leases_take(leases, 0, &batch));
    leases_finish(leases, 1, 0); /* Not worker 1's. */
    leases_finish(leases, 0, 5); /* Never given out. */
    leases_finish(leases, 0, UINT64_MAX);
    ck_assert(!leases_drained(leases));
    leases_finish(leases, 0, 0);
    leases_finish(leases, 0, 0);
    ck_assert(leases_drained(leases));
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(!leases_take(leases, 0, &batch)); /* Repeats made no more room than there is. */
}

TEST(nothing_passes_a_gate_until_it_opens, 1, 0, 100)
{
    uint64_t batch;
    leases->gate = 2;
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(leases_take(leases, 0, &batch));
    leases_finish(leases, 0, 1);
    ck_assert(!leases_drained(leases)); /* Batch 0 is still out. */
    ck_assert(!leases_take(leases, 0, &batch));
    leases_finish(leases, 0, 0);
    ck_assert(leases_drained(leases));
    ck_assert(!leases_take(leases, 0, &batch));
    ck_assert(!leases_exhausted(leases));
    leases->gate = 100;
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert_uint_eq(batch, 2);
}

TEST(the_limit_is_the_end, 3, 98, 100)
{
    uint64_t batch;
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(!leases_exhausted(leases));
    ck_assert(leases_take(leases, 1, &batch));
    ck_assert(leases_exhausted(leases));
    ck_assert(!leases_take(leases, 2, &batch));
}

TEST(a_stop_lets_what_is_out_finish_and_gives_no_more, 2, 0, 100)
{
    uint64_t batch;
    for (int i = 0; i < 3; i++)
        ck_assert(leases_take(leases, i == 2, &batch));
    leases_stop(leases);
    ck_assert(leases_exhausted(leases));
    ck_assert_uint_eq(leases->limit, 3);
    ck_assert(!leases_take(leases, 1, &batch));
    leases_finish(leases, 0, 0);
    leases_finish(leases, 0, 1);
    leases_finish(leases, 1, 2);
    ck_assert(leases_drained(leases));
    ck_assert_uint_eq(leases->done.low, 3);
}

TEST(a_stalled_worker_holds_up_the_others_at_the_window_s_end_and_no_sooner, 2, 0, 100000)
{
    uint64_t batch, given = 1;
    ck_assert(leases_take(leases, 0, &batch)); /* And never finishes it. */
    while (leases_take(leases, 1, &batch)) {
        leases_finish(leases, 1, batch);
        given++;
    }
    ck_assert_uint_eq(given, BATCH_SET_WINDOW);
    leases_finish(leases, 0, 0);
    ck_assert(leases_take(leases, 1, &batch));
}

TEST_PLAIN(every_batch_is_given_to_exactly_one_worker)
{
    enum { WORKERS = 5, BATCHES = 5000 };
    struct leases leases = opened(WORKERS, 0, BATCHES);
    struct random_sequence sequence;
    static uint32_t given[BATCHES];
    random_sequence_init(&sequence, 2, RANDOM_STREAM_PROBE, 0);
    while (!leases_exhausted(&leases) || !leases_drained(&leases)) {
        uint32_t worker = random_below(&sequence, WORKERS);
        uint64_t batch;
        if (random_below(&sequence, 2) == 0) {
            if (leases_take(&leases, worker, &batch))
                given[batch]++;
        } else {
            leases_finish(&leases, worker,
                          leases.held[worker][random_below(&sequence, LEASES_A_WORKER)]);
        }
    }
    for (uint32_t i = 0; i < BATCHES; i++)
        ck_assert_uint_eq(given[i], 1);
    leases_free(&leases);
}

TEST(what_a_lost_worker_had_is_given_to_others_first_and_in_order, 3, 0, 100)
{
    uint64_t batch, batches[LEASES_A_WORKER];
    for (int i = 0; i < 4; i++)
        ck_assert(leases_take(leases, i < 2 ? 0 : 1, &batch));
    leases_finish(leases, 0, 0);
    ck_assert(leases_take(leases, 0, &batch)); /* 4. */
    ck_assert_uint_eq(leases_held(leases, 0, batches), 2);
    ck_assert(batches[0] == 1 && batches[1] == 4);
    leases_return(leases, 0);
    leases_return(leases, 0);
    leases_return(leases, 1);
    ck_assert_uint_eq(leases_held(leases, 0, batches), 0);
    leases->gate = 5; /* They are before every gate. */
    for (uint64_t i = 1; i <= 4; i++) {
        ck_assert(leases_take(leases, 2, &batch));
        ck_assert_uint_eq(batch, i);
        ck_assert(!leases_exhausted(leases));
        leases_finish(leases, 2, batch);
    }
    ck_assert(leases_drained(leases));
    ck_assert(!leases_take(leases, 2, &batch));
}

TEST(nothing_is_exhausted_while_something_was_given_back, 2, 0, 2)
{
    uint64_t batch;
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(leases_exhausted(leases));
    leases_return(leases, 0);
    ck_assert(!leases_exhausted(leases));
    ck_assert(leases_take(leases, 1, &batch));
    ck_assert(leases_take(leases, 1, &batch));
    ck_assert(leases_exhausted(leases));
}

TEST(going_back_gives_everything_again_as_if_it_had_never_been, 2, 0, 100)
{
    uint64_t batch;
    for (int i = 0; i < 4; i++)
        ck_assert(leases_take(leases, (uint32_t)i / 2, &batch));
    leases_finish(leases, 0, 0);
    leases_finish(leases, 1, 3);
    leases_return(leases, 0); /* Batch 1. */
    leases_go_back(leases, 0);
    ck_assert(leases_drained(leases)); /* Nothing is out. */
    ck_assert(leases_idle(leases, 1));
    for (uint64_t i = 0; i < 4; i++) {
        leases->gate = i + 1; /* One may be anywhere. */
        ck_assert(leases_take(leases, 0, &batch));
        ck_assert_uint_eq(batch, i);
        ck_assert(!leases_take(leases, 1, &batch));
        leases_finish(leases, 0, i);
        ck_assert(leases_drained(leases));
    }
    leases_go_back(leases, 2); /* Once more, not so far. */
    ck_assert(leases_take(leases, 1, &batch));
    ck_assert_uint_eq(batch, 2);
}

TEST(a_stop_after_going_back_ends_where_that_was, 2, 0, 100)
{
    uint64_t batch;
    for (int i = 0; i < 4; i++)
        ck_assert(leases_take(leases, (uint32_t)i / 2, &batch));
    leases_stop(leases);
    ck_assert_uint_eq(leases->limit, 4);
    leases_go_back(leases, 2);
    leases_stop(leases);
    ck_assert_uint_eq(leases->limit, 2);
    ck_assert(leases_exhausted(leases) && leases_drained(leases));
}

TEST(room_is_made_for_workers_that_join_later, 1, 0, 100)
{
    uint64_t batch;
    ck_assert(leases_take(leases, 0, &batch));
    ck_assert(leases_grow(leases, 40) == STATUS_OK);
    ck_assert(leases_grow(leases, 3) == STATUS_OK);
    ck_assert_uint_eq(leases->worker_count, 40);
    ck_assert(leases_idle(leases, 39));
    ck_assert(leases_take(leases, 39, &batch));
    ck_assert_uint_eq(batch, 1);
    ck_assert(!leases_idle(leases, 0));
}

TEST_PLAIN(every_batch_gets_done_whatever_is_lost_on_the_way)
{
    enum { WORKERS = 5, BATCHES = 2000 };
    struct leases leases = opened(WORKERS, 0, BATCHES);
    struct random_sequence sequence;
    static bool done[BATCHES];
    random_sequence_init(&sequence, 3, RANDOM_STREAM_PROBE, 0);
    while (!leases_exhausted(&leases) || !leases_drained(&leases)) {
        uint32_t worker = random_below(&sequence, WORKERS);
        uint64_t batch, held[LEASES_A_WORKER];
        uint32_t chance = random_below(&sequence, 200);
        if (chance == 0) {
            uint64_t first = leases.done.low < 20 ? 0 : leases.done.low - 20;
            leases_go_back(&leases, first);
            memset(done + first, 0, BATCHES - first);
        } else if (chance < 10) {
            leases_return(&leases, worker);
        } else if (chance < 100) {
            leases_take(&leases, worker, &batch);
        } else if (leases_held(&leases, worker, held) > 0) {
            leases_finish(&leases, worker, held[0]);
            done[held[0]] = true;
        }
    }
    for (uint32_t i = 0; i < BATCHES; i++)
        ck_assert(done[i]);
    leases_free(&leases);
}

int main(void)
{
    return suite_run("leases", NULL);
}
