/* kernels_sparse.h - the way back through a 3x3 convolution whose output's gradient is mostly zero.
 *
 * Behind ReLU and a 2x2 max-pool that gradient is zero in at least three of four places, and there
 * is nothing to multiply. From the gradient of the pool's output a list of places and values is
 * made for every output channel; each entry adds nine pixels of the image, times its value, to the
 * gradient of its channel's kernel, and its channel's kernel, times its value, to the gradient of
 * nine pixels.
 *
 * Every element is a sum in a fixed order, products fused into it one by one: its bits depend on
 * the values alone and are the same for every instruction set that fuses (tile.h says which). A
 * product with a gradient of zero is left out even where the other factor is not finite.
 *
 * An image is as kernels.h has it. A *turned* kernel, or gradient of one, is [out][3][3][in]:
 * kernels_transpose turns it there and back.
 * Arrays must not overlap.
 *
 * Units: elements. Threads: pure. */

#ifndef COMMON_KERNELS_KERNELS_SPARSE_H
#define COMMON_KERNELS_KERNELS_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kernels/kernels.h"

/* A convolution, and the max-pool behind it that sees all of its output. */
struct kernels_sparse {
    struct kernels_window window; /* Of the kernel: size is 3. */
    uint32_t pool;                /* Side of the pool's windows; 1: there is no pool. */
    uint64_t out_channels;
};

/* One image. gradient: of the pool's output. which: as kernels_pool has it; NULL without a pool.
 * turned_gradient: added to. image_gradient: overwritten, zero where no position reaches; NULL:
 * it is not wanted. scratch [kernels_sparse_scratch]. */
uint64_t kernels_sparse_scratch(struct kernels_sparse sparse);
void kernels_sparse_gradient(struct kernels_sparse sparse, const float *image, const float *turned,
                             const float *gradient, const uint8_t *which, float *turned_gradient,
                             float *image_gradient, float *scratch);

/* The gradient of the kernel alone, [3][3][in][out], added to: faster for images of few channels,
 * which the first layer's are, behind a 2x2 pool. It makes no lists but picks, for as many output
 * channels at once as a vector has lanes, each one's winner's pixels. scratch
 * [kernels_few_scratch]. */
bool kernels_few_fits(struct kernels_sparse sparse);
uint64_t kernels_few_scratch(struct kernels_sparse sparse);
void kernels_few_gradient(struct kernels_sparse sparse, const float *image, const float *gradient,
                          const uint8_t *which, float *kernel_gradient, float *scratch);

#endif
