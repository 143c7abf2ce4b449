/* tile_plain.c - tile_body.h for the instructions that every processor of this kind has. */

#include "common/kernels/tile.h"

#include <string.h>

#define TILE_SET  tile_plain
#define LANES     4
#define REGISTERS 16

typedef float vector __attribute__((vector_size(16)));
typedef int32_t numbers __attribute__((vector_size(16)));
typedef uint64_t mask; /* How many. */

#define VECTOR static inline __attribute__((always_inline)) UNCHECKED

VECTOR mask mask_first(uint64_t n)
{
    return n;
}

VECTOR vector vector_all(float x)
{
    return (vector){x, x, x, x};
}

VECTOR vector vector_load(const float *from)
{
    vector x;
    memcpy(&x, from, sizeof x);
    return x;
}

VECTOR vector vector_load_some(const float *from, mask some)
{
    vector x = vector_all(0.0f);
    memcpy(&x, from, some * sizeof *from);
    return x;
}

VECTOR void vector_store(float *to, vector x)
{
    memcpy(to, &x, sizeof x);
}

VECTOR void vector_store_some(float *to, vector x, mask some)
{
    memcpy(to, &x, some * sizeof *to);
}

VECTOR vector vector_fma(vector a, vector b, vector c)
{
#ifdef FP_FAST_FMAF
    return (vector){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                    fmaf(a[3], b[3], c[3])};
#else
    return a * b + c; /* Without contraction: rounded twice. */
#endif
}

VECTOR vector vector_add(vector a, vector b)
{
    return a + b;
}

VECTOR vector vector_subtract(vector a, vector b)
{
    return a - b;
}

VECTOR vector vector_multiply(vector a, vector b)
{
    return a * b;
}

VECTOR numbers vector_above(vector a, vector b)
{
    return a > b;
}

VECTOR vector vector_max(vector a, vector b)
{
    numbers above = a > b;
    return (vector)((above & (numbers)a) | (~above & (numbers)b));
}

VECTOR numbers numbers_all(int x)
{
    return (numbers){x, x, x, x};
}

VECTOR numbers numbers_choose(numbers n, numbers where, int x)
{
    return (where & numbers_all(x)) | (~where & n);
}

VECTOR void numbers_store_some(uint8_t *to, numbers n, mask some)
{
    for (uint64_t i = 0; i < some; i++)
        to[i] = (uint8_t)n[i];
}

VECTOR void numbers_store(uint8_t *to, numbers n)
{
    numbers_store_some(to, n, LANES);
}

VECTOR numbers numbers_load_some(const uint8_t *from, mask some)
{
    numbers n = numbers_all(0);
    for (uint64_t i = 0; i < some; i++)
        n[i] = from[i];
    return n;
}

VECTOR vector vector_pick(const float *from, numbers n)
{
    return (vector){from[n[0]], from[n[1]], from[n[2]], from[n[3]]};
}

#include "common/kernels/tile_body.h"
