/* blas.c - OpenBLAS held to one thread, with a warning when it does not use what the processor has.
 * With BLAS_ABSENT it is nothing: only OpenBLAS can be held to one thread and names its kernels. */

#include "tests/bench/lib/blas.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifndef BLAS_ABSENT
#include <cblas.h>
#endif

#include "tests/lib/benchmark.h"

#ifndef BLAS_ABSENT

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

void blas_multiply(uint32_t m, uint32_t n, uint32_t k, const float *a, bool a_turned,
                   const float *b, bool b_turned, float *c)
{
    cblas_sgemm(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans,
                b_turned ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
                (blasint)(a_turned ? m : k), b, (blasint)(b_turned ? k : n), 0.0f, c, (blasint)n);
}

#else

void blas_init(char **argv)
{
    (void)argv;
}

const char *blas_core_name(void)
{
    return NULL;
}

void blas_multiply(uint32_t m, uint32_t n, uint32_t k, const float *a, bool a_turned,
                   const float *b, bool b_turned, float *c)
{
    (void)m, (void)n, (void)k, (void)a, (void)a_turned, (void)b, (void)b_turned, (void)c;
}

#endif
