/* kernels_compensate.h - the loops of delay compensation; common/job/compensation.h says what they are
 * for. Elementwise without contraction, so their bits depend on no width.
 *
 * Threads: pure, but for the arrays. */

#ifndef COMMON_KERNELS_KERNELS_COMPENSATE_H
#define COMMON_KERNELS_KERNELS_COMPENSATE_H

#include <stdint.h>

/* One gradient, and what it has missed. */
struct kernels_compensation {
    uint64_t count;    /* Elements of each array. */
    const float *sum;  /* Over examples. */
    float scale;       /* 1 / examples: sum x scale is the mean, g. */
    const float *now;  /* The values that it is to be applied to ... */
    const float *base; /* ... and those that it was computed from. */
    float *mean_square;
    float *into; /* The sum as it is to be applied; not one of the others. */
};

/* into = sum + strength x g x sum x (now - base) */
void kernels_compensate(const struct kernels_compensation *what, float strength);

/* The same with strength / sqrt(mean_square + 1e-7), at most 1, for each element. */
void kernels_compensate_adaptively(const struct kernels_compensation *what, float strength);

/* mean_square = 0.95 mean_square + 0.05 g g */
void kernels_mean_square(const struct kernels_compensation *what);

#endif
