
#include "common/base/random.h"
#include "tests/lib/suite.h"

/* The answers published with Random123 (tests/kat_vectors, philox4x32 10). */
static const struct {
    uint32_t counter[4], key[2], out[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST_PLAIN(philox_gives_its_published_answers)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        philox4x32(known[i].counter, known[i].key, out);
        for (int word = 0; word < 4; word++)
            ck_assert_uint_eq(out[word], known[i].out[word]);
    }
}

TEST_PLAIN(a_block_is_philox_of_seed_stream_sub_and_counter)
{
    const uint32_t counter[4] = {0x55667788, 0x11223344, 7, RANDOM_STREAM_ORDER};
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    uint32_t expected[4], out[4];
    philox4x32(counter, key, expected);
    random_block(UINT64_C(0x0123456789abcdef), RANDOM_STREAM_ORDER, 7, UINT64_C(0x1122334455667788),
                 out);
    ck_assert_mem_eq(out, expected, sizeof out);
}

TEST_PLAIN(whatever_names_a_block_changes_it)
{
    uint32_t base[4], other[4];
    random_block(1, RANDOM_STREAM_ORDER, 2, 3, base);
    random_block(2, RANDOM_STREAM_ORDER, 2, 3, other);
    ck_assert_mem_ne(base, other, sizeof base);
    random_block(1, RANDOM_STREAM_PROBE, 2, 3, other);
    ck_assert_mem_ne(base, other, sizeof base);
    random_block(1, RANDOM_STREAM_ORDER, 1, 3, other);
    ck_assert_mem_ne(base, other, sizeof base);
    random_block(1, RANDOM_STREAM_ORDER, 2, 4, other);
    ck_assert_mem_ne(base, other, sizeof base);
}

TEST_PLAIN(a_sequence_is_its_blocks_one_after_the_other)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 42, RANDOM_STREAM_SIMULATOR, 9);
    for (uint64_t counter = 0; counter < 100; counter++) {
        uint32_t block[4];
        random_block(42, RANDOM_STREAM_SIMULATOR, 9, counter, block);
        for (int word = 0; word < 4; word++)
            ck_assert_uint_eq(random_next(&sequence), block[word]);
    }
}

TEST_PLAIN(unit_floats_are_from_0_to_just_below_1)
{
    ck_assert(random_unit_float(0) == 0.0f);
    ck_assert(random_unit_float(0xff) == 0.0f);
    ck_assert(random_unit_float(0x80000000u) == 0.5f);
    ck_assert(random_unit_float(UINT32_MAX) == 1.0f - 0x1p-24f);
}

TEST_PLAIN(numbers_below_a_bound_reach_every_value_equally_often)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    enum { BOUND = 7, DRAWS = 70000 };
    uint32_t counts[BOUND] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint32_t number = random_below(&sequence, BOUND);
        ck_assert_uint_lt(number, BOUND);
        counts[number]++;
    }
    /* 10000 each, standard deviation 93. */
    for (int i = 0; i < BOUND; i++) {
        ck_assert_uint_gt(counts[i], 9500);
        ck_assert_uint_lt(counts[i], 10500);
    }
}

TEST_PLAIN(a_large_bound_is_not_biased_towards_small_numbers)
{
    /* number % bound without rejection would be below 2^30 with probability 1/2, not 1/3. */
    struct random_sequence sequence;
    random_sequence_init(&sequence, 2, RANDOM_STREAM_PROBE, 0);
    uint32_t low = 0;
    for (int i = 0; i < 30000; i++)
        low += random_below(&sequence, 3u << 30) < 1u << 30;
    ck_assert_uint_gt(low, 9500);
    ck_assert_uint_lt(low, 10500);
}

TEST_PLAIN(the_smallest_and_largest_bounds_work)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 3, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(random_below(&sequence, 1), 0);
        ck_assert_uint_lt(random_below(&sequence, UINT32_MAX), UINT32_MAX);
    }
}

int main(void)
{
    return suite_run("random", NULL);
}
