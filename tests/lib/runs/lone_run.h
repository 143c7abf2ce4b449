/* lone_run.h - a real run directory within seconds: sixty made-up images, a small net, no servers.
 *
 * Threads: one. */

#ifndef TESTS_LIB_RUNS_LONE_RUN_H
#define TESTS_LIB_RUNS_LONE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

/* Its updates are of 20 examples, with adam, and a checkpoint after each; `epochs` of three. */
#define LONE_RUN_EPOCH 3

struct lone_run {
    const char *out, *restore; /* restore: NULL for "auto". */
    uint32_t epochs;
    bool stopped;      /* Asked to stop before it begins. */
    const char *model; /* NULL for a small one. */
};

/* An exit code; error holds one line when it is not EXIT_DONE. */
int lone_run(const struct lone_run *run, struct error *error);

#endif
