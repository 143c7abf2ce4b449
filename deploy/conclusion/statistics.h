/* statistics.h - the statistics that a few runs of each kind support.
 *
 * A number of one run is finite; INFINITY where a target was not reached, which counts as longer
 * than any other; NaN where it was not recorded, which is left out. An undefined result is NaN:
 * fewer than three runs have no deviation and no interval, and neither is ever 0 for lack of runs.
 *
 * Intervals are of 95 %, two-sided, by Student's t, unless a run is infinite. Runs that share a
 * seed share data, order and first parameters. Therefore configurations are compared pair by pair:
 * the seed's effect cancels in the differences. Times are averaged as logarithms of ratios, which
 * weighs twice as fast and twice as slow alike: the estimate is the geometric mean of the ratios.
 *
 * Sources: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4: t
 *          as a finite sum, exact for whole degrees of freedom. Order statistics as limits of a
 *          median: Conover, Practical Nonparametric Statistics (1999), 3.2; its sign test, 3.4.
 *          Several tests at once: Holm, A simple sequentially rejective multiple test procedure
 *          (1979). Olympic mean: MLPerf's rules for training.
 *
 * Threads: plain functions. Errors: none; arrays are copied on the stack, STATISTICS_MAX at
 *          most. */

#ifndef DEPLOY_CONCLUSION_STATISTICS_H
#define DEPLOY_CONCLUSION_STATISTICS_H

#include <stddef.h>

#define STATISTICS_MAX 1024
/* The smallest number of runs with a deviation or an interval. */
#define STATISTICS_INTERVAL_RUNS 3
#define STATISTICS_OLYMPIC_RUNS  5

/* One number with its uncertainty. */
struct estimate {
    double value;     /* NaN: undefined. */
    double deviation; /* Of the sample: values, differences, or logarithms of ratios. */
    double low, high; /* The interval, */
    double level;     /* and its confidence: 0.95, or less by rank with up to five. */
    double p;         /* Two-sided, for no difference or a ratio of 1: by t, or by signs. */
    size_t count;     /* Runs, or pairs of runs. */
};

/* The mean. With an infinite value the mean is infinite and the rest is unknown. */
struct estimate statistics_mean(const double *values, size_t count);

/* The mean of values[i] - reference[i]; both of one seed. */
struct estimate statistics_difference(const double *values, const double *reference, size_t count);

/* The geometric mean of values[i] / reference[i], both above 0 and of one seed. A pair with one
 * infinite value has the ratio INFINITY or 0; a pair of two infinite values is not counted. With a
 * ratio of 0 or INFINITY the estimate is the median, and the interval lies between the k-th least
 * and the k-th greatest ratio. k is the greatest that leaves at most 5 % outside. Up to five pairs
 * have no such k; then k is 1, and the level is 1 - 2^(1-n). */
struct estimate statistics_ratio(const double *values, const double *reference, size_t count);

/* Infinite values count. NaN without values. */
double statistics_median(const double *values, size_t count);

/* The mean without the least and the greatest of at least five runs, else NaN. A run that did not
 * reach its target is the greatest; two of them make it INFINITY. */
double statistics_olympic(const double *values, size_t count);

/* The smallest relative difference that this many pairs would show in four of five comparisons,
 * given the deviation of these pairs; NaN without a deviation. */
double statistics_visible(const struct estimate *ratio);

/* Adjusts each p for the number of tests, to be compared with 5 %. NaN: no test. */
void statistics_holm(double *p, size_t count);

/* Whether two configurations are equal within a margin. An interval inside the margin shows that
 * they are; one that is not inside may still show no difference. */
enum parity {
    PARITY_UNKNOWN, /* No interval. */
    PARITY_EQUAL,   /* The whole interval is within the margin. */
    PARITY_BELOW,   /* The whole interval is below 0, and not all of it within the margin. */
    PARITY_ABOVE,
    PARITY_OPEN, /* The interval holds 0, and more than the margin. */
};
enum parity statistics_parity(const struct estimate *difference, double margin);

#endif
