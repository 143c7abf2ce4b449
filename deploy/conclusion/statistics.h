/* statistics.h - what a few runs of each kind allow to say of a number, and what they do not.
 *
 * A number of one run is finite; INFINITY where a target was not reached, which takes part as longer
 * than any other; NaN where it was not recorded, which takes no part. What cannot be said is NaN:
 * there is no deviation and no interval of fewer than three runs, and none is ever 0 for want of them.
 *
 * Intervals are of 95 %, two-sided, by Student's t, unless a run is infinite. Runs that share a seed share data, order and first
 * parameters, so that arms are compared pair by pair: what seeds have in common falls out of the
 * differences. Of times it is the logarithms of ratios that are averaged, so that twice as fast and
 * twice as slow weigh alike: the estimate is the geometric mean of the ratios.
 *
 * Sources: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4: t as a
 * finite sum, exact for whole degrees of freedom. Order statistics as limits of a median: Conover,
 * Practical Nonparametric Statistics (1999), 3.2; its sign test, 3.4. Several tests at once: Holm, A simple
 * sequentially rejective multiple test procedure (1979). Olympic mean: MLPerf's rules for training.
 *
 * Threads: plain functions. Errors: none; arrays are copied on the stack, STATISTICS_MAX at most. */

#ifndef DEPLOY_CONCLUSION_STATISTICS_H
#define DEPLOY_CONCLUSION_STATISTICS_H

#include <stddef.h>

#define STATISTICS_MAX           1024
#define STATISTICS_INTERVAL_RUNS 3 /* The fewest of which a deviation or an interval is told. */
#define STATISTICS_OLYMPIC_RUNS  5

/* Of all values of Student's t with so many degrees of freedom (at least 1), the part not above t. */
double statistics_t_part(double t, unsigned freedom);

/* The t that this part, between 0 and 1, is not above. */
double statistics_t_quantile(double part, unsigned freedom);

/* One number, and how far it may be believed. */
struct estimate {
    double value;     /* NaN: nothing can be said. */
    double deviation; /* Of the sample: values, differences, or logarithms of ratios. */
    double low, high; /* The interval, ... */
    double level;     /* ... which holds the truth so often: 0.95, or less by rank of up to five. */
    double p;         /* Two-sided, of no difference and of a ratio of 1: by t, or by signs. */
    size_t count;     /* Runs, or pairs of runs, that it is made from. */
};

/* The mean. Where one is infinite so is the mean, and nothing else is known. */
struct estimate statistics_mean(const double *values, size_t count);

/* The mean of values[i] - reference[i]; both of one seed. */
struct estimate statistics_difference(const double *values, const double *reference, size_t count);

/* The geometric mean of values[i] / reference[i], both above 0 and of one seed.
 *
 * A pair of which one is infinite has the ratio INFINITY or 0; a pair of two infinite ones says nothing and
 * is not counted. With a ratio of 0 or INFINITY the estimate is the median, and the interval lies between
 * the k-th least and the k-th greatest ratio: the greatest k that leaves at most 5 % outside. Of up to five
 * pairs no k does; then k is 1, and the level is 1 - 2^(1-n). */
struct estimate statistics_ratio(const double *values, const double *reference, size_t count);

/* Infinite ones take part. NaN of nothing. */
double statistics_median(const double *values, size_t count);

/* The mean without the least and the greatest, of at least five runs, else NaN. A run that did not
 * reach its target is the greatest; two of them make it INFINITY. */
double statistics_olympic(const double *values, size_t count);

/* The least relative difference that as many pairs would show in four of five comparisons, when they
 * differ as these do; NaN where they have no deviation. */
double statistics_visible(const struct estimate *ratio);

/* Each p is made one that may be held against 5 % though there are several of them. NaN: no test. */
void statistics_holm(double *p, size_t count);

/* Whether two arms are the same but for a margin: an interval inside of it shows that they are; one
 * that is not may still show nothing. */
enum parity {
    PARITY_UNKNOWN, /* No interval. */
    PARITY_EQUAL,   /* All of the interval is within the margin. */
    PARITY_BELOW,   /* All of it is below 0, and not all within. */
    PARITY_ABOVE,
    PARITY_OPEN, /* It holds 0, and more than the margin. */
};
enum parity statistics_parity(const struct estimate *difference, double margin);

#endif
