/* version_skew.h - how far apart the chunks are that a worker computes from: the newest version of a pull less
 * the oldest, over all chunks; and the same within a part, that is the chunks of one variable on one
 * server, the largest of all parts. With locking a part is one chunk, and so that is 0.
 *
 * Threads: the session's. Ownership: borrows job and partition, whose variables stay as they are. */

#ifndef WORKER_CLIENT_VERSION_SKEW_H
#define WORKER_CLIENT_VERSION_SKEW_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/partition.h"

struct version_range {
    uint64_t least, most;
    uint32_t round; /* That this is of. */
};

struct version_skew {
    const struct partition *partition;
    uint64_t *versions;    /* [chunk_count] that the worker holds. Owned, as all of these. */
    uint32_t *first_chunk; /* [variable_count] */
    uint32_t *last_chunk;  /* [variable_count] */
    struct version_range *servers; /* [server_count] of the variable that is looked at. */
    uint32_t variable_count, round;
};

enum status version_skew_init(struct version_skew *skew, const struct job *job,
                              const struct partition *partition);
void version_skew_free(struct version_skew *skew);

/* Of what is held now. */
uint64_t version_skew_of_read(const struct version_skew *skew);
uint64_t version_skew_within_variables(struct version_skew *skew);

#endif
