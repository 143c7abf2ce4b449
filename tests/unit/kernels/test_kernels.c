/* The vector arithmetic against naive loops, for sizes around every vector width. */

#include "common/kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

static float *random_floats(uint64_t count, uint32_t sub)
{
    float *x = malloc((count + 1) * sizeof *x);
    struct random_sequence sequence;
    random_sequence_init(&sequence, 3, RANDOM_STREAM_PROBE, sub);
    for (uint64_t i = 0; i < count; i++)
        x[i] = 2.0f * random_unit_float(random_next(&sequence)) - 1.0f;
    return x;
}

/* --- matrices ------------------------------------------------------------------------------ */

static const uint64_t shapes[][3] = {
    {1, 1, 1},   {1, 10, 64}, {3, 5, 7},     {16, 64, 1600},
    {2, 17, 33}, {9, 32, 50}, {100, 64, 31}, {5, 1, 3},
};

TEST_TIMES(matrices_multiply_whichever_is_transposed, sizeof shapes / sizeof shapes[0])
{
    uint64_t m = shapes[_i][0], n = shapes[_i][1], k = shapes[_i][2];
    float *a = random_floats(m * k, 1), *b = random_floats(k * n, 2);
    float *at = malloc(m * k * sizeof *at), *bt = malloc(k * n * sizeof *bt);
    float *c = random_floats(m * n, 3), *ca = random_floats(m * n, 3),
          *cb = random_floats(m * n, 3);
    for (uint64_t i = 0; i < m * k; i++)
        at[i % k * m + i / k] = a[i];
    for (uint64_t i = 0; i < k * n; i++)
        bt[i % n * k + i / n] = b[i];
    float *before = random_floats(m * n, 3);
    kernels_multiply_at(m, n, k, at, b, c, KERNELS_SET);
    kernels_multiply_at(m, n, k, at, b, ca, KERNELS_ADD);
    float *scratch = random_floats(kernels_multiply_turned_scratch(m, k), 4);
    kernels_multiply_turned(m, n, k, a, bt, cb, scratch);
    for (uint64_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < k; j++)
            sum += (double)a[i / n * k + j] * b[j * n + i % n];
        ck_assert_double_eq_tol(c[i], sum, 1e-6 * (double)(k + 8));
        ck_assert_double_eq_tol(ca[i], sum + before[i], 1e-6 * (double)(k + 8));
        ck_assert_double_eq_tol(cb[i], sum, 1e-6 * (double)(k + 8));
    }
    free(a);
    free(b);
    free(at);
    free(bt);
    free(c);
    free(ca);
    free(cb);
    free(before);
    free(scratch);
}

/* --- elements ------------------------------------------------------------------------------ */

TEST_PLAIN(adding_adds_exactly_as_many_as_asked)
{
    for (uint64_t count = 0; count < 70; count++) {
        float *sum = random_floats(71, 1), *before = random_floats(71, 1);
        float *x = random_floats(71, 2);
        kernels_add(sum, x, count);
        for (uint64_t i = 0; i < 71; i++) {
            float expected = i < count ? before[i] + x[i] : before[i];
            ck_assert(memcmp(&sum[i], &expected, sizeof expected) == 0);
        }
        free(sum);
        free(before);
        free(x);
    }
}

TEST_PLAIN(what_is_not_finite_is_found_anywhere)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float x[67];
    for (uint64_t count = 0; count <= 67; count++) {
        for (uint64_t i = 0; i < 67; i++)
            x[i] = i < count ? (i % 2 ? 3.4e38f : -1e-45f) : NAN;
        ck_assert(kernels_all_finite(x, count));
        for (uint64_t i = 0; i < count; i++) {
            float kept = x[i];
            x[i] = bad[i % 4];
            ck_assert(!kernels_all_finite(x, count));
            x[i] = kept;
        }
    }
}

TEST_PLAIN(every_byte_becomes_its_255th)
{
    uint8_t bytes[256];
    float floats[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    kernels_bytes_to_unit(bytes, 256, floats);
    for (int i = 0; i < 256; i++)
        ck_assert(floats[i] == (float)i / 255.0f);
}

TEST_PLAIN(exponentials_are_the_librarys)
{
    enum { COUNT = 70000 };
    float *x = malloc(COUNT * sizeof *x);
    double *out = malloc(COUNT * sizeof *out), shift = 0.0625;
    for (int i = 0; i < COUNT; i++) {
        x[i] = i < 35000 ? -0.0203f * (float)i : -0x1p-16f * (float)(i - 35000);
        x[i] += 0.0625f;
    }
    kernels_exponentials(x, COUNT, shift, out);
    for (int i = 0; i < COUNT; i++) {
        double power = (double)x[i] - shift, expected = exp(power < -708 ? -708 : power);
        ck_assert_msg(fabs(out[i] - expected) <= 1e-15 * expected,
                      "e^%.17g: %.17g instead of %.17g", power, out[i], expected);
    }
    float edge[3] = {0, -INFINITY, NAN};
    kernels_exponentials(edge, 3, 0, out);
    ck_assert(out[0] == 1 && out[1] < 1e-300 && out[1] >= 0 && isnan(out[2]));
    free(x);
    free(out);
}

/* --- layers -------------------------------------------------------------------------------- */

TEST_PLAIN(rows_are_summed_onto_what_is_there)
{
    float rows[3][2] = {{1, 2}, {3, 4}, {5, 6}}, sum[2] = {10, 20};
    kernels_sum_rows(&rows[0][0], 3, 2, sum);
    ck_assert(sum[0] == 19 && sum[1] == 32);
}

TEST_PLAIN(relu_passes_gradient_where_it_passed_values)
{
    float gradient[4] = {1, 2, 3, 4}, out[4] = {0, 0.1f, -0.0f, 7};
    kernels_relu_gradient(gradient, out, 4);
    ck_assert(gradient[0] == 0 && gradient[1] == 2 && gradient[2] == 0 && gradient[3] == 4);
}

/* --- convolutions -------------------------------------------------------------------------- */

/* The patch under every window, stride 1, as one row: [out_height * out_width][size * size *
 * channels]. */
static float *patches_of(struct kernels_window w, const float *image)
{
    uint64_t patch = (uint64_t)w.size * w.size * w.channels;
    float *patches = malloc(w.out_height * w.out_width * patch * sizeof *patches), *to = patches;
    for (uint32_t y = 0; y < w.out_height; y++)
        for (uint32_t x = 0; x < w.out_width; x++)
            for (uint32_t i = 0; i < w.size; i++)
                for (uint32_t j = 0; j < w.size; j++)
                    for (uint32_t c = 0; c < w.channels; c++)
                        *to++ = image[((y + i) * w.in_width + x + j) * w.channels + c];
    return patches;
}

/* What kernels_convolve does, by patches and in double precision. */
static double *naive_convolve(struct kernels_window w, const float *image, const float *kernel,
                              uint64_t outs)
{
    uint64_t positions = (uint64_t)w.out_height * w.out_width;
    uint64_t patch = (uint64_t)w.size * w.size * w.channels;
    float *patches = patches_of(w, image);
    double *out = calloc(positions * outs, sizeof *out);
    for (uint64_t i = 0; i < positions; i++)
        for (uint64_t j = 0; j < patch; j++)
            for (uint64_t o = 0; o < outs; o++)
                out[i * outs + o] += (double)patches[i * patch + j] * kernel[j * outs + o];
    free(patches);
    return out;
}

static const struct {
    struct kernels_window window;
    uint64_t outs;
} convolutions[] = {
    {{28, 28, 1, 3, 24, 24}, 32}, {{12, 12, 32, 3, 10, 10}, 64}, {{9, 7, 3, 5, 5, 3}, 16},
    {{5, 6, 17, 3, 2, 4}, 48},    {{8, 8, 16, 3, 6, 6}, 16},     {{4, 4, 64, 3, 2, 2}, 112},
    {{3, 3, 5, 1, 3, 3}, 80},     {{14, 14, 64, 3, 12, 12}, 32},
};

TEST_TIMES(convolutions_of_all_kinds_are_the_naive_one,
           sizeof convolutions / sizeof convolutions[0])
{
    struct kernels_window w = convolutions[_i].window;
    uint64_t outs = convolutions[_i].outs, positions = (uint64_t)w.out_height * w.out_width;
    uint64_t weights = (uint64_t)w.size * w.size * w.channels * outs;
    float *image = random_floats((uint64_t)w.in_height * w.in_width * w.channels, 1);
    float *kernel = random_floats(weights, 2);
    float *out = random_floats(positions * outs, 3), *fast = random_floats(positions * outs, 4);
    double *expected = naive_convolve(w, image, kernel, outs);
    double tolerance = 2e-7 * (double)(weights / outs + 50);
    struct kernels_finish finish = {.pool = 1};
    kernels_convolve(w, image, kernel, outs, finish, out);
    for (uint64_t i = 0; i < positions * outs; i++)
        ck_assert_double_eq_tol(out[i], expected[i], tolerance);
    if (kernels_winograd_fits(w, outs)) {
        uint64_t elements = kernels_winograd_kernel_elements(w.channels, outs);
        float *transformed = malloc(elements * sizeof *transformed);
        float *scratch = malloc(kernels_winograd_scratch(w, outs) * sizeof *scratch);
        kernels_winograd_kernel(kernel, w.channels, outs, transformed);
        kernels_winograd(w, image, transformed, outs, finish, fast, scratch);
        for (uint64_t i = 0; i < positions * outs; i++)
            ck_assert_double_eq_tol(fast[i], expected[i], tolerance);
        free(transformed);
        free(scratch);
    }
    free(image);
    free(kernel);
    free(out);
    free(fast);
    free(expected);
}

TEST_TIMES(a_kernels_gradient_is_patches_times_the_outputs,
           sizeof convolutions / sizeof convolutions[0])
{
    struct kernels_window w = convolutions[_i].window;
    uint64_t outs = convolutions[_i].outs, positions = (uint64_t)w.out_height * w.out_width;
    uint64_t patch = (uint64_t)w.size * w.size * w.channels;
    float *image = random_floats((uint64_t)w.in_height * w.in_width * w.channels, 1);
    float *gradient = random_floats(positions * outs, 2);
    float *kernel = random_floats(patch * outs, 3), *before = random_floats(patch * outs, 3);
    float *patches = patches_of(w, image);
    kernels_convolve_gradient(w, image, gradient, outs, kernel);
    for (uint64_t j = 0; j < patch; j++) {
        for (uint64_t o = 0; o < outs; o++) {
            double sum = before[j * outs + o];
            for (uint64_t i = 0; i < positions; i++)
                sum += (double)patches[i * patch + j] * gradient[i * outs + o];
            ck_assert_double_eq_tol(kernel[j * outs + o], sum, 5e-5);
        }
    }
    free(image);
    free(gradient);
    free(kernel);
    free(before);
    free(patches);
}

TEST_PLAIN(turning_twice_gives_the_kernel_back)
{
    float *kernel = random_floats(9 * 5 * 7, 1), *turned = random_floats(9 * 5 * 7, 2);
    float *back = random_floats(9 * 5 * 7, 3);
    kernels_turn(kernel, 3, 5, 7, turned);
    ck_assert(turned[0] == kernel[8 * 35]);
    ck_assert(turned[1] == kernel[8 * 35 + 7]); /* [0][0][0][1] from [2][2][1][0]. */
    kernels_turn(turned, 3, 7, 5, back);
    ck_assert_mem_eq(back, kernel, 9 * 5 * 7 * sizeof *back);
    free(kernel);
    free(turned);
    free(back);
}

TEST_PLAIN(padding_puts_zeros_around)
{
    float *image = random_floats(3 * 4 * 2, 1), *padded = random_floats(7 * 8 * 2, 2);
    kernels_pad(image, 3, 4, 2, 2, padded);
    for (uint32_t y = 0; y < 7; y++)
        for (uint32_t x = 0; x < 8; x++)
            for (uint32_t c = 0; c < 2; c++) {
                bool inside = y >= 2 && y < 5 && x >= 2 && x < 6;
                float expected = inside ? image[((y - 2) * 4 + x - 2) * 2 + c] : 0.0f;
                ck_assert(padded[(y * 8 + x) * 2 + c] == expected);
            }
    free(image);
    free(padded);
}

/* --- pools --------------------------------------------------------------------------------- */

static const struct kernels_window pools[] = {
    {4, 6, 3, 2, 2, 3}, {5, 7, 17, 2, 2, 3},   {9, 9, 2, 3, 3, 3},      {10, 11, 5, 3, 3, 3},
    {4, 4, 3, 1, 4, 4}, {16, 16, 1, 16, 1, 1}, {24, 24, 32, 2, 12, 12},
};

TEST_TIMES(a_pool_finds_the_first_of_the_largest_and_sends_its_gradient_there,
           sizeof pools / sizeof pools[0])
{
    struct kernels_window w = pools[_i];
    uint64_t pixels = (uint64_t)w.in_height * w.in_width * w.channels;
    uint64_t count = (uint64_t)w.out_height * w.out_width * w.channels;
    float *image = random_floats(pixels, 1), *back = random_floats(pixels, 2);
    float *out = malloc(count * sizeof *out), *values = malloc(count * sizeof *values);
    float *expected = calloc(pixels, sizeof *expected), *gradient = random_floats(count, 3);
    uint8_t *which = malloc(count);
    for (uint64_t i = 0; i < pixels; i++)
        image[i] = floorf(4 * image[i]); /* So that there are equals. */
    kernels_pool(w, image, out, which);
    kernels_pool(w, image, values, NULL);
    ck_assert_mem_eq(out, values, count * sizeof *out);
    kernels_pool_gradient(w, gradient, which, back);
    for (uint64_t o = 0; o < count; o++) {
        uint64_t c = o % w.channels, x = o / w.channels % w.out_width;
        uint64_t y = o / w.channels / w.out_width, best = 0, number = 0;
        for (uint64_t i = 0; i < (uint64_t)w.size * w.size; i++) {
            uint64_t row = y * w.size + i / w.size, column = x * w.size + i % w.size;
            uint64_t at = (row * w.in_width + column) * w.channels + c;
            if (i == 0 || image[at] > image[best]) {
                best = at;
                number = i;
            }
        }
        ck_assert(out[o] == image[best]);
        ck_assert_uint_eq(which[o], number);
        expected[best] = gradient[o];
    }
    for (uint64_t i = 0; i < pixels; i++)
        ck_assert(back[i] == expected[i]);
    free(image);
    free(back);
    free(out);
    free(values);
    free(expected);
    free(gradient);
    free(which);
}

TEST_PLAIN(instructions_have_names)
{
    ck_assert_str_eq(kernels_instructions_name(KERNELS_PLAIN), "no vector instructions");
    ck_assert_str_eq(kernels_instructions_name(KERNELS_AVX2), "AVX2");
    ck_assert_str_eq(kernels_instructions_name(KERNELS_AVX512), "AVX-512");
}

int main(void)
{
    kernels_init();
    return suite_run("kernels", NULL);
}
