/* test_batch_set.c - the set of batches that are in, against a plain array. */

#include "ps/shard/batch_set.h"

#include "common/base/random.h"
#include "tests/lib/suite.h"

TEST_PLAIN(a_new_set_has_everything_below_its_mark_and_nothing_else)
{
    struct batch_set set;
    batch_set_init(&set, 1000);
    ck_assert(batch_set_has(&set, 0));
    ck_assert(batch_set_has(&set, 999));
    ck_assert(!batch_set_has(&set, 1000));
    ck_assert(!batch_set_has(&set, UINT64_MAX));
    ck_assert(!batch_set_can_add(&set, 999));
    ck_assert(batch_set_can_add(&set, 1000));
}

TEST_PLAIN(the_window_ends_where_the_header_says)
{
    struct batch_set set;
    batch_set_init(&set, 7);
    ck_assert(batch_set_can_add(&set, 7 + BATCH_SET_WINDOW - 1));
    ck_assert(!batch_set_can_add(&set, 7 + BATCH_SET_WINDOW));
    batch_set_add(&set, 7 + BATCH_SET_WINDOW - 1);
    ck_assert(batch_set_has(&set, 7 + BATCH_SET_WINDOW - 1));
    ck_assert(!batch_set_has(&set, 7 + 2 * BATCH_SET_WINDOW - 1)); /* The same bit, further on. */
    ck_assert(!batch_set_has(&set, 7));
    ck_assert_uint_eq(set.low, 7);
}

TEST_PLAIN(the_mark_moves_over_what_is_in_and_frees_its_bits)
{
    struct batch_set set;
    batch_set_init(&set, 0);
    for (uint64_t batch = 1; batch < BATCH_SET_WINDOW; batch++)
        batch_set_add(&set, batch);
    ck_assert_uint_eq(set.low, 0);
    batch_set_add(&set, 0);
    ck_assert_uint_eq(set.low, BATCH_SET_WINDOW);
    for (unsigned i = 0; i < BATCH_SET_WINDOW / 64; i++)
        ck_assert_uint_eq(set.bits[i], 0);
}

TEST_PLAIN(it_agrees_with_a_plain_array_whatever_the_order)
{
    enum { ALL = 20000 };
    struct batch_set set;
    struct random_sequence sequence;
    static bool in[ALL];
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    batch_set_init(&set, 0);
    uint64_t low = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t batch = low + random_below(&sequence, 600);
        if (batch >= ALL)
            continue;
        ck_assert(batch_set_has(&set, batch) == in[batch]);
        ck_assert(batch_set_can_add(&set, batch) == !in[batch]);
        if (!in[batch]) {
            batch_set_add(&set, batch);
            in[batch] = true;
        }
        while (low < ALL && in[low])
            low++;
        ck_assert_uint_eq(set.low, low);
    }
    ck_assert_uint_gt(low, BATCH_SET_WINDOW * 3); /* It has gone round more than once. */
}

TEST_PLAIN(the_largest_numbers_are_safe)
{
    struct batch_set set;
    batch_set_init(&set, UINT64_MAX - 10);
    ck_assert(batch_set_can_add(&set, UINT64_MAX));
    batch_set_add(&set, UINT64_MAX);
    ck_assert(batch_set_has(&set, UINT64_MAX));
    ck_assert(!batch_set_has(&set, UINT64_MAX - 1));
}

int main(void)
{
    return suite_run("batch_set", NULL);
}
