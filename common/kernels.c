#include "common/kernels.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include <cblas.h>

#include "common/tile.h"
#include "common/vectorized.h"

const char *kernels_init(void)
{
    openblas_set_num_threads(1);
    return kernels_core_name();
}

const char *kernels_core_name(void)
{
    return openblas_get_corename();
}

/* --- matrices ------------------------------------------------------------------------------ */

/* Tiles where they fit: they neither pack their arguments nor clear the result first, which for our
 * matrices, long and narrow, is a third of BLAS's time. */

static void multiply(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, uint64_t m,
                     uint64_t n, uint64_t k, const float *a, const float *b, float *c,
                     enum kernels_write write)
{
    assert(m > 0 && n > 0 && k > 0 && m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
    blasint stride_a = (blasint)(transpose_a == CblasTrans ? m : k);
    blasint stride_b = (blasint)(transpose_b == CblasTrans ? k : n);
    cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, stride_a, b, stride_b, write == KERNELS_ADD ? 1.0f : 0.0f, c, (blasint)n);
}

void kernels_multiply(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b, float *c,
                      enum kernels_write write)
{
    if (!tile_fits(n)) {
        multiply(CblasNoTrans, CblasNoTrans, m, n, k, a, b, c, write);
        return;
    }
    struct tile_walk walk = {.rows = 1, .length = k, .x_step = 1, .x_place = k, .lanes = n};
    tile_run(&walk, m, a, b, c, write == KERNELS_ADD);
}

void kernels_multiply_at(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                         float *c, enum kernels_write write)
{
    if (!tile_fits(n)) {
        multiply(CblasTrans, CblasNoTrans, m, n, k, a, b, c, write);
        return;
    }
    struct tile_walk walk = {.rows = 1, .length = k, .x_step = m, .x_place = 1, .lanes = n};
    tile_run(&walk, m, a, b, c, write == KERNELS_ADD);
}

void kernels_multiply_bt(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                         float *c, enum kernels_write write)
{
    multiply(CblasNoTrans, CblasTrans, m, n, k, a, b, c, write);
}

/* --- elements ------------------------------------------------------------------------------ */

VECTORIZED void kernels_add(float *sum, const float *x, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += x[i];
    }
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

VECTORIZED void kernels_bytes_to_unit(const uint8_t *bytes, uint64_t count, float *floats)
{
    for (uint64_t i = 0; i < count; i++) {
        floats[i] = (float)bytes[i] / 255.0f;
    }
}

/* --- layers -------------------------------------------------------------------------------- */

static inline float relu_of(float x)
{
    /* Written so that NaN comes through: a diverged network must not look healthy. */
    return x < 0.0f ? 0.0f : x;
}

VECTORIZED void kernels_bias_rows(float *rows, uint64_t row_count, uint64_t columns,
                                  const float *bias, bool relu)
{
    for (uint64_t r = 0; r < row_count; r++) {
        float *restrict row = rows + r * columns;
        if (relu) {
            for (uint64_t c = 0; c < columns; c++) {
                row[c] = relu_of(row[c] + bias[c]);
            }
        } else {
            for (uint64_t c = 0; c < columns; c++) {
                row[c] += bias[c];
            }
        }
    }
}

VECTORIZED void kernels_sum_rows(const float *rows, uint64_t row_count, uint64_t columns,
                                 float *restrict sum)
{
    for (uint64_t r = 0; r < row_count; r++) {
        const float *row = rows + r * columns;
        for (uint64_t c = 0; c < columns; c++) {
            sum[c] += row[c];
        }
    }
}

VECTORIZED void kernels_relu_gradient(float *restrict gradient, const float *out, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        gradient[i] = out[i] > 0.0f ? gradient[i] : 0.0f;
    }
}

VECTORIZED void kernels_patches(struct kernels_window window, const float *image,
                                float *restrict patches)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    uint64_t run = (uint64_t)window.size * window.channels; /* One row of a patch is contiguous. */
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            const float *from = image + y * row + (uint64_t)x * window.channels;
            for (uint32_t i = 0; i < window.size; i++, from += row, patches += run) {
                for (uint64_t j = 0; j < run; j++) {
                    patches[j] = from[j];
                }
            }
        }
    }
}

VECTORIZED void kernels_patches_sum(struct kernels_window window, const float *patches,
                                    float *restrict image)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    uint64_t run = (uint64_t)window.size * window.channels;
    memset(image, 0, window.in_height * row * sizeof *image);
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            float *to = image + y * row + (uint64_t)x * window.channels;
            for (uint32_t i = 0; i < window.size; i++, to += row, patches += run) {
                for (uint64_t j = 0; j < run; j++) {
                    to[j] += patches[j];
                }
            }
        }
    }
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
        if (which) {
            which[c] = larger ? number : which[c];
        }
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
            which = which ? which + channels : NULL;
        }
    }
}

void kernels_pool(struct kernels_window window, const float *image, float *out, uint8_t *which)
{
    assert(window.size <= KERNELS_POOL_MAX);
    if (window.size != 2) {
        pool_any(window, image, out, which);
    } else if (which) {
        pool_2x2(window, image, out, which);
    } else {
        pool_2x2_values(window, image, out);
    }
}

VECTORIZED void kernels_pool_gradient(struct kernels_window window, const float *out_gradient,
                                      const uint8_t *which, float *restrict image)
{
    uint64_t channels = window.channels;
    uint64_t row = window.in_width * channels;
    if (window.in_height != window.size * window.out_height ||
        window.in_width != window.size * window.out_width) {
        memset(image, 0, window.in_height * row * sizeof *image);
    }
    for (uint32_t y = 0; y < window.out_height; y++) {
        for (uint32_t x = 0; x < window.out_width; x++) {
            float *corner = image + window.size * (y * row + x * channels);
            for (uint32_t i = 0; i < window.size * window.size; i++) {
                float *to = corner + i / window.size * row + i % window.size * channels;
                for (uint64_t c = 0; c < channels; c++) {
                    to[c] = which[c] == i ? out_gradient[c] : 0.0f;
                }
            }
            out_gradient += channels;
            which += channels;
        }
    }
}
