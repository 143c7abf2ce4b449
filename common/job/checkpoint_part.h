/* checkpoint_part.h - a server's description of its part of a checkpoint: to server 0, and in
 * the manifest.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_CHECKPOINT_PART_H
#define COMMON_JOB_CHECKPOINT_PART_H

#include <stdint.h>

#include "common/job/job.h"

#define CHECKPOINT_PART_NAME_MAX 64
#define CHECKPOINT_ARRAYS_MAX    (1 + SLOTS_MAX) /* Values, and the slots. */
/* In the place of an array's number: the chunk's update log since the snapshot before
 * (ps/shard/update_log.h). Not of the checkpoint. */
#define CHECKPOINT_ENTRIES CHECKPOINT_ARRAYS_MAX
/* The values of a score, to be kept as a file. Of no checkpoint. */
#define CHECKPOINT_SCORED (CHECKPOINT_ENTRIES + 1)
/* Beside CHECKPOINT_ENTRIES: a page of the server's descriptions (ps/shard/descriptions.h). */
#define CHECKPOINT_DESCRIPTIONS (CHECKPOINT_SCORED + 1)

struct checkpoint_part {
    char name[CHECKPOINT_PART_NAME_MAX]; /* Within the checkpoint's directory. */
    uint64_t bytes;
    uint8_t digest[DIGEST_BYTES]; /* BLAKE2b-256 of the file. */
};

#endif
