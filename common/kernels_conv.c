/* kernels_conv.c - convolution without laying patches out: straight from the image, or by
 * Winograd's algorithm. */

#include "common/kernels.h"

#include <string.h>

#include "common/tile.h"
#include "common/vectorized.h"

/* --- straight from the image --------------------------------------------------------------- */

bool kernels_convolve_fits(uint64_t out_channels)
{
    return tile_fits(out_channels);
}

void kernels_convolve(struct kernels_window window, const float *image, const float *kernel,
                      uint64_t out_channels, float *out)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    struct tile_walk walk = {
        .rows = window.size,
        .length = (uint64_t)window.size * window.channels,
        .x_row = row,
        .x_step = 1,
        .x_place = window.channels,
        .lanes = out_channels,
    };
    for (uint32_t y = 0; y < window.out_height; y++) {
        tile_run(&walk, window.out_width, image + y * row, kernel,
                 out + (uint64_t)y * window.out_width * out_channels, false);
    }
}

void kernels_convolve_gradient(struct kernels_window window, const float *image,
                               const float *out_gradient, uint64_t out_channels, float *kernel)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    uint64_t run = (uint64_t)window.size * window.channels; /* One row of a patch. */
    struct tile_walk walk = {
        .rows = window.out_height,
        .length = window.out_width,
        .x_row = row,
        .x_step = window.channels,
        .x_place = 1,
        .lanes = out_channels,
    };
    for (uint32_t i = 0; i < window.size; i++) {
        tile_run(&walk, run, image + i * row, out_gradient, kernel + i * run * out_channels, true);
    }
}

/* --- Winograd ------------------------------------------------------------------------------ */

/* F(2x2, 3x3) of Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
 * section 4.1: a block of 2x2 outputs from 4x4 inputs with 16 products instead of 36,
 *
 *     Y = A' [ (G g G') . (B' d B) ] A
 *
 * The 16 products over all blocks and channels are 16 matrix products. */

#define FREQUENCIES 16

/* Transforming costs as much for one output channel as for many, and so with inputs: below this
 * it costs more than it saves. */
#define WINOGRAD_CHANNELS_MIN 16

bool kernels_winograd_fits(struct kernels_window window, uint64_t out_channels)
{
    return window.size == 3 && window.out_height % 2 == 0 && window.out_width % 2 == 0 &&
           window.channels >= WINOGRAD_CHANNELS_MIN && tile_fits(out_channels);
}

uint64_t kernels_winograd_kernel_elements(uint64_t channels, uint64_t out_channels)
{
    return FREQUENCIES * channels * out_channels;
}

static uint64_t winograd_blocks(struct kernels_window window)
{
    return (uint64_t)window.out_height / 2 * (window.out_width / 2);
}

/* Room for one block halfway through its transformation. */
static uint64_t winograd_half(struct kernels_window window, uint64_t out_channels)
{
    return FREQUENCIES * (window.channels > out_channels ? window.channels : out_channels);
}

uint64_t kernels_winograd_scratch(struct kernels_window window, uint64_t out_channels)
{
    return FREQUENCIES * winograd_blocks(window) * (window.channels + out_channels) +
           winograd_half(window, out_channels);
}

/* Each transformation goes along rows first and along columns then. Loops run over the channels,
 * because that is where vectors are. */

/* G g G', in place once the rows are there: three planes of every four become four. */
VECTORIZED void kernels_winograd_kernel(const float *kernel, uint64_t channels,
                                        uint64_t out_channels, float *transformed)
{
    uint64_t plane = channels * out_channels, row = 3 * plane;
    float *restrict t = transformed;
    for (uint64_t i = 0; i < row; i++) {
        float a = kernel[i], b = kernel[row + i], c = kernel[2 * row + i];
        t[i] = a;
        t[4 * plane + i] = 0.5f * ((a + c) + b);
        t[8 * plane + i] = 0.5f * ((a + c) - b);
        t[12 * plane + i] = c;
    }
    for (int j = 0; j < 4; j++, t += 4 * plane) {
        for (uint64_t i = 0; i < plane; i++) {
            float a = t[i], b = t[plane + i], c = t[2 * plane + i];
            t[plane + i] = 0.5f * ((a + c) + b);
            t[2 * plane + i] = 0.5f * ((a + c) - b);
            t[3 * plane + i] = c;
        }
    }
}

/* B' d B of the 4x4 block at d, whose rows lie `row` apart; frequencies go `plane` apart.
 * half: [4][4][channels]. */
static inline void winograd_input(const float *d, uint64_t row, uint64_t channels,
                                  float *restrict half, float *restrict out, uint64_t plane)
{
    uint64_t width = 4 * channels;
    for (uint64_t i = 0; i < width; i++) {
        float d0 = d[i], d1 = d[row + i], d2 = d[2 * row + i], d3 = d[3 * row + i];
        half[i] = d0 - d2;
        half[width + i] = d1 + d2;
        half[2 * width + i] = d2 - d1;
        half[3 * width + i] = d1 - d3;
    }
    for (int j = 0; j < 4; j++, half += width, out += 4 * plane) {
        for (uint64_t c = 0; c < channels; c++) {
            float h0 = half[c], h1 = half[channels + c];
            float h2 = half[2 * channels + c], h3 = half[3 * channels + c];
            out[c] = h0 - h2;
            out[plane + c] = h1 + h2;
            out[2 * plane + c] = h2 - h1;
            out[3 * plane + c] = h1 - h3;
        }
    }
}

/* A' m A: the 2x2 outputs of one block. half: [2][4][channels]. */
static inline void winograd_output(const float *m, uint64_t plane, uint64_t channels,
                                   float *restrict half, float *restrict out, uint64_t row)
{
    uint64_t width = 4 * channels;
    for (int j = 0; j < 4; j++, m += plane) {
        for (uint64_t c = 0; c < channels; c++) {
            float m0 = m[c], m1 = m[4 * plane + c], m2 = m[8 * plane + c], m3 = m[12 * plane + c];
            half[j * channels + c] = (m0 + m1) + m2;
            half[width + j * channels + c] = (m1 - m2) - m3;
        }
    }
    for (int i = 0; i < 2; i++, half += width, out += row) {
        for (uint64_t c = 0; c < channels; c++) {
            float h0 = half[c], h1 = half[channels + c];
            float h2 = half[2 * channels + c], h3 = half[3 * channels + c];
            out[c] = (h0 + h1) + h2;
            out[channels + c] = (h1 - h2) - h3;
        }
    }
}

VECTORIZED static void winograd_inputs(struct kernels_window window, const float *image,
                                       float *half, float *out)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    uint64_t plane = winograd_blocks(window) * window.channels;
    for (uint32_t y = 0; y < window.out_height; y += 2) {
        for (uint32_t x = 0; x < window.out_width; x += 2, out += window.channels) {
            winograd_input(image + y * row + (uint64_t)x * window.channels, row, window.channels,
                           half, out, plane);
        }
    }
}

VECTORIZED static void winograd_outputs(struct kernels_window window, const float *products,
                                        uint64_t out_channels, float *half, float *out)
{
    uint64_t row = window.out_width * out_channels;
    uint64_t plane = winograd_blocks(window) * out_channels;
    for (uint32_t y = 0; y < window.out_height; y += 2) {
        for (uint32_t x = 0; x < window.out_width; x += 2, products += out_channels) {
            winograd_output(products, plane, out_channels, half, out + y * row + x * out_channels,
                            row);
        }
    }
}

void kernels_winograd(struct kernels_window window, const float *image, const float *transformed,
                      uint64_t out_channels, float *out, float *scratch)
{
    uint64_t blocks = winograd_blocks(window), channels = window.channels;
    float *half = scratch, *inputs = half + winograd_half(window, out_channels);
    float *products = inputs + FREQUENCIES * blocks * channels;
    winograd_inputs(window, image, half, inputs);
    struct tile_walk walk = {
        .rows = 1,
        .length = channels,
        .x_step = 1,
        .x_place = channels,
        .lanes = out_channels,
    };
    for (uint64_t f = 0; f < FREQUENCIES; f++) {
        tile_run(&walk, blocks, inputs + f * blocks * channels,
                 transformed + f * channels * out_channels, products + f * blocks * out_channels,
                 false);
    }
    winograd_outputs(window, products, out_channels, half, out);
}

/* --- the way back to the input ------------------------------------------------------------- */

void kernels_turn(const float *kernel, uint32_t size, uint64_t in, uint64_t out, float *turned)
{
    uint64_t positions = (uint64_t)size * size;
    for (uint64_t position = 0; position < positions; position++) {
        const float *from = kernel + (positions - 1 - position) * in * out;
        for (uint64_t o = 0; o < out; o++) {
            for (uint64_t i = 0; i < in; i++) {
                *turned++ = from[i * out + o];
            }
        }
    }
}

void kernels_pad(const float *image, uint32_t height, uint32_t width, uint64_t channels,
                 uint32_t border, float *padded)
{
    uint64_t side = border * channels, row = width * channels, wide = row + 2 * side;
    memset(padded, 0, border * wide * sizeof *padded);
    padded += border * wide;
    for (uint32_t y = 0; y < height; y++, image += row, padded += wide) {
        memset(padded, 0, side * sizeof *padded);
        memcpy(padded + side, image, row * sizeof *padded);
        memset(padded + side + row, 0, side * sizeof *padded);
    }
    memset(padded, 0, border * wide * sizeof *padded);
}
