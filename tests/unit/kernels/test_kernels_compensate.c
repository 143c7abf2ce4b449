/* The loops of delay compensation against the formula, element by element, for sizes around every
 * vector width: equal in every bit to single precision, and near to double. */

#include "common/kernels/kernels_compensate.h"

#include <math.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

#define COUNT_MAX 300

struct arrays {
    _Alignas(64) float sum[COUNT_MAX], now[COUNT_MAX], base[COUNT_MAX], square[COUNT_MAX],
        into[COUNT_MAX];
};

static void fill(struct arrays *a, uint32_t sub)
{
    struct random_sequence random;
    random_sequence_init(&random, 5, RANDOM_STREAM_PROBE, sub);
    for (int i = 0; i < COUNT_MAX; i++) {
        a->sum[i] = 40.0f * (random_unit_float(random_next(&random)) - 0.5f);
        a->now[i] = random_unit_float(random_next(&random)) - 0.5f;
        a->base[i] = random_unit_float(random_next(&random)) - 0.5f;
        a->square[i] = i % 7 == 0 ? 0.0f : random_unit_float(random_next(&random));
        a->into[i] = NAN;
    }
}

static struct kernels_compensation of(struct arrays *a, uint64_t count)
{
    return (struct kernels_compensation){.count = count,
                                         .sum = a->sum,
                                         .scale = 1.0f / 20,
                                         .now = a->now,
                                         .base = a->base,
                                         .mean_square = a->square,
                                         .into = a->into};
}

/* Rounded to float after every operation, whatever the compiler would fuse. */
static float rounded(float x)
{
    volatile float y = x;
    return y;
}

static float moved(const struct arrays *a, int i, float strength)
{
    float mean = rounded(a->sum[i] * (1.0f / 20));
    float curve = rounded(strength * rounded(mean * a->sum[i]));
    return rounded(a->sum[i] + rounded(curve * rounded(a->now[i] - a->base[i])));
}

TEST_PLAIN(every_width_gives_the_bits_of_the_formula)
{
    struct arrays a;
    for (uint64_t count = 0; count <= COUNT_MAX; count += count < 70 ? 1 : 23) {
        fill(&a, (uint32_t)count);
        const struct kernels_compensation what = of(&a, count);
        kernels_compensate(&what, 0.3f);
        for (int i = 0; i < COUNT_MAX; i++) {
            float expected = moved(&a, i, 0.3f);
            ck_assert((uint64_t)i < count ? memcmp(&a.into[i], &expected, 4) == 0
                                          : isnan(a.into[i]));
        }
    }
}

TEST_PLAIN(adaptively_each_element_has_its_own_strength_of_one_at_most)
{
    struct arrays a;
    int clamped = 0;
    for (uint64_t count = 0; count <= COUNT_MAX; count += count < 70 ? 1 : 23) {
        fill(&a, (uint32_t)count);
        const struct kernels_compensation what = of(&a, count);
        kernels_compensate_adaptively(&what, 0.5f);
        for (int i = 0; (uint64_t)i < count; i++) {
            float strength = rounded(0.5f / rounded(sqrtf(rounded(a.square[i] + 1e-7f))));
            clamped += strength > 1;
            float expected = moved(&a, i, strength > 1 ? 1 : strength);
            ck_assert(memcmp(&a.into[i], &expected, 4) == 0);
        }
    }
    ck_assert_int_gt(clamped, 100);
}

TEST_PLAIN(the_mean_square_takes_a_twentieth_of_each)
{
    struct arrays a, before;
    for (uint64_t count = 0; count <= COUNT_MAX; count += count < 70 ? 1 : 23) {
        fill(&a, (uint32_t)count);
        before = a;
        const struct kernels_compensation what = of(&a, count);
        kernels_mean_square(&what);
        for (int i = 0; i < COUNT_MAX; i++) {
            float mean = rounded(before.sum[i] * (1.0f / 20));
            float fresh = rounded(0.05f * rounded(mean * mean));
            float expected = rounded(rounded(0.95f * before.square[i]) + fresh);
            ck_assert(a.square[i] == ((uint64_t)i < count ? expected : before.square[i]));
        }
    }
}

TEST_PLAIN(double_precision_says_the_same)
{
    struct arrays a;
    fill(&a, 1);
    const struct kernels_compensation what = of(&a, COUNT_MAX);
    kernels_compensate(&what, 0.3f);
    for (int i = 0; i < COUNT_MAX; i++) {
        double sum = (double)a.sum[i], mean = sum / 20;
        double change = ((double)a.now[i] - (double)a.base[i]);
        ck_assert_double_eq_tol((double)a.into[i] / 20, mean + 0.3 * mean * mean * change, 1e-6);
    }
}

int main(void)
{
    return suite_run("kernels_compensate", NULL);
}
