/* scored.h - the values of a chunk after so many batches that the model is scored then.
 *
 * Each chunk passes such a count exactly once, with whatever batches it has had by then: these
 * values are the model that the score is of, and where all have had the same batches (sync, a gate,
 * the end) they are those of a cut. They are kept when the count is passed, without a copy but of
 * lent memory, for workers to ask for while training goes on; and let go when the score is whole,
 * or when the next such count is passed first.
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
    uint64_t batches;     /* The last such count that was passed; 0 for none. */
    uint64_t settled;     /* Nobody will ask for the values of this count, nor of those before. */
    struct frame *values; /* [count] as they were then; NULL: let go, or no memory to keep them. */
};

/* The chunk has come to where it is. Whether it is scored there: then what was kept before is
 * dropped, and its values are kept if anybody may ask for them. */
bool scored_pass(struct scored *scored, const struct chunk *chunk);

/* Scores up to this count are whole, or will not be made. */
void scored_let_go(struct scored *scored, uint64_t batches);

/* A generation is over. */
void scored_forget(struct scored *scored);

/* See common/base/invariant.h. */
void scored_check(const struct scored *scored, const struct chunk *chunk);

#endif
