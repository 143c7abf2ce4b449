/* loops.c - plain loops; built twice, see loops.h. */

#include "tests/bench/lib/loops.h"

#include <math.h>
#include <stddef.h>

#include "common/kernels/vectorized.h"

#define BLOCK 256 /* Elements that stay in the first cache. */

VECTORIZED
static void stream_2(uint64_t count, const float *restrict x, const float *in, float *out)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++)
        out[i] = in[i] + x[i];
}

VECTORIZED
static void stream_3(uint64_t count, const float *restrict x, const float *in, float *out,
                     float *restrict b)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        out[i] = in[i] + x[i];
        b[i] = b[i] + x[i];
    }
}

VECTORIZED
static void stream_4(uint64_t count, const float *restrict x, const float *in, float *out,
                     float *restrict b, float *restrict c)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        out[i] = in[i] + x[i];
        b[i] = b[i] + x[i];
        c[i] = c[i] + x[i];
    }
}

static void stream(const struct optimizer_update *u)
{
    if (u->slots[1] != NULL)
        stream_4(u->count, u->gradient, u->values_in, u->values_out, u->slots[0], u->slots[1]);
    else if (u->slots[0] != NULL)
        stream_3(u->count, u->gradient, u->values_in, u->values_out, u->slots[0]);
    else
        stream_2(u->count, u->gradient, u->values_in, u->values_out);
}

VECTORIZED
static void divide_by_roots(uint64_t blocks, float x[BLOCK])
{
    for (uint64_t block = 0; block < blocks; block++) {
        ELEMENTWISE
        for (unsigned i = 0; i < BLOCK; i++)
            x[i] = 1.5f / sqrtf(x[i]);
    }
}

static void roots(uint64_t count)
{
    float x[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++)
        x[i] = 1 + (float)i / BLOCK;
    divide_by_roots(count / BLOCK, x);
    volatile float keep = x[0];
    (void)keep;
}

const struct loops loops_here = {.optimizer_find = optimizer_find,
                                 .optimizer_at = optimizer_at,
                                 .stream = stream,
                                 .roots = roots};
