/* group.h - what becomes of one gradient of a chunk: it is compensated for what others have done
 * meanwhile (compensation.h), and applied; where the job accumulates, with others:
 *
 *     batch  1  2  3  | 4  5  6  | 7 |        G = 3, a cut or the end of an epoch after 7
 *     version         1          2   3
 *
 * A group is summed up in order of arrival, and divided as update_sum.h says. A batch that is
 * left out fills its place. The rate is that of the last batch's, and of the greatest staleness: while
 * a group is open no version is made, so each member's is what it was on arrival.
 *
 * Whoever knows which gradients came in which order, and the
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
    uint64_t lag;       /* Its place in the schedule is so many batches before its own. */
};

/* One batch more: STATUS_MEMORY, and training cannot go on. */
enum status group_add(struct chunk *chunk, const struct chunk_gradient *gradient);

/* Whether the next batch will make a version. */
bool group_closes(const struct chunk *chunk);

/* For a cut: what is held is applied as it is. STATUS_MEMORY as above. */
enum status group_close(struct chunk *chunk);

/* Whether gradients of this staleness need their base. */
bool group_needs_base(const struct chunk *chunk, uint64_t staleness);

#endif
