/* distribution.c - a row of functions for each kind. */

#include "common/compute/distribution.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "common/base/elementary.h"

static const double ln2 = 0x1.62e42fefa39efp-1;

/* Two numbers between 0 and 1, neither of which they are: of 52 bits, and of 32. */
struct units {
    double first, second;
};

static struct units units_of(const uint32_t random[3])
{
    uint64_t bits = ((uint64_t)random[0] << 32 | random[1]) >> 12;
    return (struct units){((double)bits + 0.5) * 0x1p-52, ((double)random[2] + 0.5) * 0x1p-32};
}

/* --- constant, uniform ----------------------------------------------------------------------- */

static double constant_draw(const struct distribution *d, struct units units)
{
    (void)units;
    return d->a;
}

static double uniform_draw(const struct distribution *d, struct units units)
{
    return d->a + (d->b - d->a) * units.first;
}

/* --- exponential ----------------------------------------------------------------------------- */

static double exponential_draw(const struct distribution *d, struct units units)
{
    return d->b - (d->a - d->b) * elementary_logarithm(units.first);
}

/* --- lognormal ------------------------------------------------------------------------------- */

/* The cosine goes from 1 to -1 in half a turn, and so is as one over a whole turn. */
static double lognormal_draw(const struct distribution *d, struct units units)
{
    double normal =
        sqrt(-2 * elementary_logarithm(units.first)) * elementary_cosine_pi(units.second);
    return d->a * elementary_exponential(d->b * normal);
}

/* --- pareto ---------------------------------------------------------------------------------- */

static double pareto_draw(const struct distribution *d, struct units units)
{
    return d->a * elementary_exponential(-(elementary_logarithm(units.first) + ln2) / d->b);
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double (*draw)(const struct distribution *distribution, struct units units);
} kinds[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_CONSTANT] = {"constant", constant_draw},
    [DISTRIBUTION_UNIFORM] = {"uniform", uniform_draw},
    [DISTRIBUTION_EXPONENTIAL] = {"exponential", exponential_draw},
    [DISTRIBUTION_LOGNORMAL] = {"lognormal", lognormal_draw},
    [DISTRIBUTION_PARETO] = {"pareto", pareto_draw},
};

const char *distribution_name(unsigned kind)
{
    return kind < DISTRIBUTION_COUNT ? kinds[kind].name : NULL;
}

double distribution_draw(const struct distribution *distribution, const uint32_t random[3])
{
    assert((unsigned)distribution->kind < DISTRIBUTION_COUNT);
    return kinds[distribution->kind].draw(distribution, units_of(random));
}
