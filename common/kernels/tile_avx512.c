/* tile_avx512.c - tile_body.h for AVX-512. */

#include "common/kernels/tile.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif

#define TILE_SET             tile_avx512
#define LANES                16
#define REGISTERS            32
#define INTRINSIC(operation) _mm512_##operation

typedef __m512 vector;
typedef __m512i numbers;
typedef __mmask16 mask;

#include "common/kernels/tile_x86.h"

VECTOR mask mask_first(uint64_t n)
{
    return (mask)((1u << n) - 1);
}

VECTOR vector vector_load_some(const float *from, mask some)
{
    return _mm512_maskz_loadu_ps(some, from);
}

VECTOR void vector_store_some(float *to, vector x, mask some)
{
    _mm512_mask_storeu_ps(to, some, x);
}

VECTOR mask vector_above(vector a, vector b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

VECTOR numbers numbers_choose(numbers n, mask where, int x)
{
    return _mm512_mask_mov_epi32(n, where, _mm512_set1_epi32(x));
}

VECTOR void numbers_store(uint8_t *to, numbers n)
{
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(n));
}

VECTOR void numbers_store_some(uint8_t *to, numbers n, mask some)
{
    _mm512_mask_cvtepi32_storeu_epi8(to, some, n);
}

VECTOR numbers numbers_load_some(const uint8_t *from, mask some)
{
    __m128i bytes = _mm_setzero_si128();
    if (some == 0xffff)
        bytes = _mm_loadu_si128((const __m128i *)from);
    else
        memcpy(&bytes, from, (uint32_t)__builtin_popcount(some));
    return _mm512_cvtepu8_epi32(bytes);
}

VECTOR vector vector_pick(const float *from, numbers n)
{
    return _mm512_permutexvar_ps(n, _mm512_castps256_ps512(_mm256_loadu_ps(from)));
}

#include "common/kernels/tile_body.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
