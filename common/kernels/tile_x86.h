/* tile_x86.h - what the vectors of AVX2 and of AVX-512 have alike but for the intrinsics' prefix; part
 * of tile_avx2.c and tile_avx512.c, which have defined
 *
 *     vector, numbers         see tile_body.h
 *     INTRINSIC(operation)    _mm256_operation or _mm512_operation
 *
 * There is no include guard: no file includes it twice. */

#define VECTOR static inline __attribute__((always_inline)) UNCHECKED

VECTOR vector vector_all(float x)
{
    return INTRINSIC(set1_ps)(x);
}

VECTOR vector vector_load(const float *from)
{
    return INTRINSIC(loadu_ps)(from);
}

VECTOR void vector_store(float *to, vector x)
{
    INTRINSIC(storeu_ps)(to, x);
}

VECTOR vector vector_fma(vector a, vector b, vector c)
{
    return INTRINSIC(fmadd_ps)(a, b, c);
}

VECTOR vector vector_add(vector a, vector b)
{
    return INTRINSIC(add_ps)(a, b);
}

VECTOR vector vector_subtract(vector a, vector b)
{
    return INTRINSIC(sub_ps)(a, b);
}

VECTOR vector vector_multiply(vector a, vector b)
{
    return INTRINSIC(mul_ps)(a, b);
}

VECTOR vector vector_max(vector a, vector b)
{
    return INTRINSIC(max_ps)(a, b);
}

VECTOR numbers numbers_all(int x)
{
    return INTRINSIC(set1_epi32)(x);
}
