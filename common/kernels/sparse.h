/* sparse.h - what the loops of sparse_body.h are given; they are part of every struct tile_set.
 *
 * Units: elements. */

#ifndef COMMON_KERNELS_SPARSE_H
#define COMMON_KERNELS_SPARSE_H

#include <stdint.h>

/* Elements of the kernel, which is 3x3. */
#define SPARSE_TAPS 9

/* A position of the kernel at which an output channel's gradient is not zero. */
struct sparse_entry {
    uint32_t place; /* Of its first element in the image. */
    float value;
};

/* One image's lists, a list for every output channel. */
struct sparse_lists {
    const struct sparse_entry *entries; /* [out_channels][entries_max] */
    const uint32_t *counts;             /* [out_channels] */
    uint64_t entries_max, out_channels;
    uint64_t row, channels; /* From row to row and from pixel to pixel in the image. */
};

/* A 2x2 pool's windows, and of one channel of the image what the kernel reads under each. */
struct sparse_windows {
    uint64_t count, out_channels;
    const float *under;    /* [count][4][4], and a vector may read as much again behind it. */
    const float *gradient; /* [count][out_channels], of the pool's output. */
    const uint8_t *begin; /* [count][out_channels]: where in `under` the winner's elements begin. */
};

#endif
