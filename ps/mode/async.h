/* async.h - leases, shared by the modes that give out batches. Each adds its own rule for a
 * worker's next batch. Its block begins with struct async_work, and its table with ASYNC_WORK,
 * the members that are the same in all.
 *
 * Threads: the coordinator's. */

#ifndef PS_MODE_ASYNC_H
#define PS_MODE_ASYNC_H

#include "ps/mode/work_mode.h"
#include "ps/work/leases.h"

struct async_work {
    struct leases leases;
};

#define ASYNC_WORK                                                                                 \
    .step = async_step, .end = async_end, .stop = async_stop, .owes = async_owes,                  \
    .may_be_done = async_may_be_done, .is_drained = async_is_drained,                              \
    .next_snapshot = async_next_snapshot, .cutting = async_cutting,                                \
    .has_reached = async_has_reached, .set_gate = async_set_gate, .gate = async_gate,              \
    .is_at_gate = async_is_at_gate, .is_gated = async_is_gated, .held = async_held,                \
    .is_enough = async_is_enough, .lost = async_lost

enum status async_init(struct work *work, uint64_t first);
void async_close_work(struct work *work);
enum status async_grow(struct work *work, uint32_t worker_count);
uint64_t async_step(const struct work *work);
uint64_t async_end(const struct work *work, bool deserted);
uint64_t async_go_back(struct work *work, uint64_t step);
bool async_stop(struct work *work);
bool async_owes(const struct work *work, uint32_t worker);
bool async_may_be_done(const struct work *work, uint32_t worker, const struct message_done *done);
bool async_is_drained(const struct work *work);
uint64_t async_next_snapshot(const struct work *work, bool started);
void async_cutting(struct work *work, uint64_t step, uint64_t whole);
bool async_has_reached(const struct work *work, uint64_t step);
void async_set_gate(struct work *work, uint64_t step);
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
