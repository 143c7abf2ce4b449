/* test_few_runs.c - Student's t against printed tables, and what is said of few runs against numbers
 * worked out by hand. */

#include "deploy/conclusion/statistics.h"

#include <math.h>

#include "tests/lib/suite.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The mean of freedom + 1 values, t, which is the t of its test: their deviation is sqrt(count). */
static struct estimate mean_of(double t, unsigned freedom)
{
    double values[STATISTICS_MAX];
    size_t count = freedom + 1;
    for (size_t i = 0; i < count; i++)
        values[i] = t;
    values[0] += sqrt((double)freedom * (double)count / 2);
    values[1] -= sqrt((double)freedom * (double)count / 2);
    return statistics_mean(values, count);
}

/* Abramowitz and Stegun, table 26.10 (and any other), in its three decimals. */
TEST_PLAIN(t_is_that_of_the_printed_tables)
{
    static const struct {
        unsigned freedom;
        double part, t;
    } rows[] = {
        {2, 0.95, 2.920},   {2, 0.975, 4.303},  {2, 0.995, 9.925},    {3, 0.975, 3.182},
        {4, 0.95, 2.132},   {4, 0.975, 2.776},  {4, 0.995, 4.604},    {5, 0.975, 2.571},
        {6, 0.975, 2.447},  {9, 0.95, 1.833},   {9, 0.975, 2.262},    {10, 0.975, 2.228},
        {19, 0.975, 2.093}, {30, 0.975, 2.042}, {60, 0.975, 2.000},   {120, 0.975, 1.980},
        {4, 0.8, 0.941},    {9, 0.75, 0.703},   {1000, 0.975, 1.962},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct estimate estimate = mean_of(rows[i].t, rows[i].freedom);
        ck_assert_double_eq_tol(estimate.p, 2 * (1 - rows[i].part), 2e-4);
        if (rows[i].part == 0.975)
            ck_assert_double_eq_tol(estimate.high - estimate.value, rows[i].t, 5.1e-4);
    }
    ck_assert_double_eq_tol(mean_of(0, 7).p, 1, 1e-12);
    ck_assert_double_eq_tol(mean_of(sqrt(2), 2).p, 2 * (0.5 - sqrt(0.125)), 1e-12);
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

/* Four of five reached the target, in 0.5 to 0.8 of the reference's time. Between the least and the greatest
 * of five is the median 15 times of 16. */
TEST_PLAIN(a_run_that_missed_its_target_widens_one_side)
{
    static const double values[] = {5, INFINITY, 6, 8, 7}, reference[] = {10, 10, 10, 10, 10};
    struct estimate estimate = statistics_ratio(values, reference, 5);
    ck_assert_uint_eq(estimate.count, 5);
    ck_assert_double_eq_tol(estimate.value, 0.7, 1e-12);
    ck_assert_double_eq_tol(estimate.low, 0.5, 1e-12);
    ck_assert_double_eq(estimate.level, 0.9375);
    ck_assert(isinf(estimate.high) && isnan(estimate.deviation));
    ck_assert_double_eq(estimate.p, 2 * 6 / 32.0);     /* One sign of five, or none. */
    estimate = statistics_ratio(reference, values, 5); /* The reference missed it. */
    ck_assert_double_eq_tol(estimate.value, 1 / 0.7, 1e-12);
    ck_assert_double_eq(estimate.low, 0);
    ck_assert_double_eq_tol(estimate.high, 2, 1e-12);
    estimate = statistics_ratio(values, reference, 4);
    ck_assert_double_eq_tol(estimate.value, 0.7, 1e-12);
    ck_assert_double_eq_tol(estimate.low, 0.5, 1e-12);
    ck_assert_double_eq(estimate.level, 0.875);
    ck_assert_double_eq(statistics_ratio(values, reference, 3).level, 0.75);
    ck_assert(isnan(statistics_ratio(values, reference, 2).low));
}

/* Of nine at most one is below the second least 10 times of 512, on either side; two 46 times. */
TEST_PLAIN(a_limit_by_rank_is_of_95_percent)
{
    static const double values[] = {8, 7, 6, 5, 4, 3, 2, 9, INFINITY};
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct estimate estimate = statistics_ratio(values, ones, 9);
    ck_assert_double_eq(estimate.value, 6);
    ck_assert_double_eq(estimate.low, 3);
    ck_assert_double_eq(estimate.high, 9);
    ck_assert_double_eq(estimate.level, 1 - 20 / 512.0);
    ck_assert_double_eq(statistics_ratio(values + 3, ones, 6).low, 2); /* The least: 1 of 32. */
}

TEST_PLAIN(two_that_missed_it_say_nothing_of_each_other)
{
    static const double values[] = {5, 6, INFINITY, 8, 9}, reference[] = {1, 1, INFINITY, 1, 1};
    static const double none[] = {INFINITY, INFINITY, INFINITY};
    struct estimate estimate = statistics_ratio(values, reference, 5);
    ck_assert_uint_eq(estimate.count, 4);
    ck_assert_double_eq_tol(estimate.value, sqrt(sqrt(5.0 * 6 * 8 * 9)), 1e-12);
    ck_assert_double_eq(estimate.level, 0.95);
    estimate = statistics_ratio(none, none, 3);
    ck_assert(isnan(estimate.value) && isnan(estimate.high));
    ck_assert_uint_eq(estimate.count, 0);
    ck_assert(isinf(statistics_ratio(none, reference, 2).value));
    ck_assert(isinf(statistics_mean(values, 5).value) && isnan(statistics_mean(values, 5).low));
}

/* 2, 4, 9 beside 0: t = 5 / sqrt(13 / 3) = 2.402 with two degrees, of which Abramowitz and Stegun have
 * 1 - sqrt(t^2 / (2 + t^2)). A ratio of 1 has no sign. */
TEST_PLAIN(a_difference_is_tested)
{
    static const double values[] = {2, 4, 9}, same[] = {3, 3, 3}, ones[] = {1, 1, 1, 1, 1, 1};
    static const double signs[] = {1, 2, 3, 4, INFINITY, 0.5};
    double t = 5 / sqrt(13.0 / 3);
    ck_assert_double_eq_tol(statistics_mean(values, 3).p, 1 - sqrt(t * t / (2 + t * t)), 1e-12);
    ck_assert_double_eq(statistics_mean(same, 3).p, 0);
    ck_assert_double_eq(statistics_ratio(same, same, 3).p, 1);
    ck_assert_double_eq(statistics_ratio(signs, ones, 6).p, 2 * 6 / 32.0);
}

/* Times 4, 3, 2 and 1 from the least on, and never less than the one before. */
TEST_PLAIN(several_tests_at_once_are_held_to_more)
{
    double p[] = {0.04, 0.01, NAN, 0.015, 0.9};
    statistics_holm(p, 5);
    ck_assert_double_eq_tol(p[0], 0.08, 1e-12);
    ck_assert_double_eq_tol(p[1], 0.04, 1e-12);
    ck_assert_double_nan(p[2]);
    ck_assert_double_eq_tol(p[3], 0.045, 1e-12);
    ck_assert_double_eq_tol(p[4], 0.9, 1e-12);
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

/* By hand, of 14 pairs: (2.1604 + 0.8702) / sqrt(14) = 0.80997 deviations. */
TEST_PLAIN(how_much_seeds_show)
{
    struct estimate ratio = {.deviation = 0.1, .count = 14};
    ck_assert_double_eq_tol(statistics_visible(&ratio), exp(0.080997) - 1, 1e-5);
    ratio.count = 2;
    ck_assert_double_nan(statistics_visible(&ratio));
    ck_assert_double_nan(statistics_visible(&(struct estimate){.deviation = NAN, .count = 5}));
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
