/* owner.h - the core that owns some of a server's chunks: takes gradients, applies, answers.
 *
 *   EXCHANGE(gradient) -> the mode takes it -> updates that can be made -> RESULT, RECEIPT, MOVED_ON
 *
 * The job's mode decides when a gradient is applied and when an answer is released, see
 * ps/mode/shard_mode.h. The order within a chunk is apply, version + 1, release.
 *
 * Takes   LOAD, LET_GO, CHUNK_STATE (from a checkpoint), EXCHANGE (checked by the router), CUT.
 * Gives   RESULT, MOVED_ON and RECEIPT to peers through the router; CHUNK_STATE to the checkpointer;
 *         LOADED, TAKEN, OWNER_CUT and SCORED to the router; STOP to the coordinator when training
 *         cannot go on, and where batches come whole REPORT: what one scored, and whether that counts.
 *
 * Scores: each chunk keeps its values of the last count of batches that the model is scored at
 * (scored.h); when all have, SCORED says so, and an EXCHANGE with `scored` is given them.
 *
 * Generations: LOAD begins one. Everything of the one before is forgotten: held gradients, parked
 * requests, cuts, values kept for scores, `previous`, verdict counts; what was given out stays as it was. All that an owner
 * gives carries the generation of its last LOAD, so that whoever passes it on can tell what has
 * become old on the way. Queues keep order, so an owner sees nothing of another generation.
 *
 * First words: every EXCHANGE is answered towards the router exactly once at once, with its weight:
 * RESULT, MOVED_ON, RECEIPT, or TAKEN when there is nothing to tell the worker yet. So the router
 * knows what is still in the owner's queue. A parked request's RESULT comes later, without weight.
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

/* It looks at itself no more, where it would (common/base/invariant.h). */
void owner_uncheck(struct owner *owner);

/* Takes over the packet's payload. */
void owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                  struct outbox *outbox);

#endif
