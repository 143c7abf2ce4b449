/* loops.h - the update rules, and what the core can do for them: from the same sources for all that
 * this processor has, and once more for AVX2 alone.
 *
 * The rules' elementwise loops are what the loader picks (vectorized.h), which nothing can hold to
 * less afterwards. So the Makefile builds common/optimizer and loops.c a second time with avx2.h
 * before them, joins the objects and hides every name of theirs but loops_avx2. Rules and limits of
 * one table thus have the same instructions.
 *
 * Threads: constant tables and pure functions. */

#ifndef TESTS_BENCH_LIB_LOOPS_H
#define TESTS_BENCH_LIB_LOOPS_H

#include "common/optimizer/optimizer.h"

struct loops {
    const struct optimizer *(*optimizer_find)(const char *name);
    const struct optimizer *(*optimizer_at)(unsigned index);
    void (*stream)(const struct optimizer_update *update); /* Reads and writes as many arrays. */
    void (*roots)(uint64_t count);                         /* As many square roots and divisions. */
};

extern const struct loops loops_here, loops_avx2;

#endif
