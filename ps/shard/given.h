/* given.h - the values of a chunk that each worker was given last: what its next gradient is computed
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

#ifndef PS_SHARD_GIVEN_H
#define PS_SHARD_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"

struct given_place {
    uint64_t ticket, request, version;
    struct frame *values; /* A reference, or NULL. */
};

struct given {
    struct given_place *places; /* [count] by worker index. Owned. */
    uint32_t count;             /* One more than the highest index seen. */
};

/* Who asks. */
struct given_to {
    uint32_t worker;
    uint64_t ticket, request;
};

/* Keep these values, which are then to be given. *replaced: the reference to what they replace, or
 * NULL; the caller's. STATUS_EXISTS: the request was answered; STATUS_MEMORY: nothing is kept. */
enum status given_keep(struct given *given, struct given_to to, struct frame *values,
                       uint64_t version, struct frame **replaced);

/* The values of this version; NULL when nobody holds them. */
const struct frame *given_find(const struct given *given, uint64_t version);

/* A generation is over. */
void given_forget(struct given *given);

/* The same, and the places. */
void given_free(struct given *given);

/* See common/base/invariant.h. bytes: of the chunk's values. */
void given_check(const struct given *given, uint64_t bytes, uint64_t version);

#endif
