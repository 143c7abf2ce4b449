/* The way back through a convolution and its pool, in every instruction set, over random shapes and
 * densities, against plain loops that do the same in the order that the header's users may rely on:
 * bit for bit where products are fused, closely where they are not. */

#include "common/kernels/kernels_sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/kernels/vectorized.h"
#include "tests/lib/edge.h"
#include "tests/lib/suite.h"

/* Sanitizers slow the plain loops down twentyfold; fewer shapes will do for what they look for. */
#ifdef VECTORIZED_BASELINE
#define CASES 12
#else
#define CASES 64
#endif
#define TAPS 9

static struct random_sequence sequence;

static float any(void)
{
    return 2.0f * random_unit_float(random_next(&sequence)) - 1.0f;
}

static float *any_floats(uint64_t count)
{
    float *x = edge_new(count * sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = any();
    return x;
}

struct trial {
    struct kernels_sparse sparse;
    uint64_t in, out, image_count, windows, gradient_count, kernel_count, across;
    float *image, *kernel, *gradient, *image_gradient, *kernel_gradient;
    uint8_t *which;
};

static uint32_t channels_of(uint32_t number)
{
    static const uint32_t some[] = {1, 3, 16, 17, 32, 64, 70, 5};
    return some[number % 8];
}

/* Shapes run through channels and pools; densities through none, all, and in between. */
static struct trial trial_new(uint32_t number, uint32_t pool, uint32_t in)
{
    random_sequence_init(&sequence, 5, RANDOM_STREAM_PROBE, number);
    uint32_t down = 1 + random_below(&sequence, 5), across = 1 + random_below(&sequence, 5);
    uint32_t more = random_below(&sequence, 3);
    struct trial t = {.in = in, .out = channels_of(number / 8), .across = across};
    t.sparse = (struct kernels_sparse){
        .window = {down * pool + 2 + more, across * pool + 2 + more, in, 3, down * pool,
                   across * pool},
        .pool = pool,
        .out_channels = t.out,
    };
    t.windows = (uint64_t)down * across;
    t.image_count = (uint64_t)t.sparse.window.in_height * t.sparse.window.in_width * in;
    t.gradient_count = t.windows * t.out;
    t.kernel_count = TAPS * in * t.out;
    t.image = any_floats(t.image_count);
    t.kernel = any_floats(t.kernel_count);
    t.gradient = any_floats(t.gradient_count);
    t.image_gradient = any_floats(t.image_count);
    t.kernel_gradient = any_floats(t.kernel_count);
    t.which = edge_new(t.gradient_count);
    float density = (float[]){0.0f, 1.0f, 0.4f, 0.8f}[random_below(&sequence, 4)];
    for (uint64_t i = 0; i < t.gradient_count; i++) {
        t.which[i] = (uint8_t)random_below(&sequence, pool * pool);
        if (random_unit_float(random_next(&sequence)) >= density)
            t.gradient[i] = i % 2 ? 0.0f : -0.0f;
    }
    return t;
}

static void trial_free(struct trial *t)
{
    edge_free(t->image, t->image_count * sizeof(float));
    edge_free(t->kernel, t->kernel_count * sizeof(float));
    edge_free(t->gradient, t->gradient_count * sizeof(float));
    edge_free(t->image_gradient, t->image_count * sizeof(float));
    edge_free(t->kernel_gradient, t->kernel_count * sizeof(float));
    edge_free(t->which, t->gradient_count);
}

/* One window of one output channel. kernel_gradient and kernel are [3][3][in][out]. */
static void naive_window(const struct trial *t, uint64_t w, uint64_t o, float *image_gradient,
                         float *kernel_gradient)
{
    uint32_t pool = t->sparse.pool;
    float value = t->gradient[w * t->out + o];
    uint64_t position = pool > 1 ? t->which[w * t->out + o] : 0;
    uint64_t top = w / t->across * pool + position / pool;
    uint64_t left = w % t->across * pool + position % pool;
    if (value == 0.0f)
        return;
    for (uint64_t tap = 0; tap < TAPS; tap++) {
        uint64_t pixel = (top + tap / 3) * t->sparse.window.in_width + left + tap % 3;
        for (uint64_t c = 0; c < t->in; c++) {
            uint64_t x = pixel * t->in + c, k = (tap * t->in + c) * t->out + o;
            kernel_gradient[k] = fmaf(value, t->image[x], kernel_gradient[k]);
            image_gradient[x] = fmaf(value, t->kernel[k], image_gradient[x]);
        }
    }
}

/* 128 positions' windows after the other, of those output channel by output channel, of those every
 * second window first. */
static void naive_gradient(const struct trial *t, float *image_gradient, float *kernel_gradient)
{
    uint64_t together = 128 / (t->sparse.pool * t->sparse.pool);
    for (uint64_t first = 0; first < t->windows; first += together) {
        uint64_t left = t->windows - first, end = first + (left < together ? left : together);
        for (uint64_t o = 0; o < t->out; o++) {
            for (uint64_t w = first; w < end; w += 2)
                naive_window(t, w, o, image_gradient, kernel_gradient);
            for (uint64_t w = first + 1; w < end; w += 2)
                naive_window(t, w, o, image_gradient, kernel_gradient);
        }
    }
}

static void compare(const float *got, const float *expected, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool same = kernels_instructions() == KERNELS_PLAIN ? fabsf(got[i] - expected[i]) <= 1e-4f
                                                            : got[i] == expected[i];
        ck_assert_msg(same, "set %d, element %d of %d: %.9g instead of %.9g",
                      (int)kernels_instructions(), (int)i, (int)count, (double)got[i],
                      (double)expected[i]);
    }
}

/* turned_gradient begins with the kernel's gradient so far, to see that it is added to. */
static void run_lists(const struct trial *t, bool image_wanted, float *image_gradient,
                      float *kernel_gradient)
{
    uint64_t scratch_count = kernels_sparse_scratch(t->sparse);
    float *turned = edge_new(t->kernel_count * sizeof *turned);
    float *sums = edge_new(t->kernel_count * sizeof *sums);
    float *scratch = edge_new(scratch_count * sizeof *scratch);
    uint64_t rows = TAPS * t->in;
    kernels_transpose(rows, t->out, t->kernel, t->out, turned, rows);
    kernels_transpose(rows, t->out, t->kernel_gradient, t->out, sums, rows);
    kernels_sparse_gradient(t->sparse, t->image, turned, t->gradient,
                            t->sparse.pool > 1 ? t->which : NULL, sums,
                            image_wanted ? image_gradient : NULL, scratch);
    kernels_transpose(t->out, rows, sums, rows, kernel_gradient, t->out);
    edge_free(turned, t->kernel_count * sizeof *turned);
    edge_free(sums, t->kernel_count * sizeof *sums);
    edge_free(scratch, scratch_count * sizeof *scratch);
}

TEST_TIMES(lists_give_what_plain_loops_give, CASES)
{
    struct trial t = trial_new((uint32_t)_i, 1 + (uint32_t)_i % 3, channels_of((uint32_t)_i));
    float *image_gradient = calloc(t.image_count, sizeof *image_gradient);
    float *expected = calloc(t.kernel_count, sizeof *expected);
    float *kernel_gradient = edge_new(t.kernel_count * sizeof *kernel_gradient);
    memcpy(expected, t.kernel_gradient, t.kernel_count * sizeof *expected);
    naive_gradient(&t, image_gradient, expected);
    for (int set = KERNELS_PLAIN; set <= KERNELS_AVX512; set++) {
        kernels_limit((enum kernels_instructions)set);
        run_lists(&t, true, t.image_gradient, kernel_gradient);
        compare(t.image_gradient, image_gradient, t.image_count);
        compare(kernel_gradient, expected, t.kernel_count);
        run_lists(&t, false, NULL, kernel_gradient);
        compare(kernel_gradient, expected, t.kernel_count);
    }
    edge_free(kernel_gradient, t.kernel_count * sizeof *kernel_gradient);
    free(image_gradient);
    free(expected);
    trial_free(&t);
}

TEST_TIMES(few_channels_give_what_plain_loops_give, CASES)
{
    struct trial t = trial_new((uint32_t)_i, 2, 1 + (uint32_t)_i % 4);
    uint64_t scratch_count = kernels_few_scratch(t.sparse);
    float *unused = calloc(t.image_count, sizeof *unused);
    float *expected = calloc(t.kernel_count, sizeof *expected);
    float *scratch = edge_new(scratch_count * sizeof *scratch);
    ck_assert(kernels_few_fits(t.sparse));
    for (int set = KERNELS_PLAIN; set <= KERNELS_AVX512; set++) {
        kernels_limit((enum kernels_instructions)set);
        memcpy(expected, t.kernel_gradient, t.kernel_count * sizeof *expected);
        for (uint64_t o = 0; o < t.out; o++)
            for (uint64_t w = 0; w < t.windows; w++)
                naive_window(&t, w, o, unused, expected);
        kernels_few_gradient(t.sparse, t.image, t.gradient, t.which, t.kernel_gradient, scratch);
        compare(t.kernel_gradient, expected, t.kernel_count);
    }
    edge_free(scratch, scratch_count * sizeof *scratch);
    free(unused);
    free(expected);
    trial_free(&t);
}

TEST_PLAIN(what_is_not_finite_comes_through)
{
    struct trial t = trial_new(2, 2, 16);
    float *kernel_gradient = calloc(t.kernel_count, sizeof *kernel_gradient);
    memset(t.gradient, 0, t.gradient_count * sizeof *t.gradient);
    memset(t.which, 0, t.gradient_count);
    t.gradient[0] = NAN;
    run_lists(&t, true, t.image_gradient, kernel_gradient);
    ck_assert(isnan(kernel_gradient[0]) && isnan(t.image_gradient[0]));
    free(kernel_gradient);
    trial_free(&t);
}

int main(void)
{
    return suite_run("kernels_sparse", NULL);
}
