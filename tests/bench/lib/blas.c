/* blas.c - OpenBLAS held to one thread, with a warning when it does not use what the processor has.
 * */

#include "tests/bench/lib/blas.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cblas.h>

#include "tests/lib/benchmark.h"

/* What BLAS's name for a processor stands for; "" for what is older than AVX2 or unknown. */
static const char *instructions_of(const char *core)
{
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    static const char *const middle[] = {"Haswell", "Zen"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcasecmp(core, wide[i]) == 0)
            return "AVX-512";
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++)
        if (strcasecmp(core, middle[i]) == 0)
            return "AVX2";
    return "";
}

/* OpenBLAS looks at the variable before main begins. */
static void begin_again(const char *can, char **argv)
{
    setenv("OPENBLAS_CORETYPE", strcmp(can, "AVX-512") == 0 ? "SkylakeX" : "Haswell", 1);
    execv("/proc/self/exe", argv);
}

void blas_init(char **argv)
{
    const char *held = getenv("OPENBLAS_CORETYPE");
    const char *can = benchmark_instructions();
    openblas_set_num_threads(1);
    if (strcmp(can, "baseline") == 0 || strcmp(instructions_of(blas_core_name()), can) == 0)
        return;
    if (held == NULL)
        begin_again(can, argv);
    printf("warning: BLAS computes as for %s and this processor has %s%s%s\n", blas_core_name(),
           can, held != NULL ? "; unset OPENBLAS_CORETYPE=" : "", held != NULL ? held : "");
}

const char *blas_core_name(void)
{
    return openblas_get_corename();
}

void blas_multiply(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)k, b, (blasint)n, 0.0f, c, (blasint)n);
}

void blas_multiply_at(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)m, b, (blasint)n, 0.0f, c, (blasint)n);
}

void blas_multiply_bt(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)k, b, (blasint)k, 0.0f, c, (blasint)n);
}
