/* scores.h - keeps the values of each chunk of the batch count at which the model is scored.
 *
 * Each chunk passes such a count exactly once. Its values then are the model that is scored;
 * where all chunks have had the same batches (sync, a gate, the end) they are those of a
 * snapshot. They are kept without a copy, but for lent memory, and workers read them while
 * training goes on. They are dropped when the score is whole, or when the next such count is
 * passed first. With --keep-scored a copy goes to the checkpointer, for the file of the model.
 *
 *     loaded, applied --> pass --> kept --let_go, the next count--> gone
 *                          '--> SCORED to the router, when all chunks of the owner have passed
 *
 * Threads: one owner; readers of the frame elsewhere only drop references.
 * Memory: a copy of a chunk's values at most, and one more with --keep-scored. */

#ifndef PS_EXTENSION_SCORES_H
#define PS_EXTENSION_SCORES_H

#include "ps/shard/chunk_listener.h"

/* Of one chunk. */
struct scored {
    uint64_t batches;     /* The last scored count that was passed; 0 for none. */
    uint64_t settled;     /* Values of this count and of earlier ones are not asked for any more. */
    struct frame *values; /* [count] of that time; NULL: dropped, or no memory to keep them. */
    struct frame *handed; /* The copy that was handed over last, or NULL. */
};

extern const struct chunk_listener scores_listener;

#endif
