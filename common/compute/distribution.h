/* distribution.h - how a time or a factor is spread, and draws of it that are the same on every host.
 *
 *     constant     a
 *     uniform      from a to b                 mean and median (a + b) / 2
 *     exponential  b, and beyond it            mean a, median b + 0.693 (a - b)
 *                  exponentially distributed
 *     lognormal    median a, sigma b           mean a exp(b^2 / 2)
 *     pareto       median a, exponent b > 1    mean a 2^(-1/b) b / (b - 1), least a 2^(-1/b)
 *
 * Inverse distribution functions (lognormal: Box and Muller) of counter-based numbers, without the C
 * library's mathematics (elementary.h).
 *
 * Threads: pure. */

#ifndef COMMON_COMPUTE_DISTRIBUTION_H
#define COMMON_COMPUTE_DISTRIBUTION_H

#include <stdint.h>

enum distribution_kind {
    DISTRIBUTION_CONSTANT,
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_EXPONENTIAL,
    DISTRIBUTION_LOGNORMAL,
    DISTRIBUTION_PARETO,
    DISTRIBUTION_COUNT
};

struct distribution {
    enum distribution_kind kind;
    double a, b; /* As above; b 0 where it is not named. */
};

/* "lognormal" of its number, as people write it; NULL from DISTRIBUTION_COUNT on. */
const char *distribution_name(unsigned kind);

/* The one that belongs to three random numbers (random_block). */
double distribution_draw(const struct distribution *distribution, const uint32_t random[3]);

#endif
