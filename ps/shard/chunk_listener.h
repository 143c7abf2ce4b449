/* chunk_listener.h - what an extension hears of the chunks of one owner.
 *
 *     LOAD -> forget -> values -> loaded -> [ update -> applied ]... -> snapshot
 *
 * A listener changes nothing of a chunk, and returns nothing: training has the same bits without it. It
 * may send messages of its own. Every function is optional.
 *
 * Threads: the owner's.
 * Ownership: the owner makes the state, zeroed, and frees it after the last `forget`. News are not kept. */

#ifndef PS_SHARD_CHUNK_LISTENER_H
#define PS_SHARD_CHUNK_LISTENER_H

#include "common/wire/outbox.h"
#include "ps/shard/chunk.h"

struct chunk_news {
    const struct plan *plan;
    uint32_t owner, chunk_count; /* The owner's index on its server; its chunks. */
    uint64_t generation, now_us;
    const struct packet *packet; /* The EXCHANGE or CLOSE, without a gradient; else NULL. */
    struct outbox *outbox;
    const struct chunk *chunk; /* NULL where it is about all of them. */
    uint32_t place;            /* Of the chunk among the owner's, from 0. */
};

struct chunk_listener {
    size_t bytes, chunk_bytes; /* Of the state: so many, and so many for each chunk behind them. */
    /* Nothing of the generation before is of use. ends: nor does the state live on; drop all that
     * it refers to. */
    void (*forget)(void *state, uint32_t chunk_count, bool ends);
    /* The chunk has its first values of a generation. */
    void (*loaded)(void *state, const struct chunk_news *news);
    /* It has had one more batch of the packet: maybe without a version. */
    void (*applied)(void *state, const struct chunk_news *news);
    /* The owner has taken a snapshot, or cannot: the order that says so. Its payload is free. */
    void (*snapshot)(void *state, const struct chunk_news *news, struct packet *order);
    /* The packet wants scored values: its answer, so far a MOVED_ON. */
    void (*asked)(void *state, const struct chunk_news *news, struct packet *answer);
    /* Scores up to this count of batches are whole, or will not be made. */
    void (*let_go)(void *state, const struct chunk_news *news, uint64_t batches);
    /* See common/base/invariant.h. */
    void (*check)(const void *state, const struct chunk *chunk, uint32_t place);
};

#endif
