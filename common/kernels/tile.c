/* tile.c - asks the processor once which vector instructions it has, and picks the set of loops. */

#include "common/kernels/tile.h"

#include <string.h>

/* The one thing here that outlives a call: what this process may use, decided once; see
 * kernels_limit. */
static enum kernels_instructions limit = KERNELS_AVX512;

static enum kernels_instructions instructions_here(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return KERNELS_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return KERNELS_AVX2;
#endif
    return KERNELS_PLAIN;
}

enum kernels_instructions kernels_instructions(void)
{
    enum kernels_instructions here = instructions_here();
    return here < limit ? here : limit;
}

const char *kernels_instructions_name(enum kernels_instructions instructions)
{
    static const char *const names[] = {
        [KERNELS_PLAIN] = "no vector instructions",
        [KERNELS_AVX2] = "AVX2",
        [KERNELS_AVX512] = "AVX-512",
    };
    return names[instructions];
}

bool kernels_instructions_named(const char *name, enum kernels_instructions *instructions)
{
    for (int i = 0; i < KERNELS_INSTRUCTIONS_COUNT; i++) {
        *instructions = (enum kernels_instructions)i;
        if (strcmp(name, kernels_instructions_name(*instructions)) == 0)
            return true;
    }
    return false;
}

const char *kernels_instructions_word(enum kernels_instructions instructions)
{
    static const char *const words[] = {
        [KERNELS_PLAIN] = "plain",
        [KERNELS_AVX2] = "avx2",
        [KERNELS_AVX512] = "avx512",
    };
    return words[instructions];
}

void kernels_limit(enum kernels_instructions most)
{
    limit = most;
}

const struct tile_set *tile_set(void)
{
#ifdef __x86_64__
    switch (kernels_instructions()) {
    case KERNELS_AVX512:
        return &tile_avx512;
    case KERNELS_AVX2:
        return &tile_avx2;
    case KERNELS_PLAIN:
        break;
    }
#endif
    return &tile_plain;
}
