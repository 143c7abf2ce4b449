/* owner.h - the state machine that owns some of a server's chunks: takes gradients, applies,
 * answers.
 *
 *     EXCHANGE(gradient) -> the mode takes it -> updates that can be made -> RESULT, RECEIPT, MOVED_ON
 *
 * The job's mode decides when a gradient is applied and when an answer is released, see
 * ps/mode/shard_mode.h. The order within a chunk is apply, version + 1, release.
 *
 *     takes   LOAD, LET_GO, CHUNK_STATE (from a checkpoint), EXCHANGE (checked by the router), CUT.
 *     gives   RESULT, MOVED_ON and RECEIPT to peers through the router; CHUNK_STATE to the
 *             checkpointer; LOADED, TAKEN and OWNER_SNAPSHOT to the router; STOP to the coordinator
 *             when training cannot go on; of whole batches REPORT: a score, and whether it counts.
 *
 * Listeners (chunk_listener.h) hear of each load, batch and snapshot, and change nothing of it:
 * scores, and figures of staleness. They answer an EXCHANGE with `scored`, else it is MOVED_ON.
 *
 * Generations: LOAD begins one. Everything of the one before is forgotten: pending gradients,
 * waiting reads, snapshots, scored values, `previous`, verdict counts. Values that were sent
 * stay unchanged. All that an owner gives carries the generation of its last LOAD, so that
 * receivers drop the old. Queues keep order, so an owner sees nothing of another generation.
 *
 * First answers: every EXCHANGE has exactly one immediate answer towards the router, which
 * carries its weight: RESULT, MOVED_ON, RECEIPT, or TAKEN where the worker has to wait. So the
 * router knows the length of the owner's queue. The RESULT of a waiting read comes later,
 * without weight.
 *
 * Threads: one owner thread, or the router's. Time arrives as an argument. */

#ifndef PS_OWNER_OWNER_H
#define PS_OWNER_OWNER_H

#include <stdint.h>

#include "ps/orders/orders.h"
#include "ps/shard/chunk.h"
#include "ps/shard/chunk_listener.h"
#include "ps/shard/plan.h"

struct owner;

#define LISTENERS_MAX 4

struct owner_options {
    const struct plan *plan; /* Must outlive the owner. */
    uint32_t index, count;   /* Of this server's owners; chunks are dealt to them in turn. */
    const struct chunk_memory *memory;             /* See chunk_init. */
    const struct chunk_listener *const *listeners; /* NULL behind the last; or NULL for none. */
    const struct policy *policy;                   /* NULL: the mode decides. */
    bool unchecked; /* No checks of itself (common/base/invariant.h). */
};

enum status owner_create(struct owner **owner, const struct owner_options *options);
void owner_destroy(struct owner **owner);

/* Takes over the packet's payload. */
void owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                  struct outbox *outbox);

#endif
