/* test_elementary.c - powers, exponentials, cosines and logarithms: right, and the same bits everywhere. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/base/elementary.h"
#include "tests/lib/suite.h"

/* The library's long doubles are the truth here: wide enough to judge a double. */
static void expect_near(const char *what, double x, double found, long double truth,
                        long double most)
{
    ck_assert_msg(fabsl((long double)found - truth) <= most, "%s(%a) is %a, and not %La", what, x,
                  found, truth);
}

TEST_PLAIN(powers_are_products)
{
    ck_assert(elementary_power(0.5, 0) == 1.0);
    ck_assert(elementary_power(0.5, 1) == 0.5);
    ck_assert(elementary_power(0.5, 10) == 0x1p-10);
    ck_assert(elementary_power(3.0, 5) == 243.0);
    ck_assert(elementary_power(0.0, 0) == 1.0);
    ck_assert(elementary_power(0.9, UINT64_MAX) == 0.0);
    for (uint64_t n = 1; n < 100000; n = 3 * n / 2 + 1) {
        long double truth = powl(0.999L, (long double)n) * powl(0.999 / 0.999L, (long double)n);
        expect_near("0.999 to the power of", (double)n, elementary_power(0.999, n), truth,
                    truth * (long double)n * 0x1p-53L);
    }
}

TEST_PLAIN(cosines_are_exact_where_they_can_be)
{
    ck_assert(elementary_cosine_pi(0.0) == 1.0);
    ck_assert(elementary_cosine_pi(0.5) == 0.0);
    ck_assert(elementary_cosine_pi(1.0) == -1.0);
    const uint32_t count = 100000;
    for (uint32_t i = 0; i <= count; i++) {
        double x = (double)i / count;
        expect_near("cos pi x", x, elementary_cosine_pi(x), cosl(M_PIl * (long double)x), 0x1p-52L);
        ck_assert(i == 0 ||
                  elementary_cosine_pi(x) < elementary_cosine_pi((double)(i - 1) / count));
    }
}

TEST_PLAIN(logarithms_are_the_librarys)
{
    ck_assert(elementary_logarithm(1.0) == 0.0);
    ck_assert(isnan(elementary_logarithm(NAN)));
    ck_assert(elementary_logarithm(INFINITY) == INFINITY);
    static const double edges[] = {DBL_MIN, DBL_MAX, 0x1.6a09e667f3bcdp0, 0x1.6a09e667f3bccp0, 2.0};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        long double truth = logl((long double)edges[i]);
        expect_near("log", edges[i], elementary_logarithm(edges[i]), truth,
                    fabsl(truth) * 0x1p-51L);
    }
    for (double x = 1e-300; x < 1e300; x *= 1.0371) {
        long double truth = logl((long double)x);
        expect_near("log", x, elementary_logarithm(x), truth, fabsl(truth) * 0x1p-51L);
    }
}

TEST_PLAIN(exponentials_are_the_librarys)
{
    ck_assert(elementary_exponential(0.0) == 1.0);
    static const double edges[] = {-700, 700, 0x1.62e42fefa39efp-2, -0x1.62e42fefa39efp-2, 1.0};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        long double truth = expl((long double)edges[i]);
        expect_near("exp", edges[i], elementary_exponential(edges[i]), truth, truth * 0x1p-50L);
    }
    for (double x = -700; x < 700; x += 0.00937) {
        long double truth = expl((long double)x);
        expect_near("exp", x, elementary_exponential(x), truth, truth * 0x1p-50L);
    }
}

static uint64_t mix(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (hash ^ bits) * UINT64_C(0x100000001b3);
}

/* Sums in a fixed order have bits that can be written down; a compiler that fuses or reorders them
 * gives others. */
TEST_PLAIN(the_bits_are_these)
{
    uint64_t powers = 0, cosines = 0, logarithms = 0, exponentials = 0;
    for (uint32_t i = 1; i <= 1000; i++) {
        powers = mix(powers, elementary_power(0x1.ff7ceep-1, i));
        cosines = mix(cosines, elementary_cosine_pi(i * 0x1.fp-11));
        logarithms = mix(logarithms, elementary_logarithm(i * 0x1.3p-3));
        exponentials = mix(exponentials, elementary_exponential(i * 0x1.3p-5 - 9));
    }
    ck_assert_uint_eq(powers, UINT64_C(0xd888099f6cee8f54));
    ck_assert_uint_eq(cosines, UINT64_C(0xcc01e777b0698bf6));
    ck_assert_uint_eq(logarithms, UINT64_C(0x653e8ed0b7a9457e));
    ck_assert_uint_eq(exponentials, UINT64_C(0x5294b1b78cf556d3));
}

int main(void)
{
    return suite_run("elementary", NULL);
}
