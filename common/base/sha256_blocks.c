/* sha256_blocks.c - four rounds at a time; the schedule of the next sixteen words is made of the last
 * sixteen, four in a vector. */

#include "common/base/sha256_blocks.h"

#include <assert.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* gcc 12's __builtin_cpu_supports does not know them. */
bool sha256_blocks_has(void)
{
    unsigned a, b, c, d;
    if (!__builtin_cpu_supports("sse4.1") || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
        return false;
    return (b & bit_SHA) != 0;
}

/* Words of the schedule from those sixteen before: W(t-16), W(t-12), W(t-8), W(t-4), four each. */
WITH_SHA static __m128i next_words(__m128i w16, __m128i w12, __m128i w8, __m128i w4)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w16, w12), _mm_alignr_epi8(w4, w8, 4));
    return _mm_sha256msg2_epu32(sum, w4);
}

/* The instructions have the eight words as ABEF and CDGH, the first in the highest place. */
WITH_SHA static void block(__m128i *abef, __m128i *cdgh, const uint8_t *bytes)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i words[4], ab = *abef, cd = *cdgh;
    for (int i = 0; i < 4; i++)
        words[i] = _mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i)), big_endian);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        if (i >= 4)
            words[i % 4] = next_words(words[i % 4], words[(i + 1) % 4], words[(i + 2) % 4],
                                      words[(i + 3) % 4]);
        __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i));
        __m128i sum = _mm_add_epi32(words[i % 4], k);
        cd = _mm_sha256rnds2_epu32(cd, ab, sum);
        ab = _mm_sha256rnds2_epu32(ab, cd, _mm_shuffle_epi32(sum, 0x0e));
    }
    *abef = _mm_add_epi32(*abef, ab);
    *cdgh = _mm_add_epi32(*cdgh, cd);
}

WITH_SHA void sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t count)
{
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (size_t i = 0; i < count; i++)
        block(&abef, &cdgh, bytes + i * SHA256_BLOCK_BYTES);
    state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
    state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
    state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
    state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
    state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

#else

bool sha256_blocks_has(void)
{
    return false;
}

void sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t count)
{
    (void)state;
    (void)bytes;
    (void)count;
    assert(!"this processor has no instructions for SHA-256");
}

#endif
