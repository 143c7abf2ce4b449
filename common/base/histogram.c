/* histogram.c - which bucket a number falls into, and what the buckets say. */

#include "common/base/histogram.h"

#include <math.h>

static size_t bucket_of(uint64_t value)
{
    size_t power = 0;
    if (value < HISTOGRAM_EXACT)
        return (size_t)value;
    while (value / HISTOGRAM_EXACT >> power > 1)
        power++;
    return HISTOGRAM_EXACT + power;
}

uint64_t histogram_least(size_t bucket)
{
    return bucket < HISTOGRAM_EXACT ? bucket
                                    : (uint64_t)HISTOGRAM_EXACT << (bucket - HISTOGRAM_EXACT);
}

uint64_t histogram_most(size_t bucket)
{
    return bucket + 1 < HISTOGRAM_BUCKETS ? histogram_least(bucket + 1) - 1 : UINT64_MAX;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->sum += value;
    histogram->squares += (double)value * (double)value;
    histogram->max = value > histogram->max ? value : histogram->max;
    histogram->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->squares += from->squares;
    into->max = from->max > into->max ? from->max : into->max;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

size_t histogram_used(const struct histogram *histogram)
{
    size_t used = HISTOGRAM_BUCKETS;
    while (used > 0 && histogram->buckets[used - 1] == 0)
        used--;
    return used;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count > 0 ? (double)histogram->sum / (double)histogram->count : (double)NAN;
}

double histogram_deviation(const struct histogram *histogram)
{
    double mean = histogram_mean(histogram);
    double variance = histogram->squares / (double)histogram->count - mean * mean;
    return histogram->count == 0 ? (double)NAN : sqrt(fmax(variance, 0));
}

uint64_t histogram_quantile(const struct histogram *histogram, double part)
{
    uint64_t seen = 0;
    double wanted = part * (double)histogram->count;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t most = histogram_most(i);
        seen += histogram->buckets[i];
        if (histogram->buckets[i] > 0 && (double)seen >= wanted)
            return most < histogram->max ? most : histogram->max;
    }
    return histogram->max;
}

bool histogram_adds_up(const struct histogram *histogram)
{
    size_t used = histogram_used(histogram);
    uint64_t left = histogram->count;
    for (size_t i = 0; i < used; i++) {
        if (histogram->buckets[i] > left)
            return false;
        left -= histogram->buckets[i];
    }
    if (used == 0)
        return left == 0 && histogram->max == 0 && histogram->sum == 0;
    return left == 0 && histogram->max >= histogram_least(used - 1) &&
           histogram->max <= histogram_most(used - 1) && histogram->squares >= 0;
}
