/* group.h - what becomes of one gradient of a chunk: it is compensated for what others have done
 * meanwhile (compensation.h), and applied. Whoever knows which gradients came in which order, and the
 * values of each one's base, can make the same updates again: nothing is asked of an owner.
 *
 * Threads: the chunk's. */

#ifndef PS_SHARD_GROUP_H
#define PS_SHARD_GROUP_H

#include "ps/shard/chunk.h"

struct chunk_gradient {
    const float *sum; /* [count] over `examples` examples; NULL: the batch is left out. */
    uint32_t examples;
    uint64_t staleness; /* chunk_staleness of what it was computed from ... */
    const float *base;  /* ... and those values, [count]; NULL where nothing is compensated. */
    bool keep_previous; /* The values of before stay readable as `previous`. */
};

/* One batch more: STATUS_MEMORY, and training cannot go on. */
enum status group_add(struct chunk *chunk, const struct chunk_gradient *gradient);

/* Whether gradients of this staleness need their base. */
bool group_needs_base(const struct chunk *chunk, uint64_t staleness);

#endif
