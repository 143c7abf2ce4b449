/* vectorized.h - one attribute that has the compiler build a loop for several instruction sets and
 * the loader pick the widest that this processor has.
 *
 * Elementwise float arithmetic without contraction gives the same bits at every width, so choosing
 * at run time never changes a result. Loops that reduce must fix their own order of lanes.
 *
 * Sanitizers instrument the loader's resolver before their run-time is up, so their builds take the
 * baseline; other architectures have one width. */

#ifndef COMMON_VECTORIZED_H
#define COMMON_VECTORIZED_H

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

#endif
