/* kernels_compensate.c - three loops that the compiler vectorises. */

#include "common/kernels/kernels_compensate.h"

#include <math.h>

#include "common/kernels/vectorized.h"

#define DECAY   0.95f
#define FRESH   0.05f
#define EPSILON 1e-7f

VECTORIZED
static void compensate(uint64_t count, float scale, float strength, const float *restrict sum,
                       const float *restrict now, const float *restrict base, float *restrict into)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        float g = sum[i] * scale;
        into[i] = sum[i] + strength * (g * sum[i]) * (now[i] - base[i]);
    }
}

VECTORIZED
static void compensate_adaptively(uint64_t count, float scale, float strength,
                                  const float *restrict sum, const float *restrict now,
                                  const float *restrict base, const float *restrict mean_square,
                                  float *restrict into)
{
    for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
        uint64_t end = vectorized_piece_end(first, count);
        vectorized_fetch(sum, first);
        vectorized_fetch(now, first);
        vectorized_fetch(base, first);
        vectorized_fetch(mean_square, first);
        ELEMENTWISE
        for (uint64_t i = first; i < end; i++) {
            float g = sum[i] * scale;
            float own = strength / sqrtf(mean_square[i] + EPSILON);
            own = own < 1.0f ? own : 1.0f;
            into[i] = sum[i] + own * (g * sum[i]) * (now[i] - base[i]);
        }
    }
}

VECTORIZED
static void count_squares(uint64_t count, float scale, const float *restrict sum,
                          float *restrict mean_square)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        float g = sum[i] * scale;
        mean_square[i] = DECAY * mean_square[i] + FRESH * (g * g);
    }
}

void kernels_compensate(const struct kernels_compensation *what, float strength)
{
    compensate(what->count, what->scale, strength, what->sum, what->now, what->base, what->into);
}

void kernels_compensate_adaptively(const struct kernels_compensation *what, float strength)
{
    compensate_adaptively(what->count, what->scale, strength, what->sum, what->now, what->base,
                          what->mean_square, what->into);
}

void kernels_mean_square(const struct kernels_compensation *what)
{
    count_squares(what->count, what->scale, what->sum, what->mean_square);
}
