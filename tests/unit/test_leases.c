#include "ps/leases.h"

#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "tests/lib/suite.h"

static struct leases opened(uint32_t workers, uint64_t first, uint64_t limit)
{
    struct leases leases;
    ck_assert(leases_init(&leases, workers, first, limit) == STATUS_OK);
    return leases;
}

START_TEST(batches_are_given_in_order_two_to_a_worker)
{
    struct leases leases = opened(2, 10, 100);
    uint64_t batch;
    const uint32_t workers[] = {0, 1, 1, 0};
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert(leases_take(&leases, workers[i], &batch));
        ck_assert_uint_eq(batch, 10 + i);
    }
    ck_assert(!leases_take(&leases, 0, &batch));
    ck_assert(!leases_take(&leases, 1, &batch));
    leases_finish(&leases, 1, 12);
    ck_assert(!leases_take(&leases, 0, &batch)); /* The free place is worker 1's. */
    ck_assert(leases_take(&leases, 1, &batch));
    ck_assert_uint_eq(batch, 14);
    leases_free(&leases);
}
END_TEST

START_TEST(a_batch_is_finished_once_and_by_whoever_holds_it)
{
    struct leases leases = opened(2, 0, 100);
    uint64_t batch;
    ck_assert(leases_take(&leases, 0, &batch));
    leases_finish(&leases, 1, 0); /* Not worker 1's. */
    leases_finish(&leases, 0, 5); /* Never given out. */
    leases_finish(&leases, 0, UINT64_MAX);
    ck_assert(!leases_drained(&leases));
    leases_finish(&leases, 0, 0);
    leases_finish(&leases, 0, 0);
    ck_assert(leases_drained(&leases));
    ck_assert(leases_take(&leases, 0, &batch));
    ck_assert(leases_take(&leases, 0, &batch));
    ck_assert(!leases_take(&leases, 0, &batch)); /* Repeats made no more room than there is. */
    leases_free(&leases);
}
END_TEST

START_TEST(nothing_passes_a_gate_until_it_opens)
{
    struct leases leases = opened(1, 0, 100);
    uint64_t batch;
    leases.gate = 2;
    ck_assert(leases_take(&leases, 0, &batch));
    ck_assert(leases_take(&leases, 0, &batch));
    leases_finish(&leases, 0, 1);
    ck_assert(!leases_drained(&leases)); /* Batch 0 is still out. */
    ck_assert(!leases_take(&leases, 0, &batch));
    leases_finish(&leases, 0, 0);
    ck_assert(leases_drained(&leases));
    ck_assert(!leases_take(&leases, 0, &batch));
    ck_assert(!leases_exhausted(&leases));
    leases.gate = 100;
    ck_assert(leases_take(&leases, 0, &batch));
    ck_assert_uint_eq(batch, 2);
    leases_free(&leases);
}
END_TEST

START_TEST(the_limit_is_the_end)
{
    struct leases leases = opened(3, 98, 100);
    uint64_t batch;
    ck_assert(leases_take(&leases, 0, &batch));
    ck_assert(!leases_exhausted(&leases));
    ck_assert(leases_take(&leases, 1, &batch));
    ck_assert(leases_exhausted(&leases));
    ck_assert(!leases_take(&leases, 2, &batch));
    leases_free(&leases);
}
END_TEST

START_TEST(a_stop_lets_what_is_out_finish_and_gives_no_more)
{
    struct leases leases = opened(2, 0, 100);
    uint64_t batch;
    for (int i = 0; i < 3; i++)
        ck_assert(leases_take(&leases, i == 2, &batch));
    leases_stop(&leases);
    ck_assert(leases_exhausted(&leases));
    ck_assert_uint_eq(leases.limit, 3);
    ck_assert(!leases_take(&leases, 1, &batch));
    leases_finish(&leases, 0, 0);
    leases_finish(&leases, 0, 1);
    leases_finish(&leases, 1, 2);
    ck_assert(leases_drained(&leases));
    ck_assert_uint_eq(leases.done.low, 3);
    leases_free(&leases);
}
END_TEST

START_TEST(a_stalled_worker_holds_up_the_others_at_the_window_s_end_and_no_sooner)
{
    struct leases leases = opened(2, 0, 100000);
    uint64_t batch, given = 1;
    ck_assert(leases_take(&leases, 0, &batch)); /* And never finishes it. */
    while (leases_take(&leases, 1, &batch)) {
        leases_finish(&leases, 1, batch);
        given++;
    }
    ck_assert_uint_eq(given, BATCH_SET_WINDOW);
    leases_finish(&leases, 0, 0);
    ck_assert(leases_take(&leases, 1, &batch));
    leases_free(&leases);
}
END_TEST

START_TEST(every_batch_is_given_to_exactly_one_worker)
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
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, batches_are_given_in_order_two_to_a_worker);
    tcase_add_test(t, a_batch_is_finished_once_and_by_whoever_holds_it);
    tcase_add_test(t, nothing_passes_a_gate_until_it_opens);
    tcase_add_test(t, the_limit_is_the_end);
    tcase_add_test(t, a_stop_lets_what_is_out_finish_and_gives_no_more);
    tcase_add_test(t, a_stalled_worker_holds_up_the_others_at_the_window_s_end_and_no_sooner);
    tcase_add_test(t, every_batch_is_given_to_exactly_one_worker);
}

int main(void)
{
    return suite_run("leases", add);
}
