/* statistics.c - Student's t by its finite sum, inverted by bisection, and the tests based on
 * it. */

#include "deploy/conclusion/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define CONFIDENCE 0.95
#define POWER      0.80

/* --- Student's t --------------------------------------------------------------------------- */

/* Abramowitz and Stegun's A(t | freedom): the part between -t and t. With theta =
 * atan(t / sqrt(freedom)),
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

/* The probability that t with this many degrees of freedom is not above t. */
static double t_part(double t, unsigned freedom)
{
    assert(freedom > 0);
    return 0.5 + 0.5 * (t < 0 ? -t_between(-t, freedom) : t_between(t, freedom));
}

/* The inverse, for a part between 0 and 1. The probability grows with t: double t until it suffices, then bisect to the last bit. */
static double t_quantile(double part, unsigned freedom)
{
    assert(part > 0 && part < 1 && freedom > 0);
    double low = 0, high = 1;
    if (part < 0.5)
        return -t_quantile(1 - part, freedom);
    while (t_part(high, freedom) < part && high < 1e300)
        high *= 2;
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;)
        if (t_part(middle, freedom) < part)
            low = middle;
        else
            high = middle;
    return high;
}

/* --- means --------------------------------------------------------------------------------- */

static const struct estimate nothing = {
    .value = NAN, .deviation = NAN, .low = NAN, .high = NAN, .level = NAN, .p = NAN};

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
    double half = t_quantile(0.5 + CONFIDENCE / 2, freedom) * estimate.deviation /
                  sqrt((double)estimate.count);
    estimate.low = estimate.value - half;
    estimate.high = estimate.value + half;
    estimate.level = CONFIDENCE;
    double error = estimate.deviation / sqrt((double)estimate.count);
    if (error > 0)
        estimate.p = 2 * t_part(-fabs(estimate.value) / error, freedom);
    else
        estimate.p = fabs(estimate.value) > 0 ? 0 : 1;
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

/* The probability of at most `heads` heads in this many tosses. */
static double tosses(size_t count, size_t heads)
{
    double chance = pow(0.5, (double)count), sum = 0;
    for (size_t i = 0; i <= heads && i <= count; i++) {
        sum += chance;
        chance *= (double)(count - i) / (double)(i + 1);
    }
    return sum < 1 ? sum : 1;
}

/* The sign test: a ratio of exactly 1 takes no part. */
static double sign_test(const double *ratios, size_t count)
{
    size_t below = 0, above = 0;
    for (size_t i = 0; i < count; i++) {
        below += ratios[i] < 1;
        above += ratios[i] > 1;
    }
    return fmin(1, 2 * tosses(below + above, below < above ? below : above));
}

/* The median, between the k-th least and the k-th greatest. */
static struct estimate ratio_by_rank(const double *ratios, size_t count)
{
    double ordered[STATISTICS_MAX];
    struct estimate estimate = nothing;
    estimate.count = sorted(ordered, ratios, count);
    estimate.value = statistics_median(ordered, estimate.count);
    if (estimate.count < STATISTICS_INTERVAL_RUNS)
        return estimate;
    size_t rank = 1;
    while (2 * tosses(estimate.count, rank) <= 1 - CONFIDENCE)
        rank++;
    estimate.level = 1 - 2 * tosses(estimate.count, rank - 1);
    estimate.low = ordered[rank - 1];
    estimate.high = ordered[estimate.count - rank];
    estimate.p = sign_test(ordered, estimate.count);
    return estimate;
}

struct estimate statistics_ratio(const double *values, const double *reference, size_t count)
{
    double ratios[STATISTICS_MAX], logarithms[STATISTICS_MAX];
    bool all_reached = true;
    assert(count <= STATISTICS_MAX);
    for (size_t i = 0; i < count; i++) {
        ratios[i] = values[i] / reference[i]; /* NaN of two infinite ones. */
        logarithms[i] = log(ratios[i]);
        all_reached &= isnan(ratios[i]) || isfinite(logarithms[i]);
    }
    if (!all_reached)
        return ratio_by_rank(ratios, count);
    struct estimate estimate = statistics_mean(logarithms, count);
    estimate.value = exp(estimate.value);
    estimate.low = exp(estimate.low);
    estimate.high = exp(estimate.high);
    return estimate;
}

/* --- how much, and whether ----------------------------------------------------------------- */

double statistics_visible(const struct estimate *ratio)
{
    if (ratio->count < STATISTICS_INTERVAL_RUNS || !isfinite(ratio->deviation))
        return NAN;
    unsigned freedom = (unsigned)ratio->count - 1;
    double both = t_quantile(0.5 + CONFIDENCE / 2, freedom) + t_quantile(POWER, freedom);
    return expm1(both * ratio->deviation / sqrt((double)ratio->count));
}

void statistics_holm(double *p, size_t count)
{
    bool done[STATISTICS_MAX] = {false};
    double floor = 0;
    size_t left = 0;
    assert(count <= STATISTICS_MAX);
    for (size_t i = 0; i < count; i++)
        left += !isnan(p[i]);
    for (; left > 0; left--) {
        size_t least = count;
        for (size_t i = 0; i < count; i++)
            if (!done[i] && !isnan(p[i]) && (least == count || p[i] < p[least]))
                least = i;
        floor = fmin(1, fmax(floor, (double)left * p[least]));
        p[least] = floor;
        done[least] = true;
    }
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
