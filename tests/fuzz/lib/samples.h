/* samples.h - valid things that fuzzers start from: jobs, a disk in memory with a file on it.
 *
 * Threads: one. Failing for want of memory ends the process. */

#ifndef TESTS_FUZZ_SAMPLES_H
#define TESTS_FUZZ_SAMPLES_H

#include <stddef.h>

#include "common/job/job.h"
#include "deploy/engine/simulated_disk.h"

/* Two small variables, "kernel" [3,4] and "bias" [4]: 32 elements with the gaps. Passes job_check.
 * The caller frees it. */
struct job samples_job(const char *optimizer, enum mode mode);
#define SAMPLES_ELEMENTS 32

/* Put bytes under a path. */
void samples_put(struct simulated_disk *disk, const char *path, const void *bytes, size_t count);

#endif
