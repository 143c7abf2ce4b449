/* histogram.h - how often each whole number was seen: exactly up to 1023, above by powers of two.
 *
 *     bucket   0   1  ...  1023 | 1024..2047   2048..4095  ...  2^63..
 *
 * Count, sum and maximum are exact, and so are mean and deviation while the squares' sum is below
 * 2^53. A quantile is the smallest number that so large a part is not above; of a bucket that holds
 * several numbers it is the highest of them, and never above the maximum. Histograms of parts add up
 * to that of the whole.
 *
 * Threads: plain values. */

#ifndef COMMON_BASE_HISTOGRAM_H
#define COMMON_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_EXACT   1024 /* A power of two: buckets of one number each. */
#define HISTOGRAM_POWERS  54   /* 2^10, 2^11, ... 2^63. */
#define HISTOGRAM_BUCKETS (HISTOGRAM_EXACT + HISTOGRAM_POWERS)

struct histogram {
    uint64_t count, sum, max;
    double squares; /* Sum of the squares. */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The first and the last number of a bucket. */
uint64_t histogram_least(size_t bucket);
uint64_t histogram_most(size_t bucket);

/* Buckets up to the last one that is not 0. */
size_t histogram_used(const struct histogram *histogram);

/* NaN of nothing. Deviation: of what was seen, divided by its count. */
double histogram_mean(const struct histogram *histogram);
double histogram_deviation(const struct histogram *histogram);

/* part: from 0 to 1. 0 of nothing. */
uint64_t histogram_quantile(const struct histogram *histogram, double part);

/* Whether buckets, count and maximum fit each other: of one that came from elsewhere. */
bool histogram_adds_up(const struct histogram *histogram);

#endif
