/* kernels_sparse.c - lists of places and values, written without branches, and loops over them;
 * kernels_sparse.h has the idea. */

#include "common/kernels/kernels_sparse.h"

#include <assert.h>
#include <string.h>

#include "common/kernels/tile.h"
#include "common/kernels/vectorized.h"

/* --- lists --------------------------------------------------------------------------------- */

static uint64_t windows_across(struct kernels_sparse sparse)
{
    return sparse.window.out_width / sparse.pool;
}

static uint64_t windows_of(struct kernels_sparse sparse)
{
    return sparse.window.out_height / sparse.pool * windows_across(sparse);
}

/* Positions worked on together, window by window, so that what they see of one vector of channels
 * of the image and of its gradient, 16 KiB, stays in the first-level cache while all output
 * channels go by. */
#define POSITIONS_TOGETHER 128

static uint64_t windows_together(struct kernels_sparse sparse)
{
    uint64_t most = POSITIONS_TOGETHER / (sparse.pool * sparse.pool), windows = windows_of(sparse);
    most = most > 0 ? most : 1;
    return windows < most ? windows : most;
}

/* Entries are as large as two floats, counts and places as one. */
uint64_t kernels_sparse_scratch(struct kernels_sparse sparse)
{
    uint64_t windows = windows_together(sparse), positions = windows * sparse.pool * sparse.pool;
    return sparse.out_channels * (2 * windows + 1) + positions;
}

/* Where in the image every position of windows [first, end) begins. */
static void list_places(struct kernels_sparse sparse, uint64_t first, uint64_t end,
                        uint32_t *places)
{
    uint64_t across = windows_across(sparse);
    for (uint64_t w = first; w < end; w++) {
        uint64_t top = w / across * sparse.pool, left = w % across * sparse.pool;
        for (uint64_t i = 0; i < sparse.pool * sparse.pool; i++) {
            uint64_t y = top + i / sparse.pool, x = left + i % sparse.pool;
            *places++ = (uint32_t)((y * sparse.window.in_width + x) * sparse.window.channels);
        }
    }
}

/* One channel's list; returns its length. An entry is written in any case and counted only when it
 * is not zero, because which are cannot be foreseen. Every second window comes first: pixels that
 * neighbours share would have to wait for each other. */
static uint32_t list_channel(struct kernels_sparse sparse, uint64_t windows, const uint32_t *places,
                             const float *gradient, const uint8_t *which,
                             struct sparse_entry *entries)
{
    uint64_t positions = sparse.pool * sparse.pool;
    uint32_t count = 0;
    for (uint64_t first = 0; first < 2; first++) {
        for (uint64_t w = first; w < windows; w += 2) {
            uint64_t at = w * sparse.out_channels;
            uint32_t bits;
            memcpy(&bits, &gradient[at], sizeof bits);
            entries[count].place = places[w * positions + (which != NULL ? which[at] : 0)];
            memcpy(&entries[count].value, &bits, sizeof bits);
            count += bits << 1 != 0; /* Neither 0 nor -0. */
        }
    }
    return count;
}

void kernels_sparse_gradient(struct kernels_sparse sparse, const float *image, const float *turned,
                             const float *gradient, const uint8_t *which, float *turned_gradient,
                             float *image_gradient, float *scratch)
{
    assert(sparse.window.size == 3 && (which != NULL || sparse.pool == 1));
    uint64_t together = windows_together(sparse), outs = sparse.out_channels;
    uint64_t row = (uint64_t)sparse.window.in_width * sparse.window.channels;
    struct sparse_entry *entries = (struct sparse_entry *)scratch;
    uint32_t *counts = (uint32_t *)(entries + outs * together), *places = counts + outs;
    struct sparse_lists lists = {entries, counts, together, outs, row, sparse.window.channels};
    if (image_gradient != NULL)
        memset(image_gradient, 0, sparse.window.in_height * row * sizeof *image_gradient);
    for (uint64_t w = 0, n; w < windows_of(sparse); w += n) {
        n = windows_of(sparse) - w < together ? windows_of(sparse) - w : together;
        list_places(sparse, w, w + n, places);
        for (uint64_t o = 0; o < outs; o++) {
            uint64_t at = w * outs + o;
            counts[o] = list_channel(sparse, n, places, gradient + at,
                                     which != NULL ? which + at : NULL, entries + o * together);
        }
        tile_set()->sparse(&lists, image, turned, turned_gradient, image_gradient);
    }
}

/* --- few channels -------------------------------------------------------------------------- */

/* Two positions of a window side by side and the kernel see 4x4 pixels. */
#define UNDER_SIDE 4
#define UNDER      (UNDER_SIDE * UNDER_SIDE)

/* The work grows with the number of channels; that of lists grows with the vectors they fill. */
#define FEW_CHANNELS 4

bool kernels_few_fits(struct kernels_sparse sparse)
{
    return sparse.pool == 2 && sparse.window.channels <= FEW_CHANNELS;
}

/* `under` and one more, and bytes for `begin`. */
uint64_t kernels_few_scratch(struct kernels_sparse sparse)
{
    uint64_t windows = windows_of(sparse), begin = windows * sparse.out_channels;
    return UNDER * (windows + 1) + (begin + 3) / 4;
}

/* In [4][4], the first pixel of each of a window's positions. */
VECTORIZED static void few_begin(const uint8_t *which, uint64_t count, uint8_t *restrict begin)
{
    for (uint64_t i = 0; i < count; i++)
        begin[i] = (uint8_t)(which[i] / 2 * UNDER_SIDE + which[i] % 2);
}

static inline void few_under(const float *corner, uint64_t row, uint64_t channels,
                             float *restrict under)
{
    for (uint64_t y = 0; y < UNDER_SIDE; y++)
        for (uint64_t x = 0; x < UNDER_SIDE; x++)
            under[y * UNDER_SIDE + x] = corner[y * row + x * channels];
}

void kernels_few_gradient(struct kernels_sparse sparse, const float *image, const float *gradient,
                          const uint8_t *which, float *kernel_gradient, float *scratch)
{
    assert(sparse.window.size == 3 && kernels_few_fits(sparse));
    uint64_t windows = windows_of(sparse), across = windows_across(sparse);
    uint64_t channels = sparse.window.channels, row = sparse.window.in_width * channels;
    float *under = scratch;
    uint8_t *begin = (uint8_t *)(under + UNDER * (windows + 1));
    few_begin(which, windows * sparse.out_channels, begin);
    for (uint64_t c = 0; c < channels; c++, kernel_gradient += sparse.out_channels) {
        for (uint64_t w = 0; w < windows; w++) {
            few_under(image + 2 * (w / across * row + w % across * channels) + c, row, channels,
                      under + w * UNDER);
        }
        struct sparse_windows all = {windows, sparse.out_channels, under, gradient, begin};
        tile_set()->sparse_few(&all, channels * sparse.out_channels, kernel_gradient);
    }
}
