/* test_leaf_times.c - every time lies in its bucket, and no bucket is wider than a sixteenth. */
/* promises: trace-times */

#include "common/base/leaf_times.h"

#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(a_time_lies_in_its_bucket_and_a_bucket_is_narrow)
{
    ck_assert_uint_eq(leaf_times_least(0), 1024);
    for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++) {
        uint64_t least = leaf_times_least(i), next = leaf_times_least(i + 1);
        ck_assert_uint_lt(least, next);
        ck_assert_uint_le(16 * (next - least), least);
        ck_assert_uint_eq(leaf_times_bucket(least), i);
        ck_assert_uint_eq(leaf_times_bucket(next - 1), i);
    }
}

TEST_PLAIN(what_is_shorter_or_longer_than_all_counts_at_the_end)
{
    struct leaf_times times;
    memset(&times, 0, sizeof times);
    leaf_times_add(&times, 0);
    leaf_times_add(&times, 1023);
    leaf_times_add(&times, UINT64_MAX);
    leaf_times_add(&times, 30000000);
    ck_assert_uint_eq(times.counts[0], 2);
    ck_assert_uint_eq(times.counts[LEAF_TIMES_BUCKETS - 1], 1);
    ck_assert_uint_eq(times.counts[leaf_times_bucket(30000000)], 1);
    ck_assert_uint_eq(leaf_times_count(&times), 4);
    times.counts[0] = UINT32_MAX;
    leaf_times_add(&times, 1);
    ck_assert_uint_eq(times.counts[0], UINT32_MAX);
}

int main(void)
{
    return suite_run("leaf_times", NULL);
}
