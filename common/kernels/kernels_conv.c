/* kernels_conv.c - convolution without laying patches out: straight from the image, or by
 * Winograd's algorithm. */

#include "common/kernels/kernels.h"

#include <assert.h>
#include <string.h>

#include "common/kernels/tile.h"

static void check_finish(struct kernels_window window, struct kernels_finish finish)
{
    assert(finish.pool == 1 || (finish.pool == 2 && window.out_height % 2 == 0));
    assert(finish.pool == 1 || window.out_width % 2 == 0);
    (void)window, (void)finish;
}

/* --- straight from the image --------------------------------------------------------------- */

void kernels_convolve(struct kernels_window window, const float *image, const float *kernel,
                      uint64_t out_channels, struct kernels_finish finish, float *out)
{
    uint64_t row = (uint64_t)window.in_width * window.channels;
    uint64_t out_row = window.out_width / finish.pool * out_channels;
    const struct tile_set *set = tile_set();
    struct tile_walk walk = {
        .rows = window.size,
        .length = (uint64_t)window.size * window.channels,
        .x_row = row,
        .x_step = 1,
        .x_place = window.channels,
        .y_step = out_channels,
        .sum_place = out_channels,
        .start = finish.bias,
        .relu = finish.relu,
    };
    check_finish(window, finish);
    for (uint32_t y = 0; y < window.out_height; y += finish.pool, out += out_row) {
        if (finish.pool == 1) {
            set->run(&walk, window.out_width, out_channels, image + y * row, kernel, out);
            continue;
        }
        set->run_pooled(&walk, row, window.out_width / 2, out_channels, image + y * row, kernel,
                        out, finish.which);
        finish.which = finish.which != NULL ? finish.which + out_row : NULL;
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
        .y_step = out_channels,
        .sum_place = out_channels,
        .start_place = out_channels,
    };
    for (uint32_t i = 0; i < window.size; i++) {
        float *sums = kernel + i * run * out_channels;
        walk.start = sums;
        tile_set()->run(&walk, run, out_channels, image + i * row, out_gradient, sums);
    }
}

/* --- Winograd ------------------------------------------------------------------------------ */

/* F(2x2, 3x3) of Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
 * section 4.1: a block of 2x2 outputs from 4x4 inputs with 16 products instead of 36,
 *
 *     Y = A' [ (G g G') . (B' d B) ] A
 *
 * The 16 products over all blocks and channels are 16 matrix products. A block is what a 2x2 pool
 * takes together, so its largest is known before anything is stored. */

#define FREQUENCIES 16

/* Blocks worked on together, to bound the scratch memory: a multiple of what a tile takes. */
#define WINOGRAD_BLOCKS 30

/* Transforming costs as much for one output channel as for many, and so with inputs: below this
 * it costs more than it saves. */
#define WINOGRAD_CHANNELS_MIN 16

bool kernels_winograd_fits(struct kernels_window window, uint64_t out_channels)
{
    return window.size == 3 && window.out_height % 2 == 0 && window.out_width % 2 == 0 &&
           window.channels >= WINOGRAD_CHANNELS_MIN && out_channels >= WINOGRAD_CHANNELS_MIN;
}

/* From frequency to frequency: an odd number of cache lines, or all sixteen would fall on the same
 * few places in the cache whenever sizes are powers of two. */
static uint64_t winograd_plane(uint64_t elements)
{
    return ((elements + 15) / 16 | 1) * 16;
}

uint64_t kernels_winograd_kernel_elements(uint64_t channels, uint64_t out_channels)
{
    return FREQUENCIES * winograd_plane(channels * out_channels);
}

uint64_t kernels_winograd_scratch(struct kernels_window window, uint64_t out_channels)
{
    return FREQUENCIES * (winograd_plane(WINOGRAD_BLOCKS * window.channels) +
                          winograd_plane(WINOGRAD_BLOCKS * out_channels));
}

void kernels_winograd_kernel(const float *kernel, uint64_t channels, uint64_t out_channels,
                             float *transformed)
{
    uint64_t plane = channels * out_channels;
    tile_set()->winograd_kernel(kernel, plane, transformed, winograd_plane(plane));
}

void kernels_winograd(struct kernels_window window, const float *image, const float *transformed,
                      uint64_t out_channels, struct kernels_finish finish, float *out,
                      float *scratch)
{
    uint64_t count = (uint64_t)window.out_height / 2 * (window.out_width / 2);
    uint64_t channels = window.channels, kernel_plane = winograd_plane(channels * out_channels);
    struct tile_blocks blocks = {
        .in_plane = winograd_plane(WINOGRAD_BLOCKS * channels),
        .out_plane = winograd_plane(WINOGRAD_BLOCKS * out_channels),
    };
    float *inputs = scratch, *products = inputs + FREQUENCIES * blocks.in_plane;
    const struct tile_set *set = tile_set();
    struct tile_walk walk = {
        .rows = 1,
        .length = channels,
        .x_step = 1,
        .x_place = channels,
        .y_step = out_channels,
        .sum_place = out_channels,
    };
    check_finish(window, finish);
    for (; blocks.first < count; blocks.first += blocks.count) {
        uint64_t left = count - blocks.first;
        blocks.count = left < WINOGRAD_BLOCKS ? left : WINOGRAD_BLOCKS;
        set->winograd_inputs(window, blocks, image, inputs);
        for (uint64_t f = 0; f < FREQUENCIES; f++) {
            set->run(&walk, blocks.count, out_channels, inputs + f * blocks.in_plane,
                     transformed + f * kernel_plane, products + f * blocks.out_plane);
        }
        set->winograd_outputs(window, blocks, products, out_channels, finish, out);
    }
}

/* --- the way back to the input ------------------------------------------------------------- */

void kernels_turn(const float *kernel, uint32_t size, uint64_t in, uint64_t out, float *turned)
{
    uint64_t positions = (uint64_t)size * size;
    for (uint64_t position = 0; position < positions; position++) {
        const float *from = kernel + (positions - 1 - position) * in * out;
        for (uint64_t o = 0; o < out; o++)
            for (uint64_t i = 0; i < in; i++)
                *turned++ = from[i * out + o];
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
