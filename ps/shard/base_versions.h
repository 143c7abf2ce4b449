/* base_versions.h - the values of a chunk that each worker read last: the base of its next
 * gradient. Delay compensation needs them to know how far the chunk has moved since. Within a
 * generation a version names its values, for all workers.
 *
 *     request 8, of version 5    sent to worker 2 and kept
 *     request 8 once more        not sent: it would have two answers, of two versions
 *     request 9, of version 7    sent, and kept in their place; a worker takes values only
 *                                from the answer to its latest request
 *     request 8 once more        not sent: no worker takes that
 *
 * A new ticket counts its requests anew. It may be the same worker, which was given up for lost
 * and returns with a gradient of its old values. So those go only when it reads others.
 *
 * Threads: the chunk's. Memory: at most one frame a worker; workers with the same values share
 * one. */

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

/* The request of a worker. */
struct base_request {
    uint32_t worker;
    uint64_t ticket, request;
};

/* Keep the values that this request is about to get. *replaced: the reference to the old ones,
 * or NULL; the caller's. STATUS_EXISTS: the request has its answer already. STATUS_MEMORY:
 * nothing is kept. */
enum status base_versions_keep(struct base_versions *bases, struct base_request to,
                               struct frame *values, uint64_t version, struct frame **replaced);

/* The values of this version; NULL when no worker holds them. */
const struct frame *base_versions_find(const struct base_versions *bases, uint64_t version);

/* A generation ends. */
void base_versions_forget(struct base_versions *bases);

/* Forget, and free the places. */
void base_versions_free(struct base_versions *bases);

/* See common/base/invariant.h. bytes: of the chunk's values. */
void base_versions_check(const struct base_versions *bases, uint64_t bytes, uint64_t version);

#endif
