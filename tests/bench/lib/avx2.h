/* avx2.h - before a file, by the compiler's -include: its elementwise loops for AVX2 and nothing else,
 * as the loader would pick them on such a processor; see loops.h. */

#ifndef TESTS_BENCH_LIB_AVX2_H
#define TESTS_BENCH_LIB_AVX2_H

#include "common/kernels/vectorized.h"

#if defined(__x86_64__)
#undef VECTORIZED
#define VECTORIZED __attribute__((target("avx2")))
#endif

#define loops_here loops_avx2

#endif
