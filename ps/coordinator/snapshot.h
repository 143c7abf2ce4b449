/* snapshot.h - the checkpoint under way: which servers have taken it and which have written
 * their part.
 *
 *     named -----> taken by all -----> written by all -----> manifest
 *      sync: before that step is       parts are durable;
 *      reached; async: at a gate       only what has a manifest is a checkpoint
 *
 * The question to a server is repeated until it has answered, and so is its answer.
 *
 * For a snapshot chunks apply their pending sums (--accumulate), even if it is given up later.
 * So one that is given up is sent until every server has had it, and no batch is given out
 * before: all chunks always have the same number of versions.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_SNAPSHOT_H
#define PS_COORDINATOR_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/envelope.h"
#include "ps/orders/orders.h"
#include "ps/work/membership.h"

struct snapshot {
    bool under_way, final;
    bool collected; /* All parts are durable, and the checkpointer writes the manifest. */
    uint64_t step;
    uint64_t recorded; /* The record has what chunks have had before this step. */
    uint64_t named_us, sent_us;
    uint64_t reached_us;  /* When it began to be written; 0: training has not come there yet. */
    uint64_t given_up_us; /* Since then servers have yet to say that they have had it; or 0. */
};

void snapshot_begin(struct snapshot *snapshot, struct membership *membership,
                    const struct envelope *envelope, uint64_t step, bool final, uint64_t recorded,
                    uint64_t now_us, struct outbox *outbox);

/* Training has come to the snapshot's step. */
void snapshot_reached(struct snapshot *snapshot, uint64_t now_us);

/* Repeat it to servers that have not answered for a while. */
void snapshot_repeat(struct snapshot *snapshot, const struct membership *membership,
                     const struct envelope *envelope, uint64_t now_us, struct outbox *outbox);

/* Whether all servers have taken it. */
bool snapshot_is_taken(const struct membership *membership);

/* The first server that has not said what became of it, a place of the membership; NULL: all
 * have. */
const struct member *snapshot_unanswered(const struct membership *membership, uint32_t *server);

/* When all parts are durable: the manifest to the checkpointer, once, with the scores of the
 * snapshot's epoch before it. STATUS_AGAIN while they are not, or when it was sent;
 * STATUS_MEMORY. */
enum status snapshot_collect(struct snapshot *snapshot, const struct membership *membership,
                             const struct envelope *envelope, const struct tally_so_far *so_far,
                             struct outbox *outbox);

/* Bytes of all parts. */
uint64_t snapshot_bytes(const struct membership *membership);

#endif
