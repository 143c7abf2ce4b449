/* tile_avx2.c - tile_body.h for AVX2 with FMA. */

#include "common/kernels/tile.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define TILE_SET             tile_avx2
#define LANES                8
#define REGISTERS            16
#define INTRINSIC(operation) _mm256_##operation

typedef __m256 vector;
typedef __m256i numbers;
/* Counts as well as masks: bytes have no masked store. */
typedef struct {
    __m256i lanes;
    uint32_t count;
} mask;

#include "common/kernels/tile_x86.h"

VECTOR mask mask_first(uint64_t n)
{
    __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (mask){_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), number), (uint32_t)n};
}

VECTOR vector vector_load_some(const float *from, mask some)
{
    return _mm256_maskload_ps(from, some.lanes);
}

VECTOR void vector_store_some(float *to, vector x, mask some)
{
    _mm256_maskstore_ps(to, some.lanes, x);
}

VECTOR __m256i vector_above(vector a, vector b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}

VECTOR numbers numbers_choose(numbers n, __m256i where, int x)
{
    return _mm256_blendv_epi8(n, _mm256_set1_epi32(x), where);
}

VECTOR int64_t numbers_bytes(numbers n)
{
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
    return _mm_cvtsi128_si64(_mm_packs_epi16(words, words));
}

VECTOR void numbers_store(uint8_t *to, numbers n)
{
    int64_t bytes = numbers_bytes(n);
    memcpy(to, &bytes, sizeof bytes);
}

VECTOR void numbers_store_some(uint8_t *to, numbers n, mask some)
{
    int64_t bytes = numbers_bytes(n);
    if (some.count == LANES)
        memcpy(to, &bytes, sizeof bytes);
    else
        memcpy(to, &bytes, some.count);
}

VECTOR numbers numbers_load_some(const uint8_t *from, mask some)
{
    int64_t bytes = 0;
    if (some.count == LANES)
        memcpy(&bytes, from, sizeof bytes);
    else
        memcpy(&bytes, from, some.count);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
}

VECTOR vector vector_pick(const float *from, numbers n)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), n);
}

#include "common/kernels/tile_body.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
