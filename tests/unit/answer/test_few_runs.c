/* test_few_runs.c - Student's t against printed tables, and what is said of few runs against numbers
 * worked out by hand. */

#include "deploy/answer/statistics.h"

#include <math.h>

#include "tests/lib/suite.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Abramowitz and Stegun, table 26.10 (and any other), in its three decimals. */
TEST_PLAIN(t_is_that_of_the_printed_tables)
{
    static const struct {
        unsigned freedom;
        double part, t;
    } rows[] = {
        {1, 0.9, 3.078},    {1, 0.95, 6.314},   {1, 0.975, 12.706},   {1, 0.995, 63.657},
        {2, 0.95, 2.920},   {2, 0.975, 4.303},  {2, 0.995, 9.925},    {3, 0.975, 3.182},
        {4, 0.95, 2.132},   {4, 0.975, 2.776},  {4, 0.995, 4.604},    {5, 0.975, 2.571},
        {6, 0.975, 2.447},  {9, 0.95, 1.833},   {9, 0.975, 2.262},    {10, 0.975, 2.228},
        {19, 0.975, 2.093}, {30, 0.975, 2.042}, {60, 0.975, 2.000},   {120, 0.975, 1.980},
        {4, 0.8, 0.941},    {9, 0.75, 0.703},   {1000, 0.975, 1.962},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_double_eq_tol(statistics_t_quantile(rows[i].part, rows[i].freedom), rows[i].t,
                                5.1e-4);
        ck_assert_double_eq_tol(statistics_t_part(rows[i].t, rows[i].freedom), rows[i].part, 1e-4);
        ck_assert_double_eq(statistics_t_quantile(1 - rows[i].part, rows[i].freedom),
                            -statistics_t_quantile(rows[i].part, rows[i].freedom));
    }
    ck_assert_double_eq(statistics_t_part(0, 7), 0.5);
    ck_assert_double_eq_tol(statistics_t_part(1, 1), 0.75, 1e-15); /* Cauchy's. */
    ck_assert_double_eq_tol(statistics_t_part(sqrt(2), 2), 0.5 + sqrt(0.125), 1e-15);
}

/* 2, 4, 9: mean 5, squares 9 + 1 + 16 = 26, deviation sqrt(13), half 4.302653 sqrt(13 / 3). */
TEST_PLAIN(an_interval_is_of_three_runs_at_least)
{
    static const double values[] = {2, 4, 9};
    struct estimate estimate = statistics_mean(values, 3);
    ck_assert_uint_eq(estimate.count, 3);
    ck_assert_double_eq(estimate.value, 5);
    ck_assert_double_eq_tol(estimate.deviation, sqrt(13), 1e-12);
    ck_assert_double_eq_tol(estimate.low, 5 - 8.956686, 1e-5);
    ck_assert_double_eq_tol(estimate.high, 5 + 8.956686, 1e-5);
    for (size_t count = 0; count < 3; count++) {
        estimate = statistics_mean(values, count);
        ck_assert_uint_eq(estimate.count, count);
        ck_assert(count == 0 ? isnan(estimate.value) : isfinite(estimate.value));
        ck_assert(isnan(estimate.deviation) && isnan(estimate.low) && isnan(estimate.high));
    }
}

TEST_PLAIN(what_was_not_recorded_takes_no_part)
{
    static const double values[] = {2, NAN, 4, 9, NAN}, others[] = {1, 1, 1, NAN, NAN};
    struct estimate estimate = statistics_mean(values, 5);
    ck_assert_uint_eq(estimate.count, 3);
    ck_assert_double_eq(estimate.value, 5);
    ck_assert_double_eq_tol(estimate.deviation, sqrt(13), 1e-12);
    estimate = statistics_difference(values, others, 5);
    ck_assert_uint_eq(estimate.count, 2);
    ck_assert_double_eq(estimate.value, 2);
    ck_assert(isnan(estimate.low));
    estimate = statistics_ratio(values, others, 5);
    ck_assert_uint_eq(estimate.count, 2);
    ck_assert_double_eq_tol(estimate.value, sqrt(8), 1e-12);
    ck_assert(isnan(statistics_median(values + 1, 1)));
}

/* Seeds differ by tens, arms by one: pairs show it, and means do not. */
TEST_PLAIN(pairs_show_what_means_hide)
{
    static const double values[] = {11, 22, 33, 42}, reference[] = {10, 20, 32, 42};
    struct estimate estimate = statistics_difference(values, reference, 4);
    ck_assert_uint_eq(estimate.count, 4);
    ck_assert_double_eq(estimate.value, 1); /* Of 1, 2, 1, 0. */
    ck_assert_double_eq_tol(estimate.deviation, sqrt(2.0 / 3), 1e-12);
    ck_assert_double_eq_tol(estimate.high - 1, 3.182446 * sqrt(2.0 / 12), 1e-5);
    ck_assert(statistics_mean(values, 4).low < 10 && statistics_mean(values, 4).high > 42);
}

/* 1/2, 1, 2: logarithms -l, 0, l with deviation l, and so half of 4.302653 l / sqrt(3). */
TEST_PLAIN(a_ratio_is_the_geometric_mean_of_pairs)
{
    static const double values[] = {5, 8, 40}, reference[] = {10, 8, 20};
    struct estimate estimate = statistics_ratio(values, reference, 3);
    ck_assert_double_eq_tol(estimate.value, 1, 1e-12);
    ck_assert_double_eq_tol(estimate.deviation, log(2), 1e-12);
    ck_assert_double_eq_tol(log(estimate.high), 4.302653 * log(2) / sqrt(3), 1e-5);
    ck_assert_double_eq_tol(estimate.low * estimate.high, 1, 1e-12);
    estimate = statistics_ratio(values, reference, 2);
    ck_assert_double_eq_tol(estimate.value, sqrt(0.5), 1e-12);
    ck_assert(isnan(estimate.low) && isnan(estimate.high) && isnan(estimate.deviation));
}

/* Four of five reached the target, in 0.5 to 0.8 of the reference's time. */
TEST_PLAIN(a_run_that_missed_its_target_takes_part_as_the_slowest)
{
    static const double values[] = {5, INFINITY, 6, 8, 7}, reference[] = {10, 10, 10, 10, 10};
    struct estimate estimate = statistics_ratio(values, reference, 5);
    ck_assert_uint_eq(estimate.count, 5);
    ck_assert_double_eq_tol(estimate.value, 0.7, 1e-12);
    ck_assert_double_eq_tol(estimate.low, 0.5, 1e-12); /* All five above it: once in 32. */
    ck_assert(isinf(estimate.high) && isnan(estimate.deviation));
    estimate = statistics_ratio(reference, values, 5); /* The reference missed it. */
    ck_assert_double_eq_tol(estimate.value, 1 / 0.7, 1e-12);
    ck_assert_double_eq(estimate.low, 0);
    ck_assert_double_eq_tol(estimate.high, 2, 1e-12);
    estimate = statistics_ratio(values, reference, 4); /* Once in 16 is not rare enough. */
    ck_assert_double_eq_tol(estimate.value, 0.7, 1e-12);
    ck_assert(fpclassify(estimate.low) == FP_ZERO && isinf(estimate.high));
}

/* Of eight at most one is below the second least: 9 of 256, and of two 37. */
TEST_PLAIN(a_limit_by_rank_is_of_95_percent)
{
    static const double values[] = {8, 7, 6, 5, 4, 3, 2, INFINITY};
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct estimate estimate = statistics_ratio(values, ones, 8);
    ck_assert_double_eq_tol(estimate.value, 5.5, 1e-12);
    ck_assert_double_eq(estimate.low, 3);
    ck_assert(isinf(estimate.high));
}

TEST_PLAIN(two_that_missed_it_say_nothing_of_each_other)
{
    static const double values[] = {5, 6, INFINITY, 8, 9}, reference[] = {1, 1, INFINITY, 1, 1};
    static const double none[] = {INFINITY, INFINITY, INFINITY};
    struct estimate estimate = statistics_ratio(values, reference, 5);
    ck_assert(isnan(estimate.value)); /* 6 or 8, as the third would have it. */
    ck_assert(fpclassify(estimate.low) == FP_ZERO && isinf(estimate.high));
    estimate = statistics_ratio(none, none, 3);
    ck_assert(isnan(estimate.value) && isinf(estimate.high));
    ck_assert_uint_eq(estimate.count, 3);
    ck_assert(isinf(statistics_ratio(none, reference, 2).value));
    ck_assert(isnan(statistics_ratio(none, reference, 2).low)); /* Of two there is no interval. */
    ck_assert(isnan(statistics_ratio(none, reference, 2).high));
    ck_assert(isinf(statistics_mean(values, 5).value) && isnan(statistics_mean(values, 5).low));
}

TEST_PLAIN(an_olympic_mean_forgives_one_failure)
{
    static const double values[] = {9, 1, 4, 5, INFINITY, INFINITY};
    ck_assert_double_eq(statistics_olympic(values, 5), 6); /* 4, 5, 9. */
    ck_assert(isinf(statistics_olympic(values, 6)));
    ck_assert(isnan(statistics_olympic(values, 4)));
    ck_assert_double_eq(statistics_median(values, 5), 5);
    ck_assert_double_eq(statistics_median(values, 6), 7);
    ck_assert(isinf(statistics_median(values + 3, 3)));
    ck_assert(isnan(statistics_median(values, 0)));
}

/* By hand: of 14 pairs (2.160 + 0.870) / sqrt(14) = 0.810 deviations are told, of 13 (2.179 + 0.873) /
 * sqrt(13) = 0.846; for 0.83 fourteen are needed. */
TEST_PLAIN(how_many_seeds_an_effect_needs)
{
    ck_assert_uint_eq(statistics_seeds_needed(0.02 / 0.83, 0.02), 14);
    ck_assert_uint_eq(statistics_seeds_needed(0.02 / 0.85, -0.02), 13);
    ck_assert_uint_eq(statistics_seeds_needed(0, 0.02), 3);
    ck_assert_uint_eq(statistics_seeds_needed(NAN, 0.02), 0);
    ck_assert_uint_eq(statistics_seeds_needed(1, 0), 0);
    ck_assert_uint_eq(statistics_seeds_needed(1, 0.05),
                      3146); /* ((1.9623 + 0.8420) / 0.05)^2 = 3145.7 */
    ck_assert_uint_eq(statistics_seeds_needed(1, 1e-9), STATISTICS_SEEDS_MAX);
}

TEST_PLAIN(equal_is_an_interval_within_the_margin)
{
    static const struct {
        double low, high;
        enum parity parity;
    } rows[] = {
        {-0.31, 0.07, PARITY_EQUAL},     {0.1, 0.5, PARITY_EQUAL},  {-0.6, 0.1, PARITY_OPEN},
        {-0.9, -0.1, PARITY_BELOW},      {0.1, 0.51, PARITY_ABOVE}, {NAN, NAN, PARITY_UNKNOWN},
        {0.5, INFINITY, PARITY_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct estimate estimate = {.low = rows[i].low, .high = rows[i].high};
        ck_assert_int_eq(statistics_parity(&estimate, 0.5), rows[i].parity);
    }
}

int main(void)
{
    return suite_run("few_runs", NULL);
}
