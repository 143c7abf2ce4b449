/* test_histogram.c - counts, buckets and quantiles, against plain arithmetic. */

#include "common/base/histogram.h"

#include <math.h>

#include "tests/lib/suite.h"

TEST_PLAIN(every_number_has_a_bucket_and_the_buckets_follow_each_other)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        struct histogram histogram = {0};
        histogram_add(&histogram, histogram_least(i));
        histogram_add(&histogram, histogram_most(i));
        ck_assert_uint_eq(histogram.buckets[i], 2);
        ck_assert_uint_eq(histogram_used(&histogram), i + 1);
        ck_assert(i == 0 || histogram_least(i) == histogram_most(i - 1) + 1);
    }
    ck_assert_uint_eq(histogram_most(HISTOGRAM_BUCKETS - 1), UINT64_MAX);
    ck_assert_uint_eq(histogram_most(1023), 1023);
    ck_assert_uint_eq(histogram_most(1024), 2047);
}

TEST_PLAIN(mean_deviation_and_quantiles_are_those_of_what_was_seen)
{
    struct histogram histogram = {0};
    ck_assert(isnan(histogram_mean(&histogram)) && isnan(histogram_deviation(&histogram)));
    for (uint64_t i = 1; i <= 100; i++)
        histogram_add(&histogram, i);
    ck_assert_double_eq(histogram_mean(&histogram), 50.5);
    ck_assert_double_eq_tol(histogram_deviation(&histogram), sqrt(833.25), 1e-9);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 50);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.99), 99);
    ck_assert_uint_eq(histogram_quantile(&histogram, 1), 100);
    ck_assert_uint_eq(histogram.max, 100);
}

TEST_PLAIN(a_quantile_in_a_wide_bucket_is_never_above_what_was_seen)
{
    struct histogram histogram = {0};
    histogram_add(&histogram, 3);
    histogram_add(&histogram, 5000);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.99), 5000);
    histogram_add(&histogram, 9000);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.6), 8191); /* Somewhere in 4096..8191. */
}

TEST_PLAIN(parts_add_up_to_the_whole)
{
    struct histogram whole = {0}, parts[2] = {{0}, {0}};
    for (uint64_t i = 0; i < 3000; i++) {
        histogram_add(&whole, i * 7 % 2500);
        histogram_add(&parts[i % 2], i * 7 % 2500);
    }
    histogram_merge(&parts[0], &parts[1]);
    ck_assert_uint_eq(parts[0].count, whole.count);
    ck_assert_uint_eq(parts[0].sum, whole.sum);
    ck_assert_uint_eq(parts[0].max, whole.max);
    ck_assert_double_eq(parts[0].squares, whole.squares);
    ck_assert_mem_eq(parts[0].buckets, whole.buckets, sizeof whole.buckets);
    ck_assert(histogram_adds_up(&parts[0]));
}

TEST_PLAIN(what_does_not_add_up_is_found)
{
    struct histogram histogram = {0};
    ck_assert(histogram_adds_up(&histogram));
    histogram_add(&histogram, 7);
    ck_assert(histogram_adds_up(&histogram));
    struct histogram spoiled = histogram;
    spoiled.count = 2;
    ck_assert(!histogram_adds_up(&spoiled));
    spoiled = histogram;
    spoiled.buckets[3] = UINT64_MAX; /* With the one in 7 it would wrap to 0. */
    ck_assert(!histogram_adds_up(&spoiled));
    spoiled = histogram;
    spoiled.max = 8;
    ck_assert(!histogram_adds_up(&spoiled));
    spoiled = histogram;
    spoiled.squares = NAN;
    ck_assert(!histogram_adds_up(&spoiled));
}

int main(void)
{
    return suite_run("histogram", NULL);
}
