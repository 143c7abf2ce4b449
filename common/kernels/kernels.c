/* kernels.c - matrix products as walks of the tiles of tile.h; addition, ReLU, exponentials and
 * max-pool as loops that the compiler vectorises. */

#include "common/kernels/kernels.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "common/kernels/tile.h"
#include "common/kernels/vectorized.h"

/* Adam's means of a weight that has no gradient any more shrink for ever, and below 1e-38 every
 * operation on them takes a hundred times as long: whole updates become ten times slower. Taking
 * such numbers for zero changes nothing that can be seen, and is as exact everywhere. */
void kernels_init(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ: results; DAZ: operands. */
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24)); /* FZ */
#endif
}

/* --- matrices ------------------------------------------------------------------------------ */

static void multiply(uint64_t m, uint64_t n, struct tile_walk walk, const float *a, const float *b,
                     float *c, enum kernels_write write)
{
    assert(m > 0 && n > 0 && walk.length > 0);
    walk.rows = 1;
    walk.y_step = walk.sum_place = walk.start_place = n;
    walk.start = write == KERNELS_ADD ? c : NULL;
    tile_set()->run(&walk, m, n, a, b, c);
}

void kernels_multiply_at(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                         float *c, enum kernels_write write)
{
    multiply(m, n, (struct tile_walk){.length = k, .x_step = m, .x_place = 1}, a, b, c, write);
}

/* Rows of b that are worked on together, so that what they give is near when it is turned: more of
 * them where each time a panel of many lanes is brought together (tile_body.h). */
#define TURNED_ROWS_MAX 384

static uint64_t turned_rows(uint64_t lanes, uint64_t steps)
{
    bool panels = lanes >= 64 && steps >= 512 && kernels_instructions() != KERNELS_AVX512;
    return panels ? TURNED_ROWS_MAX : 96;
}

uint64_t kernels_multiply_turned_scratch(uint64_t m, uint64_t k)
{
    return (k + TURNED_ROWS_MAX) * m;
}

/* Lanes must lie side by side, and in b those of one element do not. So c' = b a': only the small
 * matrices are turned. */
void kernels_multiply_turned(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                             float *c, float *scratch)
{
    float *turned = scratch, *product = scratch + k * m;
    uint64_t most = turned_rows(m, k);
    struct tile_walk walk = {.length = k, .x_step = 1, .x_place = k};
    kernels_transpose(m, k, a, k, turned, m);
    for (uint64_t row = 0; row < n; row += most) {
        uint64_t rows = n - row < most ? n - row : most;
        multiply(rows, m, walk, b + row * k, turned, product, KERNELS_SET);
        kernels_transpose(rows, m, product, m, c + row, n);
    }
}

void kernels_dense(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                   const float *bias, bool relu, float *c)
{
    struct tile_walk walk = {
        .rows = 1,
        .length = k,
        .x_step = 1,
        .x_place = k,
        .y_step = n,
        .sum_place = n,
        .start = bias,
        .relu = relu,
    };
    assert(m > 0 && n > 0 && k > 0);
    tile_set()->run(&walk, m, n, a, b, c);
}

/* --- elements ------------------------------------------------------------------------------ */

VECTORIZED void kernels_add(float *sum, const float *x, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        sum[i] += x[i];
}

VECTORIZED void kernels_sum(float *sum, const float *x, const float *y, uint64_t count)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++)
        sum[i] = x[i] + y[i];
}

VECTORIZED bool kernels_all_finite(const float *x, uint64_t count)
{
    /* NaN and infinity are the values whose exponent is all ones. Looking at every element, without
     * a way out of the loop, is what lets it be vectorised. */
    const uint32_t exponent = 0x7f800000;
    uint32_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return found == 0;
}

/* Division is slow. 1/255 in two parts, the first so short that its product with a byte is exact:
 * the sum is then rounded as the quotient would be, for every byte. */
VECTORIZED void kernels_bytes_to_unit(const uint8_t *bytes, uint64_t count, float *floats)
{
    const float high = 0x1.01p-8f, low = (float)(1.0 / 255 - 0x1.01p-8);
    for (uint64_t i = 0; i < count; i++)
        floats[i] = (float)bytes[i] * high + (float)bytes[i] * low;
}

/* e^x = 2^n e^r with n whole and |r| at most half of ln 2, e^r by its Taylor series. Adding 1.5 *
 * 2^52 rounds to whole numbers and leaves n in the lowest bits. */
static inline double exponential(double x)
{
    static const double inverse[] = {1.0 / 6227020800,
                                     1.0 / 479001600,
                                     1.0 / 39916800,
                                     1.0 / 3628800,
                                     1.0 / 362880,
                                     1.0 / 40320,
                                     1.0 / 5040,
                                     1.0 / 720,
                                     1.0 / 120,
                                     1.0 / 24,
                                     1.0 / 6,
                                     1.0 / 2,
                                     1.0,
                                     1.0};
    const double shift = 0x1.8p52, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    x = x < -708.0 ? -708.0 : x;
    double whole = x * 0x1.71547652b82fep0 + shift, n = whole - shift;
    double r = (x - n * ln2_high) - n * ln2_low, sum = inverse[0];
    for (int i = 1; i < 14; i++)
        sum = sum * r + inverse[i];
    uint64_t bits;
    double power;
    memcpy(&bits, &whole, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

VECTORIZED void kernels_exponentials(const float *x, uint64_t count, double shift, double *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = exponential((double)x[i] - shift);
}

/* --- layers -------------------------------------------------------------------------------- */

VECTORIZED void kernels_sum_rows(const float *rows, uint64_t row_count, uint64_t columns,
                                 float *restrict sum)
{
    for (uint64_t r = 0; r < row_count; r++) {
        const float *row = rows + r * columns;
        for (uint64_t c = 0; c < columns; c++)
            sum[c] += row[c];
    }
}

VECTORIZED void kernels_relu_gradient(float *restrict gradient, const float *out, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        gradient[i] = out[i] > 0.0f ? gradient[i] : 0.0f;
}

/* Windows of 2x2, which nearly every network uses, in one look at the four elements. */
VECTORIZED static void pool_2x2(struct kernels_window window, const float *image,
                                float *restrict out, uint8_t *restrict which)
{
    uint64_t channels = window.channels;
    uint64_t row = window.in_width * channels;
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            const float *top = image + 2 * (y * row + x * channels);
            const float *bottom = top + row;
            for (uint64_t c = 0; c < channels; c++) {
                float best = top[c];
                uint8_t number = 0;
                number = top[channels + c] > best ? 1 : number;
                best = top[channels + c] > best ? top[channels + c] : best;
                number = bottom[c] > best ? 2 : number;
                best = bottom[c] > best ? bottom[c] : best;
                number = bottom[channels + c] > best ? 3 : number;
                best = bottom[channels + c] > best ? bottom[channels + c] : best;
                out[c] = best;
                which[c] = number;
            }
            out += channels;
            which += channels;
        }
    }
}

VECTORIZED static void pool_2x2_values(struct kernels_window window, const float *image,
                                       float *restrict out)
{
    uint64_t channels = window.channels;
    uint64_t row = window.in_width * channels;
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            const float *top = image + 2 * (y * row + x * channels);
            const float *bottom = top + row;
            for (uint64_t c = 0; c < channels; c++) {
                float best = top[c];
                best = top[channels + c] > best ? top[channels + c] : best;
                best = bottom[c] > best ? bottom[c] : best;
                best = bottom[channels + c] > best ? bottom[channels + c] : best;
                out[c] = best;
            }
            out += channels;
        }
    }
}

/* One position of a window of any size: take x where it is larger. */
static inline void pool_position(const float *x, uint64_t channels, uint8_t number,
                                 float *restrict out, uint8_t *restrict which)
{
    for (uint64_t c = 0; c < channels; c++) {
        bool larger = number == 0 || x[c] > out[c];
        out[c] = larger ? x[c] : out[c];
        if (which != NULL)
            which[c] = larger ? number : which[c];
    }
}

static void pool_any(struct kernels_window window, const float *image, float *out, uint8_t *which)
{
    uint64_t channels = window.channels;
    uint64_t row = window.in_width * channels;
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++, out += channels) {
            const float *corner = image + window.size * (y * row + x * channels);
            for (uint32_t i = 0; i < window.size * window.size; i++) {
                const float *from = corner + i / window.size * row + i % window.size * channels;
                pool_position(from, channels, (uint8_t)i, out, which);
            }
            which = which != NULL ? which + channels : NULL;
        }
    }
}

void kernels_pool(struct kernels_window window, const float *image, float *out, uint8_t *which)
{
    assert(window.size <= KERNELS_POOL_MAX);
    if (window.size != 2)
        pool_any(window, image, out, which);
    else if (which != NULL)
        pool_2x2(window, image, out, which);
    else
        pool_2x2_values(window, image, out);
}

VECTORIZED void kernels_pool_gradient(struct kernels_window window, const float *out_gradient,
                                      const uint8_t *which, float *restrict image)
{
    uint64_t channels = window.channels;
    uint64_t row = window.in_width * channels;
    if (window.in_height != window.size * window.out_height ||
        window.in_width != window.size * window.out_width)
        memset(image, 0, window.in_height * row * sizeof *image);
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            float *corner = image + window.size * (y * row + x * channels);
            for (uint32_t i = 0; i < window.size * window.size; i++) {
                float *to = corner + i / window.size * row + i % window.size * channels;
                for (uint64_t c = 0; c < channels; c++)
                    to[c] = which[c] == i ? out_gradient[c] : 0.0f;
            }
            out_gradient += channels;
            which += channels;
        }
    }
}
