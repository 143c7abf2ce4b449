#include "common/tile.h"

#include <assert.h>
#include <stddef.h>

/* Sanitizers would look at every element of the sums, a thousand times slower: they and other
 * processors take BLAS. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    !defined(__SANITIZE_THREAD__)

typedef void tile_function(const struct tile_walk *walk, const float *x, const float *y,
                           float *sums, bool add);

/* places and lanes are constants wherever this is inlined: the compiler then turns the inner loops
 * into vector instructions and the sums into registers. */
static inline __attribute__((always_inline)) void tile(const struct tile_walk *walk, const float *x,
                                                       const float *restrict y,
                                                       float *restrict sums, bool add,
                                                       const uint32_t places, const uint32_t lanes)
{
    float sum[12][64];
    uint64_t stride = walk->lanes, place = walk->x_place;
    for (uint32_t p = 0; p < places; p++) {
        for (uint32_t l = 0; l < lanes; l++) {
            sum[p][l] = add ? sums[p * stride + l] : 0.0f;
        }
    }
    for (uint64_t row = 0; row < walk->rows; row++) {
        const float *at = x + row * walk->x_row;
        for (uint64_t step = 0; step < walk->length; step++) {
            for (uint32_t p = 0; p < places; p++) {
                float factor = at[p * place];
                for (uint32_t l = 0; l < lanes; l++) {
                    sum[p][l] = __builtin_fmaf(factor, y[l], sum[p][l]);
                }
            }
            at += walk->x_step;
            y += stride;
        }
    }
    for (uint32_t p = 0; p < places; p++) {
        for (uint32_t l = 0; l < lanes; l++) {
            sums[p * stride + l] = sum[p][l];
        }
    }
}

#define TILE(name, instructions, places, lanes)                                                    \
    __attribute__((target(instructions))) static void name(                                        \
        const struct tile_walk *walk, const float *x, const float *y, float *sums, bool add)       \
    {                                                                                              \
        tile(walk, x, y, sums, add, places, lanes);                                                \
    }

#ifdef __clang__
#define AVX512 "avx512f"
#else
#define AVX512 "avx512f,prefer-vector-width=512"
#endif

/* As many sums as there are registers for, and smaller ones for what is left over. */
TILE(tile_avx512_5x64, AVX512, 5, 64)
TILE(tile_avx512_3x64, AVX512, 3, 64)
TILE(tile_avx512_1x64, AVX512, 1, 64)
TILE(tile_avx512_12x32, AVX512, 12, 32)
TILE(tile_avx512_6x32, AVX512, 6, 32)
TILE(tile_avx512_3x32, AVX512, 3, 32)
TILE(tile_avx512_1x32, AVX512, 1, 32)
TILE(tile_avx512_8x16, AVX512, 8, 16)
TILE(tile_avx512_1x16, AVX512, 1, 16)
TILE(tile_avx2_5x16, "avx2,fma", 5, 16)
TILE(tile_avx2_3x16, "avx2,fma", 3, 16)
TILE(tile_avx2_1x16, "avx2,fma", 1, 16)

/* In the order in which they are tried: wide before narrow, and of each width down to one place. */
struct tile_shape {
    uint32_t places, lanes;
    tile_function *run;
};

static const struct tile_shape shapes_avx512[] = {
    {5, 64, tile_avx512_5x64},   {3, 64, tile_avx512_3x64}, {1, 64, tile_avx512_1x64},
    {12, 32, tile_avx512_12x32}, {6, 32, tile_avx512_6x32}, {3, 32, tile_avx512_3x32},
    {1, 32, tile_avx512_1x32},   {8, 16, tile_avx512_8x16}, {1, 16, tile_avx512_1x16},
};
static const struct tile_shape shapes_avx2[] = {
    {5, 16, tile_avx2_5x16},
    {3, 16, tile_avx2_3x16},
    {1, 16, tile_avx2_1x16},
};

static const struct tile_shape *tile_shapes(void)
{
    if (__builtin_cpu_supports("avx512f")) {
        return shapes_avx512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? shapes_avx2 : NULL;
}

bool tile_fits(uint64_t lanes)
{
    return lanes % TILE_LANES_MIN == 0 && tile_shapes() != NULL;
}

/* All places of the lanes that shape takes, beginning with lane 0 of y and sums. */
static void tile_column(const struct tile_shape *shape, const struct tile_walk *walk,
                        uint64_t places, const float *x, const float *y, float *sums, bool add)
{
    for (uint64_t place = 0; place < places; place += shape->places) {
        while (shape->places > places - place) {
            shape++;
        }
        shape->run(walk, x + place * walk->x_place, y, sums + place * walk->lanes, add);
    }
}

void tile_run(const struct tile_walk *walk, uint64_t places, const float *x, const float *y,
              float *sums, bool add)
{
    const struct tile_shape *shape = tile_shapes();
    assert(shape && walk->lanes % TILE_LANES_MIN == 0);
    for (uint64_t lane = 0; lane < walk->lanes; lane += shape->lanes) {
        while (shape->lanes > walk->lanes - lane) {
            shape++;
        }
        tile_column(shape, walk, places, x, y + lane, sums + lane, add);
    }
}

#else

bool tile_fits(uint64_t lanes)
{
    (void)lanes;
    return false;
}

void tile_run(const struct tile_walk *walk, uint64_t places, const float *x, const float *y,
              float *sums, bool add)
{
    (void)walk, (void)places, (void)x, (void)y, (void)sums, (void)add;
    assert(!"tile_fits said no");
}

#endif
