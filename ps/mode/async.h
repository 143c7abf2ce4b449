/* async.h - asynchronous training, for modes that inherit from it: of a chunk whose block begins
 * with struct async_shard (ASYNC_SHARD), and of leases, whose block begins with struct async_work
 * (ASYNC_WORK).
 *
 * Threads: the owner's; of what ASYNC_WORK names, the coordinator's. */

#ifndef PS_MODE_ASYNC_H
#define PS_MODE_ASYNC_H

#include "ps/mode/shard_mode.h"
#include "ps/mode/work_mode.h"
#include "ps/shard/base_versions.h"
#include "ps/shard/batch_set.h"
#include "ps/work/leases.h"

/* --- one chunk ----------------------------------------------------------------------------- */

struct async_shard {
    struct batch_set batches; /* Had by this chunk, or left out. */
    bool taken;               /* A gradient waits to be applied: `update`, of `batch`. */
    struct update update;
    uint64_t batch;
    struct policy_answer decided; /* Of the gradient that is judged. */
    struct base_versions bases; /* Where gradients are compensated: the values that workers hold. */
};

#define ASYNC_SHARD                                                                                \
    SHARD_DEFAULTS, .state_bytes = sizeof(struct async_shard), .open = async_open,                 \
                    .forget = async_forget, .free = async_free, .fault = async_fault,              \
                    .judge = async_judge, .take = async_take, .sent_before = async_sent_before,    \
                    .next_update = async_next_update, .applied = async_applied,                    \
                    .answer = async_answer, .gives = async_gives, .taken = ASYNC_TAKEN,            \
                    .updated = ASYNC_UPDATED, .check = async_check

#define ASYNC_TAKEN                                                                                \
    "takes it, however old the values are that it was computed from. Had this chunk had the "      \
    "batch before, it would be dropped as a duplicate"
#define ASYNC_UPDATED                                                                              \
    "at once, without waiting for others, the gradient is divided by its {examples} "              \
    "examples and makes one update. Since the version that it was computed from "                  \
    "{staleness} others were made: that is its staleness"

void async_open(struct shard *shard);
void async_forget(struct shard *shard);
void async_free(struct shard *shard);
const char *async_fault(const struct job *job, const struct message_exchange *exchange);
enum verdict async_judge(struct shard *shard, const struct message *message);
enum status async_take(struct shard *shard, const struct message *message, struct frame *gradient,
                       enum verdict *verdict);
enum push_status async_sent_before(const struct shard *shard,
                                   const struct message_exchange *exchange);
bool async_next_update(struct shard *shard, struct update *update);
void async_applied(struct shard *shard, const struct update *update);
enum release async_answer(const struct shard *shard, const struct read_request *wanted,
                          struct read_result *read);
bool async_gives(struct shard *shard, const struct message *message,
                 const struct read_result *read);
void async_check(const struct shard *shard);

/* --- the work ------------------------------------------------------------------------------ */

struct async_work {
    struct leases leases;
};

#define ASYNC_WORK                                                                                 \
    WORK_DEFAULTS,                                                                                 \
        .state_bytes = sizeof(struct async_work), .init = async_init, .free = async_free_work,     \
        .grow = async_grow, .step = async_step, .end = async_end, .go_back = async_go_back,        \
        .stop = async_stop, .owes = async_owes, .may_be_done = async_may_be_done,                  \
        .is_drained = async_is_drained, .next_snapshot = async_next_snapshot,                      \
        .has_reached = async_has_reached, .set_gate = async_set_gate, .gate = async_gate,          \
        .is_at_gate = async_is_at_gate, .is_gated = async_is_gated, .ask = async_ask,              \
        .held = async_held, .finished = async_finished, .is_enough = async_is_enough,              \
        .lost = async_lost, .has_spare = async_has_spare, .unit = "update",                        \
        .starts = ASYNC_STARTS, .gives = ASYNC_GIVES, .check = async_check_work

#define ASYNC_STARTS "Which batches are yours, you will have to ask"
#define ASYNC_GIVES  "It is leased to you: should you be lost, another worker gets it"

enum status async_init(struct work *work, uint64_t first);
void async_free_work(struct work *work);
enum status async_grow(struct work *work, uint32_t worker_count);
uint64_t async_step(const struct work *work);
uint64_t async_end(const struct work *work, bool deserted);
uint64_t async_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far);
bool async_stop(struct work *work);
bool async_owes(const struct work *work, uint32_t worker);
bool async_may_be_done(const struct work *work, uint32_t worker, const struct message_done *done);
bool async_is_drained(const struct work *work);
uint64_t async_next_snapshot(const struct work *work, bool started);
bool async_has_reached(const struct work *work, uint64_t step);
bool async_set_gate(struct work *work, uint64_t step);
uint64_t async_gate(const struct work *work);
bool async_is_at_gate(const struct work *work);
bool async_is_gated(const struct work *work);
bool async_ask(struct work *work, uint32_t worker, uint64_t *batch);
unsigned async_held(const struct work *work, uint32_t worker, uint64_t batches[WORK_HELD_MAX]);
bool async_finished(struct work *work, uint32_t worker, uint64_t batch);
bool async_is_enough(const struct work *work, uint32_t worker);
void async_lost(struct work *work, uint32_t worker);
bool async_has_spare(const struct work *work);
void async_check_work(const struct work *work);

#endif
