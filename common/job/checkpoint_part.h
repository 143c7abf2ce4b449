/* checkpoint_part.h - what a server says of its part of a checkpoint: to server 0, and server 0 in
 * the manifest.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_CHECKPOINT_PART_H
#define COMMON_JOB_CHECKPOINT_PART_H

#include <stdint.h>

#include "common/job/job.h"

#define CHECKPOINT_PART_NAME_MAX 64
#define CHECKPOINT_ARRAYS_MAX    (1 + SLOTS_MAX) /* Values, and the slots. */
/* In the place of an array's number: not of the checkpoint, but what the chunk has had since the cut
 * before (ps/shard/update_log.h). */
#define CHECKPOINT_ENTRIES CHECKPOINT_ARRAYS_MAX
/* And of no checkpoint: the values that a score is of, to be kept as a file. */
#define CHECKPOINT_SCORED (CHECKPOINT_ENTRIES + 1)

struct checkpoint_part {
    char name[CHECKPOINT_PART_NAME_MAX]; /* Within the checkpoint's directory. */
    uint64_t bytes;
    uint8_t digest[DIGEST_BYTES]; /* BLAKE2b-256 of the file. */
};

#endif
