/* kernels.h - vector arithmetic on float32 arrays.
 *
 * Every function is a leaf: arrays, counts and scalars in, no memory taken, nothing kept. The same
 * arguments give the same bits in every process, wherever the arrays lie: each element is a sum in
 * a fixed order, products fused into it one by one where the processor can. Processors with AVX2
 * and FMA and those with AVX-512 give equal bits; a processor that cannot fuse gives its own
 * (tile.h). Sanitizer builds take the same code, unchecked. There is no BLAS below: it starts
 * threads before main, which fork has to wait for, and takes memory that few processes here have.
 *
 * Matrices are row-major; a stride is the distance between rows in elements. An image is
 * [height][width][channels]. Arrays must not overlap unless a function says so.
 *
 * Units: elements. Threads: pure, once kernels_init has run. */

#ifndef COMMON_KERNELS_KERNELS_H
#define COMMON_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* Have numbers below 2^-126 count as zero in this thread and those it starts. Call in main, before
 * any other thread starts. */
void kernels_init(void);

/* What the kernels of convolutions and matrices are built for, narrow first. The two with fused
 * products give equal bits; see tile.h. */
enum kernels_instructions { KERNELS_PLAIN, KERNELS_AVX2, KERNELS_AVX512 };

#define KERNELS_INSTRUCTIONS_COUNT 3

/* The widest that this processor has, or less after kernels_limit. */
enum kernels_instructions kernels_instructions(void);

/* "AVX-512": for people. */
const char *kernels_instructions_name(enum kernels_instructions instructions);
/* The other way round; false: it is no such name. */
bool kernels_instructions_named(const char *name, enum kernels_instructions *instructions);

/* "avx512": for options. */
const char *kernels_instructions_word(enum kernels_instructions instructions);

/* Take nothing wider than `most` from now on: call in main after kernels_init, or in tests while
 * no other thread computes. Elementwise loops, whose bits depend on no width, go on as before. */
void kernels_limit(enum kernels_instructions most);

/* --- matrices ------------------------------------------------------------------------------ */

enum kernels_write { KERNELS_SET, KERNELS_ADD }; /* Overwrite the result, or add to it. */

/* c [m][n] = a [m][k] * b [k][n], with a given transposed, as [k][m]. */
void kernels_multiply_at(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                         float *c, enum kernels_write write);

/* The same with b and not a given transposed, as [n][k]. scratch:
 * kernels_multiply_turned_scratch(m, k) elements. */
uint64_t kernels_multiply_turned_scratch(uint64_t m, uint64_t k);
void kernels_multiply_turned(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                             float *c, float *scratch);

/* c [m][n] = bias [n] + a [m][k] * b [k][n], with relu cut below zero. */
void kernels_dense(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                   const float *bias, bool relu, float *c);

/* to [columns][rows] = from [rows][columns], with rows from_row and to_row apart. */
void kernels_transpose(uint64_t rows, uint64_t columns, const float *from, uint64_t from_row,
                       float *to, uint64_t to_row);

/* --- elements ------------------------------------------------------------------------------ */

/* sum[i] += x[i]. */
void kernels_add(float *sum, const float *x, uint64_t count);

/* sum[i] = x[i] + y[i]. */
void kernels_sum(float *sum, const float *x, const float *y, uint64_t count);

/* No NaN and no infinity among x[count]. */
bool kernels_all_finite(const float *x, uint64_t count);

/* floats[i] = bytes[i] / 255. */
void kernels_bytes_to_unit(const uint8_t *bytes, uint64_t count, float *floats);

/* out[i] = e to the power of x[i] - shift, which is at or below zero: within 1e-15 of it,
 * relatively, down to -708 and not smaller below. NaN stays NaN. The C library's differs from
 * machine to machine, and takes one at a time. */
void kernels_exponentials(const float *x, uint64_t count, double shift, double *out);

/* --- layers -------------------------------------------------------------------------------- */

/* sum[columns] += each of rows [row_count][columns], first row first. */
void kernels_sum_rows(const float *rows, uint64_t row_count, uint64_t columns, float *sum);

/* gradient[i] = 0 where out[i] is not above zero. */
void kernels_relu_gradient(float *gradient, const float *out, uint64_t count);

/* How a kernel or window lies on one image. */
struct kernels_window {
    uint32_t in_height, in_width; /* The image as it lies in memory. */
    uint32_t channels;
    uint32_t size;                  /* Side of the square window. */
    uint32_t out_height, out_width; /* Windows down and across. */
};

/* What is done to the sums of a convolution before they are stored. */
struct kernels_finish {
    const float *bias; /* [out_channels], added; NULL: none. */
    bool relu;         /* Cut what is below zero; NaN stays NaN. */
    uint32_t pool;     /* 2: of every 2x2 of them, which must come out even, only the largest is
                        * stored, to [out_height / 2][out_width / 2][out_channels]. 1: all are. */
    uint8_t *which;    /* pool 2: their numbers as kernels_pool has them, or NULL. */
};

/* out [out_height][out_width][out_channels] = the patch under every window, stride 1, times
 * kernel [size][size][channels][out_channels], finished. */
void kernels_convolve(struct kernels_window window, const float *image, const float *kernel,
                      uint64_t out_channels, struct kernels_finish finish, float *out);

/* Add to kernel [size][size][channels][out_channels] its gradient from one image, given that of
 * out. */
void kernels_convolve_gradient(struct kernels_window window, const float *image,
                               const float *out_gradient, uint64_t out_channels, float *kernel);

/* The same as kernels_convolve by Winograd's algorithm, with 16 products where that takes 36, for
 * 3x3 kernels and even outputs: whether it fits and saves anything. The kernel is transformed once
 * for many images. The two ways differ in the last bits. */
bool kernels_winograd_fits(struct kernels_window window, uint64_t out_channels);
uint64_t kernels_winograd_kernel_elements(uint64_t channels, uint64_t out_channels);
uint64_t kernels_winograd_scratch(struct kernels_window window, uint64_t out_channels);
void kernels_winograd_kernel(const float *kernel, uint64_t channels, uint64_t out_channels,
                             float *transformed);
void kernels_winograd(struct kernels_window window, const float *image, const float *transformed,
                      uint64_t out_channels, struct kernels_finish finish, float *out,
                      float *scratch);

/* The gradient of a convolution's input is itself a convolution: of the gradient of its output, in
 * a border of size - 1 zeros, with the kernel turned by 180 degrees, its inputs and outputs
 * swapped. turned [size][size][out][in] from kernel [size][size][in][out]. */
void kernels_turn(const float *kernel, uint32_t size, uint64_t in, uint64_t out, float *turned);

/* padded [height + 2 * border][width + 2 * border][channels]: the image in a border of zeros. */
void kernels_pad(const float *image, uint32_t height, uint32_t width, uint64_t channels,
                 uint32_t border, float *padded);

/* Largest element under every window, stride = size: out [out_height][out_width][channels].
 * which (may be NULL) receives the largest one's number within its window, row by row, the first
 * of equals. size <= KERNELS_POOL_MAX. */
#define KERNELS_POOL_MAX 16
void kernels_pool(struct kernels_window window, const float *image, float *out, uint8_t *which);

/* The way back: image = out_gradient where `which` points and 0 elsewhere, also where no window
 * reaches. */
void kernels_pool_gradient(struct kernels_window window, const float *out_gradient,
                           const uint8_t *which, float *image);

#endif
