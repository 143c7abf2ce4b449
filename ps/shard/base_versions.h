/* base_versions.h - the values of a chunk that each worker was given last: what its next gradient is computed
 * from, kept for whoever has to know by how much the chunk has moved since. Within a generation values
 * are known by their version, whoever was given them.
 *
 *     request 8, of version 5    given to worker 2 and kept
 *     request 8 once more        not given: there would be two answers to it, of two versions
 *     request 9, of version 7    given, and kept in the place of those; a worker takes values only
 *                                from the answer to its latest request
 *     request 8 once more        not given: nobody takes that
 *
 * Another ticket counts its requests anew. The worker may be the same all the same: it was given up for
 * lost, and has come back with a gradient of what it held, so that is let go only when it is given
 * something else.
 *
 * Threads: the chunk's. Memory: one frame a worker at most, and none where workers hold the same. */

#ifndef PS_SHARD_BASE_VERSIONS_H
#define PS_SHARD_BASE_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"

struct base_version_place {
    uint64_t ticket, request, version;
    struct frame *values; /* A reference, or NULL. */
};

struct base_versions {
    struct base_version_place *places; /* [count] by worker index. Owned. */
    uint32_t count;                    /* One more than the highest index seen. */
};

/* Who asks. */
struct base_request {
    uint32_t worker;
    uint64_t ticket, request;
};

/* Keep these values, which are then to be given. *replaced: the reference to what they replace, or
 * NULL; the caller's. STATUS_EXISTS: the request was answered; STATUS_MEMORY: nothing is kept. */
enum status base_versions_keep(struct base_versions *bases, struct base_request to,
                               struct frame *values, uint64_t version, struct frame **replaced);

/* The values of this version; NULL when nobody holds them. */
const struct frame *base_versions_find(const struct base_versions *bases, uint64_t version);

/* A generation is over. */
void base_versions_forget(struct base_versions *bases);

/* The same, and the places. */
void base_versions_free(struct base_versions *bases);

/* See common/base/invariant.h. bytes: of the chunk's values. */
void base_versions_check(const struct base_versions *bases, uint64_t bytes, uint64_t version);

#endif
