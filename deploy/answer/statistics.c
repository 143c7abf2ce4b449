/* statistics.c - Student's t by its finite sum, turned round by halving, and what rests on it. */

#include "deploy/answer/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define CONFIDENCE 0.95
#define POWER      0.80

/* --- Student's t --------------------------------------------------------------------------- */

/* Abramowitz and Stegun's A(t | freedom): the part between -t and t. With theta = atan(t / sqrt(freedom)),
 *
 *     odd:   2/pi (theta + sin (cos + 2/3 cos^3 + ... + 2 4 .. (n-3) / (3 5 .. (n-2)) cos^(n-2)))
 *     even:  sin (1 + 1/2 cos^2 + ... + 1 3 .. (n-3) / (2 4 .. (n-2)) cos^(n-2))
 *
 * where for one degree the sum is empty. */
static double t_between(double t, unsigned freedom)
{
    static const double pi = 3.14159265358979323846;
    double theta = atan(t / sqrt(freedom));
    double cosine = cos(theta), sum = 0;
    bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1;
    for (unsigned power = odd ? 1 : 0; power + 2 <= freedom; power += 2) {
        sum += term;
        term *= cosine * cosine * (power + 1.0) / (power + 2.0);
    }
    sum *= sin(theta);
    return odd ? 2 / pi * (theta + sum) : sum;
}

double statistics_t_part(double t, unsigned freedom)
{
    assert(freedom > 0);
    return 0.5 + 0.5 * (t < 0 ? -t_between(-t, freedom) : t_between(t, freedom));
}

/* The part grows with t: doubled until it is enough, then halved until nothing lies between. */
double statistics_t_quantile(double part, unsigned freedom)
{
    assert(part > 0 && part < 1 && freedom > 0);
    double low = 0, high = 1;
    if (part < 0.5)
        return -statistics_t_quantile(1 - part, freedom);
    while (statistics_t_part(high, freedom) < part && high < 1e300)
        high *= 2;
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;)
        if (statistics_t_part(middle, freedom) < part)
            low = middle;
        else
            high = middle;
    return high;
}

/* --- means --------------------------------------------------------------------------------- */

static const struct estimate nothing = {.value = NAN, .deviation = NAN, .low = NAN, .high = NAN};

/* Values that were recorded, in ascending order; how many. */
static size_t sorted(double *into, const double *values, size_t count)
{
    size_t kept = 0;
    assert(count <= STATISTICS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            continue;
        size_t place = kept++;
        for (; place > 0 && into[place - 1] > values[i]; place--)
            into[place] = into[place - 1];
        into[place] = values[i];
    }
    return kept;
}

struct estimate statistics_mean(const double *values, size_t count)
{
    struct estimate estimate = nothing;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += isnan(values[i]) ? 0 : values[i];
        estimate.count += !isnan(values[i]);
    }
    if (estimate.count == 0)
        return estimate;
    estimate.value = sum / (double)estimate.count;
    if (estimate.count < STATISTICS_INTERVAL_RUNS || !isfinite(estimate.value))
        return estimate;
    for (size_t i = 0; i < count; i++) {
        double apart = isnan(values[i]) ? 0 : values[i] - estimate.value;
        squares += apart * apart;
    }
    unsigned freedom = (unsigned)estimate.count - 1;
    estimate.deviation = sqrt(squares / freedom);
    double half = statistics_t_quantile(0.5 + CONFIDENCE / 2, freedom) * estimate.deviation /
                  sqrt((double)estimate.count);
    estimate.low = estimate.value - half;
    estimate.high = estimate.value + half;
    return estimate;
}

struct estimate statistics_difference(const double *values, const double *reference, size_t count)
{
    double differences[STATISTICS_MAX];
    assert(count <= STATISTICS_MAX);
    for (size_t i = 0; i < count; i++)
        differences[i] = values[i] - reference[i];
    return statistics_mean(differences, count);
}

double statistics_median(const double *values, size_t count)
{
    double ordered[STATISTICS_MAX];
    size_t kept = sorted(ordered, values, count);
    if (kept == 0)
        return NAN;
    return kept % 2 == 1 ? ordered[kept / 2] : (ordered[kept / 2 - 1] + ordered[kept / 2]) / 2;
}

double statistics_olympic(const double *values, size_t count)
{
    double ordered[STATISTICS_MAX], sum = 0;
    size_t kept = sorted(ordered, values, count);
    if (kept < STATISTICS_OLYMPIC_RUNS)
        return NAN;
    for (size_t i = 1; i + 1 < kept; i++)
        sum += ordered[i];
    return sum / (double)(kept - 2);
}

/* --- ratios -------------------------------------------------------------------------------- */

/* The k-th least of n values of which none is known is below their median with the chance that fewer
 * than k of n tosses are heads: the greatest k from 1 on for which that is at most 5 %; 0 for none. */
static size_t limit_rank(size_t count)
{
    double chance = pow(0.5, (double)count), sum = 0;
    size_t rank = 0;
    while (sum + chance <= 1 - CONFIDENCE) {
        sum += chance;
        chance *= (double)(count - rank) / (double)(rank + 1);
        rank++;
    }
    return rank;
}

/* least[i] and most[i] are where the ratio of a pair may lie. */
static struct estimate ratio_by_rank(const double *least, const double *most, size_t count)
{
    double low[STATISTICS_MAX], high[STATISTICS_MAX];
    struct estimate estimate = nothing;
    estimate.count = sorted(low, least, count);
    sorted(high, most, count);
    double from = statistics_median(low, estimate.count);
    double to = statistics_median(high, estimate.count);
    size_t rank = limit_rank(estimate.count);
    if (from == to) /* NOLINT(clang-diagnostic-float-equal): the same value, or not. */
        estimate.value = from;
    if (estimate.count < STATISTICS_INTERVAL_RUNS)
        return estimate;
    estimate.low = rank > 0 ? low[rank - 1] : 0;
    estimate.high = rank > 0 ? high[estimate.count - rank] : INFINITY;
    if (isinf(high[estimate.count - 1]))
        estimate.high = INFINITY;
    if (low[0] <= 0)
        estimate.low = 0;
    return estimate;
}

struct estimate statistics_ratio(const double *values, const double *reference, size_t count)
{
    double logarithms[STATISTICS_MAX], least[STATISTICS_MAX], most[STATISTICS_MAX];
    bool all_reached = true;
    assert(count <= STATISTICS_MAX);
    for (size_t i = 0; i < count; i++) {
        bool neither = isinf(values[i]) && isinf(reference[i]);
        double ratio = values[i] / reference[i]; /* 0 and INFINITY where one is infinite. */
        least[i] = neither ? 0 : ratio;
        most[i] = neither ? INFINITY : ratio;
        logarithms[i] = log(ratio);
        all_reached &= isfinite(logarithms[i]) || (isnan(ratio) && !neither);
    }
    if (!all_reached)
        return ratio_by_rank(least, most, count);
    struct estimate estimate = statistics_mean(logarithms, count);
    estimate.value = exp(estimate.value);
    estimate.low = exp(estimate.low);
    estimate.high = exp(estimate.high);
    return estimate;
}

/* --- how many, and whether ----------------------------------------------------------------- */

/* n pairs tell an effect when it is at least (t(97.5 %) + t(80 %)) deviation / sqrt(n): what one that
 * is tested and one that is missed leave between them. */
size_t statistics_seeds_needed(double deviation, double effect)
{
    if (!isfinite(deviation) || !isfinite(effect) || !(deviation >= 0) || !(fabs(effect) > 0))
        return 0;
    double wanted = fabs(effect) / deviation;
    for (size_t pairs = STATISTICS_INTERVAL_RUNS; pairs < STATISTICS_SEEDS_MAX;) {
        unsigned freedom = pairs > 1000 ? 1000 : (unsigned)pairs - 1; /* By then t stands still. */
        double both = statistics_t_quantile(0.5 + CONFIDENCE / 2, freedom) +
                      statistics_t_quantile(POWER, freedom);
        double needed = (both / wanted) * (both / wanted);
        if (needed <= (double)pairs)
            return pairs;
        if (pairs > 1000)
            return needed < STATISTICS_SEEDS_MAX ? (size_t)ceil(needed) : STATISTICS_SEEDS_MAX;
        pairs++;
    }
    return STATISTICS_SEEDS_MAX;
}

enum parity statistics_parity(const struct estimate *difference, double margin)
{
    if (!isfinite(difference->low) || !isfinite(difference->high))
        return PARITY_UNKNOWN;
    if (difference->low >= -margin && difference->high <= margin)
        return PARITY_EQUAL;
    if (difference->high < 0)
        return PARITY_BELOW;
    return difference->low > 0 ? PARITY_ABOVE : PARITY_OPEN;
}
