/* pytorch.h - PyTorch's gradient of the reference model, timed by a child process on request.
 *
 * Threads: one. */

#ifndef TESTS_BENCH_LIB_PYTORCH_H
#define TESTS_BENCH_LIB_PYTORCH_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct pytorch {
    pid_t process;         /* 0: there is none. */
    FILE *asks, *answers;  /* Lines to and from it. */
    char version[64];      /* Or why there is none. */
    unsigned batch, calls; /* What to ask for. */
    double seconds;        /* The last answer: one gradient of `batch` images. */
};

/* Held to AVX2, whatever the processor has, if narrow. Without PyTorch, process is 0 and version says
 * why. */
void pytorch_open(struct pytorch *pytorch, bool narrow);
void pytorch_close(struct pytorch *pytorch);

/* Work for measure.h: has `calls` gradients made and sets `seconds`. */
void pytorch_gradient(void *pytorch);

#endif
