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
 *             checkpointer; LOADED, TAKEN, OWNER_SNAPSHOT and SCORED to the router; STOP to the coordinator
 *             when training cannot go on; of whole batches REPORT: a score, and whether it counts.
 *
 * Scores: each chunk keeps its values of the last scored batch count (scored.h). When all have
 * them, SCORED says so, and an EXCHANGE with `scored` reads them.
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
#include "ps/shard/plan.h"

struct owner;

/* Owner `index` of `count` on this server; chunks are dealt in turn. The plan must outlive it.
 * memory: see chunk_init. */
enum status owner_create(struct owner **owner, const struct plan *plan, uint32_t index,
                         uint32_t count, const struct chunk_memory *memory);
void owner_destroy(struct owner **owner);

/* No checks of itself any more (common/base/invariant.h). */
void owner_uncheck(struct owner *owner);

/* Takes over the packet's payload. */
void owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                  struct outbox *outbox);

#endif
