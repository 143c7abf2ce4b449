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

static double constant_value(const struct distribution *d)
{
    return d->a;
}

static double constant_draw(const struct distribution *d, struct units units)
{
    (void)units;
    return d->a;
}

static double uniform_middle(const struct distribution *d)
{
    return (d->a + d->b) / 2;
}

static double uniform_draw(const struct distribution *d, struct units units)
{
    return d->a + (d->b - d->a) * units.first;
}

/* --- exponential ----------------------------------------------------------------------------- */

static double exponential_median(const struct distribution *d)
{
    return d->b + (d->a - d->b) * ln2;
}

static double exponential_draw(const struct distribution *d, struct units units)
{
    return d->b - (d->a - d->b) * elementary_logarithm(units.first);
}

/* --- lognormal ------------------------------------------------------------------------------- */

static double lognormal_mean(const struct distribution *d)
{
    return d->a * elementary_exponential(d->b * d->b / 2);
}

/* The cosine goes from 1 to -1 in half a turn, and so is as one over a whole turn. */
static double lognormal_draw(const struct distribution *d, struct units units)
{
    double normal =
        sqrt(-2 * elementary_logarithm(units.first)) * elementary_cosine_pi(units.second);
    return d->a * elementary_exponential(d->b * normal);
}

/* --- pareto ---------------------------------------------------------------------------------- */

static double pareto_mean(const struct distribution *d)
{
    return d->a * elementary_exponential(-ln2 / d->b) * d->b / (d->b - 1);
}

static double pareto_draw(const struct distribution *d, struct units units)
{
    return d->a * elementary_exponential(-(elementary_logarithm(units.first) + ln2) / d->b);
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double (*mean)(const struct distribution *distribution);
    double (*median)(const struct distribution *distribution);
    double (*draw)(const struct distribution *distribution, struct units units);
} kinds[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_CONSTANT] = {"constant", constant_value, constant_value, constant_draw},
    [DISTRIBUTION_UNIFORM] = {"uniform", uniform_middle, uniform_middle, uniform_draw},
    [DISTRIBUTION_EXPONENTIAL] = {"exponential", constant_value, exponential_median,
                                  exponential_draw},
    [DISTRIBUTION_LOGNORMAL] = {"lognormal", lognormal_mean, constant_value, lognormal_draw},
    [DISTRIBUTION_PARETO] = {"pareto", pareto_mean, constant_value, pareto_draw},
};

const char *distribution_name(unsigned kind)
{
    return kind < DISTRIBUTION_COUNT ? kinds[kind].name : NULL;
}

double distribution_mean(const struct distribution *distribution)
{
    assert((unsigned)distribution->kind < DISTRIBUTION_COUNT);
    return kinds[distribution->kind].mean(distribution);
}

double distribution_median(const struct distribution *distribution)
{
    assert((unsigned)distribution->kind < DISTRIBUTION_COUNT);
    return kinds[distribution->kind].median(distribution);
}

double distribution_draw(const struct distribution *distribution, const uint32_t random[3])
{
    assert((unsigned)distribution->kind < DISTRIBUTION_COUNT);
    return kinds[distribution->kind].draw(distribution, units_of(random));
}
