/* vectorized.h - one attribute that has the compiler build a loop for several instruction sets and
 * the loader pick the widest that this processor has.
 *
 * Elementwise float arithmetic without contraction gives the same bits at every width, so choosing
 * at run time never changes a result. Loops that reduce must fix their own order of lanes.
 *
 * Sanitizers instrument the loader's resolver before their run-time is up, so their builds take the
 * baseline; other architectures have one width. */

#ifndef COMMON_KERNELS_VECTORIZED_H
#define COMMON_KERNELS_VECTORIZED_H

#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VECTORIZED_BASELINE /* clang's way of saying so */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VECTORIZED_BASELINE /* gcc's */
#endif

/* clang 14 does not export the resolvers of its clones, so they cannot be called across files. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(VECTORIZED_BASELINE) &&              \
    !defined(__clang__)
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORIZED
#endif

/* Before a loop whose iterations touch element i of each array and no other. Two of the arrays may
 * then be the same one (an update in place), which a compiler that checks for overlap at run time
 * would take for a reason to go one element at a time. */
#if defined(__clang__)
#define ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
/* A build that does not vectorize at all (-O1, for sanitizers) is slower, not wrong. */
#pragma clang diagnostic ignored "-Wpass-failed"
#elif defined(__GNUC__)
#define ELEMENTWISE _Pragma("GCC ivdep")
#else
#define ELEMENTWISE
#endif

/* A loop that divides or takes roots keeps a core too busy to run ahead and ask for memory in time.
 * So it goes piece by piece, and each piece asks for what the fourth after it will read:
 *
 *     for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
 *         uint64_t end = vectorized_piece_end(first, count);
 *         vectorized_fetch(x, first);
 *         ELEMENTWISE
 *         for (uint64_t i = first; i < end; i++)
 *             x[i] = 1 / x[i];
 *     }
 *
 * That is a tenth of Adam's time on arrays in memory and costs nothing in cache. Loops that only
 * add and multiply run ahead far enough by themselves. */
#define VECTORIZED_PIECE 128 /* Elements. */

static inline uint64_t vectorized_piece_end(uint64_t first, uint64_t count)
{
    return count - first < VECTORIZED_PIECE ? count : first + VECTORIZED_PIECE;
}

/* An address beyond the end of an array does no harm: nothing is read. */
static inline void vectorized_fetch(const float *array, uint64_t first)
{
    uintptr_t at = (uintptr_t)array + (first + 4 * VECTORIZED_PIECE) * sizeof *array;
    for (unsigned i = 0; i < VECTORIZED_PIECE * sizeof *array; i += 64)
        __builtin_prefetch((const void *)(at + i));
}

#endif
