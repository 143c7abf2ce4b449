/* elementary.c - each function brings its argument near 0 exactly, and sums a Taylor series there,
 * smallest term first. */

#include "common/base/elementary.h"

#include <assert.h>
#include <float.h>
#include <stddef.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ((c[0] x + c[1]) x + ...) x + c[count - 1] */
static double horner(const double *c, size_t count, double x)
{
    double sum = c[0];
    for (size_t i = 1; i < count; i++)
        sum = sum * x + c[i];
    return sum;
}

double elementary_power(double base, uint64_t n)
{
    double power = 1.0;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1)
            power *= base;
    return power;
}

static const double pi = 0x1.921fb54442d18p1;

/* Both for x from 0 to 1/4: (pi x)^2 is below 0.617, so that what is left out is
 * below 2^-54. */
static double cosine_near_0(double x)
{
    static const double c[] = {1.0 / 20922789888000.0,
                               -1.0 / 87178291200.0,
                               1.0 / 479001600.0,
                               -1.0 / 3628800.0,
                               1.0 / 40320.0,
                               -1.0 / 720.0,
                               1.0 / 24.0,
                               -1.0 / 2.0,
                               1.0};
    double angle = pi * x;
    return horner(c, LENGTH(c), angle * angle);
}

static double sine_near_0(double x)
{
    static const double c[] = {
        -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
        -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0,        1.0};
    double angle = pi * x;
    return angle * horner(c, LENGTH(c), angle * angle);
}

double elementary_cosine_pi(double x)
{
    assert(x >= 0.0 && x <= 1.0);
    if (x > 0.5)
        return -elementary_cosine_pi(1.0 - x); /* Exact, as is the difference below. */
    return x <= 0.25 ? cosine_near_0(x) : sine_near_0(0.5 - x);
}

/* The logarithm of 2 in two parts, the first so short that k times it is exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* x = 2^k m with m from sqrt(1/2) to sqrt(2), and with f = (m - 1) / (m + 1)
 *
 *     log m = log((1 + f) / (1 - f)) = 2 f (1 + f^2 / 3 + f^4 / 5 + ...)
 *
 * where f^2 is below 0.0295. */
double elementary_logarithm(double x)
{
    static const double c[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                               1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    if (!(x <= DBL_MAX))
        return x;
    assert(x >= DBL_MIN);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int k = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    double f = (m - 1.0) / (m + 1.0), square = f * f;
    double rest = f * square * horner(c, LENGTH(c), square);
    return (double)k * ln2_high + ((double)k * ln2_low + 2.0 * (f + rest));
}

/* e^x = 2^k e^r with r from -0.347 to 0.347, where what is left out is below 2^-57. */
double elementary_exponential(double x)
{
    static const double c[] = {1.0 / 87178291200.0,
                               1.0 / 6227020800.0,
                               1.0 / 479001600.0,
                               1.0 / 39916800.0,
                               1.0 / 3628800.0,
                               1.0 / 362880.0,
                               1.0 / 40320.0,
                               1.0 / 5040.0,
                               1.0 / 720.0,
                               1.0 / 120.0,
                               1.0 / 24.0,
                               1.0 / 6.0,
                               0.5,
                               1.0,
                               1.0};
    assert(x >= -700.0 && x <= 700.0);
    int k = (int)(x / (ln2_high + ln2_low) + (x < 0 ? -0.5 : 0.5));
    double r = (x - (double)k * ln2_high) - (double)k * ln2_low;
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return horner(c, LENGTH(c), r) * power;
}
