/* blas.h - OpenBLAS's product of matrices, which suits large square ones: what benchmarks take for
 * the machine's peak. The only door to OpenBLAS; no program of ours needs it.
 *
 * Units: elements; matrices are row-major. Threads: one; BLAS is held to it too. */

#ifndef TESTS_BENCH_LIB_BLAS_H
#define TESTS_BENCH_LIB_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* Call first. Where BLAS does not know the processor, which may be newer than it, and would take
 * kernels of long ago, the program begins again with those that the processor is known to have; with
 * argv, main's. Prints a warning when BLAS is held below them by the environment. */
void blas_init(char **argv);

/* The processor kind it took its kernels for: "SkylakeX". NULL: this was built without OpenBLAS, and
 * products are not computed. */
const char *blas_core_name(void);

/* c [m][n] = a [m][k] * b [k][n]; where turned, a is given as [k][m], b as [n][k]. */
void blas_multiply(uint32_t m, uint32_t n, uint32_t k, const float *a, bool a_turned,
                   const float *b, bool b_turned, float *c);

#endif
