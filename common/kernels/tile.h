/* tile.h - the loops behind convolutions and matrix products, for every instruction set.
 *
 * Some places times some lanes of sums stay in registers while a walk goes by:
 *
 *     sum[p][l] = start[p][l] + x[walk + p * x_place] * y[step][l] + ...      p places, l lanes
 *
 *   matrix product a b:      walk along a row of a; places = rows of a; y = rows of b
 *   convolution:             walk over the kernel's elements; places = positions side by side
 *   its kernel's gradient:   walk over the positions; places = kernel elements side by side
 *
 * The code is in tile_body.h and is compiled for each instruction set by the tile_*.c that give it
 * vectors; all of it does the same operations on each element in the same order, products fused
 * into the sums one by one. So the bits are the same for every way of covering the sums with tiles
 * and for every instruction set that fuses (AVX-512, AVX2 with FMA, and others whose compiler
 * has a fast fmaf). The baseline of x86-64 cannot fuse, and rounds products by themselves.
 *
 * Units: elements. Threads: pure. */

#ifndef COMMON_KERNELS_TILE_H
#define COMMON_KERNELS_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kernels/kernels.h"
#include "common/kernels/sparse.h"

struct tile_walk {
    uint64_t rows, length;  /* `rows` rows of `length` steps. */
    uint64_t x_row, x_step; /* From row to row and from step to step in x. */
    uint64_t x_place;       /* From place to place in x. */
    uint64_t y_step;        /* From step to step in y. */
    uint64_t sum_place;     /* From place to place in sums. */

    const float *start;   /* What sums begin with: the sums themselves, or a bias, or NULL: 0. */
    uint64_t start_place; /* From place to place in start; 0: all begin with the same. */
    bool relu;            /* Cut what is below zero in the end. */
};

/* Some of an image's Winograd blocks, which are numbered row by row. */
struct tile_blocks {
    uint64_t first, count;
    uint64_t in_plane, out_plane; /* From frequency to frequency of their inputs and products. */
};

/* One instruction set. */
struct tile_set {
    /* sums [places][lanes] = what the walk sums. */
    void (*run)(const struct tile_walk *walk, uint64_t places, uint64_t lanes, const float *x,
                const float *y, float *sums);

    /* sums [windows][lanes] = the largest of four places each: p and p + 1 = 2 * window and the two
     * that lie x_down behind them in x. which as kernels_pool has it; may be NULL. */
    void (*run_pooled)(const struct tile_walk *walk, uint64_t x_down, uint64_t windows,
                       uint64_t lanes, const float *x, const float *y, float *sums, uint8_t *which);

    /* The transformations of kernels_conv.c's Winograd. */
    void (*winograd_kernel)(const float *kernel, uint64_t plane, float *transformed,
                            uint64_t transformed_plane);
    void (*winograd_inputs)(struct kernels_window window, struct tile_blocks blocks,
                            const float *image, float *out);
    void (*winograd_outputs)(struct kernels_window window, struct tile_blocks blocks,
                             const float *products, uint64_t lanes, struct kernels_finish finish,
                             float *to);

    /* One image of kernels_sparse_gradient; no image_gradient: it is not wanted. */
    void (*sparse)(const struct sparse_lists *lists, const float *image, const float *turned,
                   float *turned_gradient, float *image_gradient);

    /* One channel of one image of kernels_few_gradient; from tap to tap of the kernel. */
    void (*sparse_few)(const struct sparse_windows *windows, uint64_t tap, float *kernel_gradient);
};

/* What kernels_instructions() has. */
const struct tile_set *tile_set(void);

extern const struct tile_set tile_plain;
#ifdef __x86_64__
extern const struct tile_set tile_avx2, tile_avx512;
#endif

/* Sanitizers would look at every element, a hundred times slower; tests put arrays at the end of
 * a page instead. For all that tile_*.c define, inlined or not: what checked code marks
 * on the stack, unchecked code would leave marked. */
#if defined(__clang__) || defined(__GNUC__)
#define UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("thread")))
#else
#define UNCHECKED
#endif

#endif
