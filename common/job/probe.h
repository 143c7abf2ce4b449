/* probe.h - a fixed sample of this process's arithmetic, as a digest.
 *
 * Sync promises the same bits on all workers, so every process shows its own arithmetic before
 * it may join: here the update kernels with every tail length and the schedule, and in workers a
 * small gradient besides. Two processors that differ in one bit differ in the digest.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_PROBE_H
#define COMMON_JOB_PROBE_H

#include <stdint.h>

#include "common/job/job.h"

/* Every optimizer over lengths 1 to 65 for a few steps, and every schedule. */
void probe_updates(uint8_t digest[DIGEST_BYTES]);

#endif
