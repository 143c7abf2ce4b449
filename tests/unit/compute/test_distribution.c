/* test_distribution.c - draws have the mean and the median that they should, and the bounds. */
/* promises: compute */

#include "common/compute/distribution.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

#define DRAWS 200000u

static double draws[DRAWS];

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All of them, by size; their mean. */
static double draw_all(const struct distribution *distribution)
{
    double sum = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        uint32_t random[4];
        random_block(11, RANDOM_STREAM_COMPUTE, 0, i, random);
        draws[i] = distribution_draw(distribution, random);
        sum += draws[i];
    }
    qsort(draws, DRAWS, sizeof *draws, by_size);
    return sum / DRAWS;
}

static const struct {
    struct distribution distribution;
    double mean, median, least, most;
} cases[] = {
    {{DISTRIBUTION_CONSTANT, 30, 0}, 30, 30, 30, 30},
    {{DISTRIBUTION_UNIFORM, 20, 40}, 30, 30, 20, 40},
    {{DISTRIBUTION_EXPONENTIAL, 30, 0}, 30, 30 * 0.6931471805599453, 0, INFINITY},
    {{DISTRIBUTION_EXPONENTIAL, 30, 10}, 30, 10 + 20 * 0.6931471805599453, 10, INFINITY},
    {{DISTRIBUTION_LOGNORMAL, 30, 0.3}, 30 * 1.0460278599087169, 30, 0, INFINITY},
    {{DISTRIBUTION_PARETO, 30, 3}, 30 * 0.7937005259840998 * 1.5, 30, 23.811015779522993, INFINITY},
};

/* Of 200,000 draws the mean's own deviation is at most 30 / sqrt(200,000) = 0.07 here. */
TEST_PLAIN(draws_have_the_means_and_medians_that_are_named)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = distribution_name(cases[i].distribution.kind);
        double mean = draw_all(&cases[i].distribution), median = draws[DRAWS / 2];
        ck_assert_msg(fabs(mean - cases[i].mean) < 0.4, "%s: mean %g", name, mean);
        ck_assert_msg(fabs(median - cases[i].median) < 0.4, "%s: median %g", name, median);
        ck_assert_msg(draws[0] >= cases[i].least && draws[DRAWS - 1] <= cases[i].most,
                      "%s: from %g to %g", name, draws[0], draws[DRAWS - 1]);
    }
}

/* What half of the draws are beyond does not say how far: so a quarter and a tenth, too. */
TEST_PLAIN(draws_are_spread_as_their_distribution_is)
{
    draw_all(&(struct distribution){DISTRIBUTION_LOGNORMAL, 30, 0.5});
    ck_assert_double_eq_tol(draws[DRAWS / 4], 30 * exp(-0.5 * 0.674489750196), 0.3);
    ck_assert_double_eq_tol(draws[DRAWS / 10 * 9], 30 * exp(0.5 * 1.281551565545), 0.6);
    draw_all(&(struct distribution){DISTRIBUTION_PARETO, 30, 2});
    ck_assert_double_eq_tol(draws[DRAWS / 4], 30 * pow(2 * 0.75, -0.5), 0.3);
    ck_assert_double_eq_tol(draws[DRAWS / 10 * 9], 30 * pow(2 * 0.1, -0.5), 0.9);
    draw_all(&(struct distribution){DISTRIBUTION_EXPONENTIAL, 30, 0});
    ck_assert_double_eq_tol(draws[DRAWS / 10 * 9], 30 * log(10), 0.9);
    draw_all(&(struct distribution){DISTRIBUTION_UNIFORM, 20, 40});
    ck_assert_double_eq_tol(draws[DRAWS / 10 * 9], 38, 0.2);
}

TEST_PLAIN(the_rarest_numbers_are_drawn_too)
{
    static const uint32_t edges[][3] = {{0, 0, 0},
                                        {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                        {0, 0, UINT32_MAX},
                                        {UINT32_MAX, UINT32_MAX, 0}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            double drawn = distribution_draw(&cases[j].distribution, edges[i]);
            ck_assert(isfinite(drawn));
            ck_assert_double_ge(drawn, cases[j].least * (1 - 1e-15));
            ck_assert_double_le(drawn, cases[j].most);
        }
}

int main(void)
{
    return suite_run("distribution", NULL);
}
