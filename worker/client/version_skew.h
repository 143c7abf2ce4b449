/* version_skew.h - how far apart the versions are that a worker computes from: over all chunks
 * of a read, the newest less the oldest; and the largest within a part, the chunks of one
 * variable on one server. With locking a part is one chunk, so that is 0.
 *
 * Threads: the session's. Ownership: borrows job and partition, whose variables stay as they
 * are. */

#ifndef WORKER_CLIENT_VERSION_SKEW_H
#define WORKER_CLIENT_VERSION_SKEW_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/partition.h"

struct version_range {
    uint64_t least, most;
    uint32_t round; /* The round that it was seen in. */
};

struct version_skew {
    const struct partition *partition;
    uint64_t *versions;    /* [chunk_count] of the worker's values. Owned, as all of these. */
    uint32_t *first_chunk; /* [variable_count] */
    uint32_t *last_chunk;  /* [variable_count] */
    struct version_range *servers; /* [server_count] of the variable under way. */
    uint32_t variable_count, round;
};

enum status version_skew_init(struct version_skew *skew, const struct job *job,
                              const struct partition *partition);
void version_skew_free(struct version_skew *skew);

/* Of the current values. */
uint64_t version_skew_of_read(const struct version_skew *skew);
uint64_t version_skew_within_variables(struct version_skew *skew);

#endif
