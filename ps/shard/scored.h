/* scored.h - keeps a chunk's values of the batch count at which the model is scored.
 *
 * Each chunk passes such a count exactly once. Its values then are the model that is scored;
 * where all chunks have had the same batches (sync, a gate, the end) they are those of a
 * snapshot. They are kept without a copy, but for lent memory, and workers read them while
 * training goes on. They are dropped when the score is whole, or when the next such count is
 * passed first.
 *
 *     open, each update --> scored_pass --> kept --scored_let_go, the next count--> gone
 *
 * Threads: one owner; readers of the frame elsewhere only drop references.
 * Memory: one copy of the chunk's values at most. */

#ifndef PS_SHARD_SCORED_H
#define PS_SHARD_SCORED_H

#include <stdbool.h>
#include <stdint.h>

#include "ps/shard/chunk.h"

struct scored {
    uint64_t batches;     /* The last scored count that was passed; 0 for none. */
    uint64_t settled;     /* Values of this count and of earlier ones are not asked for any more. */
    struct frame *values; /* [count] of that time; NULL: dropped, or no memory to keep them. */
};

/* After an update: whether its count is scored. Then the old values are dropped, and the new
 * ones kept if they may be asked for. */
bool scored_pass(struct scored *scored, const struct chunk *chunk);

/* Scores up to this count are whole, or will not be made. */
void scored_let_go(struct scored *scored, uint64_t batches);

/* A generation ends. */
void scored_forget(struct scored *scored);

/* See common/base/invariant.h. */
void scored_check(const struct scored *scored, const struct chunk *chunk);

#endif
