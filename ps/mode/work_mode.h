/* work_mode.h - what a mode decides about the work, on the coordinator: each worker's share, the
 * progress of training, where a checkpoint can be taken, and when the job is done. The
 * coordinator does the rest, the same in every mode: members, messages and time.
 *
 *     deals   (sync)   START says which leaves of every step are a worker's
 *     leases  (async)  LEASE asks, WORK gives a batch: `ask`, `held`, `finished` and the like
 *
 * Checkpoints: where all chunks pass the same versions, the mode names a step ahead. Otherwise
 * it has a gate: no batch behind it is given out until all before it are done.
 *
 * A mode's own state is a block of state_bytes, which the core makes, zeroed, and frees.
 *
 * A table begins with WORK_DEFAULTS, or with the members of the mode that it inherits from
 * (SYNC_WORK in sync.h, ASYNC_WORK in async.h), and names what differs.
 *
 * Threads: the coordinator's. */

#ifndef PS_MODE_WORK_MODE_H
#define PS_MODE_WORK_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/store/run_directory.h"
#include "ps/work/assignment.h"
#include "ps/work/membership.h"
#include "ps/work/policy.h"
#include "ps/work/quorum.h"
#include "ps/work/statistics.h"

/* The most batches that a worker holds, in any mode. */
#define WORK_HELD_MAX 2

/* A table names a member again where it differs from what it inherits. */
#pragma GCC diagnostic ignored "-Woverride-init"

struct work_mode;

struct work {
    const struct job *job;
    const struct work_mode *rules; /* The mode's table; NULL before there is a job. */
    const struct policy *policy;   /* NULL: the mode decides. Borrowed. */
    void *state;                   /* [rules->state_bytes] the mode's block. Owned. */
    struct membership membership;
    struct assignment assignment;
    struct statistics statistics;
    uint64_t stop_step; /* The last version of the job. */
};

struct work_mode {
    size_t state_bytes;

    /* The job begins at `first`: room for the declared workers. STATUS_MEMORY. */
    enum status (*init)(struct work *work, uint64_t first);
    /* Frees what the block refers to. Default: nothing. */
    void (*free)(struct work *work);
    /* Room for so many workers. STATUS_MEMORY. Default: none is needed. */
    enum status (*grow)(struct work *work, uint32_t worker_count);

    /* --- where training stands */

    /* The first update that is not known to be made: where a worker that starts begins. */
    uint64_t (*step)(const struct work *work);
    /* The job's last update. `deserted`: all workers have left, after a stop. */
    uint64_t (*end)(const struct work *work, bool deserted);
    /* All are back at `step`, with what its checkpoint tells; how many counted updates will be made
     * again. */
    uint64_t (*go_back)(struct work *work, uint64_t step, const struct tally_so_far *so_far);
    /* Make no more than there is. False: the coordinator's own router has to say which version
     * is the last; else stop_step does. */
    bool (*stop)(struct work *work);
    /* Whether the worker has work, and does not wait for another. At the end all owe a DONE. */
    bool (*owes)(const struct work *work, uint32_t worker);
    /* Whether its DONE is not from before it had more work. */
    bool (*may_be_done)(const struct work *work, uint32_t worker, const struct message_done *done);
    /* When all workers are done: whether no work is left. */
    bool (*is_drained)(const struct work *work);

    /* The mode's own figures, for run.json. Default: none. */
    void (*figures)(const struct work *work, struct mode_figures *figures);

    /* --- checkpoints */

    /* The first step at which the next snapshot can be taken. `started`: workers have begun; until
     * then it is the very next, so that a run resumed just before a due step does not skip it. */
    uint64_t (*next_snapshot)(const struct work *work, bool started);
    /* Whether training has come to the step of a snapshot. */
    bool (*has_reached)(const struct work *work, uint64_t step);

    /* Where a step does not wait for all leaves: quorum.h. Default: NULL. */
    struct quorum *(*quorum)(const struct work *work);

    /* --- gates; default: there is none */

    /* A snapshot is due at `step`: the gate is there now. False: it has to be named ahead. */
    bool (*set_gate)(struct work *work, uint64_t step);
    uint64_t (*gate)(const struct work *work); /* UINT64_MAX: none. */
    /* All before the gate is done, and nothing behind it was given out. */
    bool (*is_at_gate)(const struct work *work);
    /* All before the gate is given out or done: there is no work until it is passed. */
    bool (*is_gated)(const struct work *work);

    /* --- leases; default: there is no work to ask for */

    /* One more batch for the worker; false when there is none for it now. */
    bool (*ask)(struct work *work, uint32_t worker, uint64_t *batch);
    /* The batches that it holds, earliest first; how many. */
    unsigned (*held)(const struct work *work, uint32_t worker, uint64_t batches[WORK_HELD_MAX]);
    /* Every chunk has answered for this batch. Whether others can have batches now that they
     * could not have before. */
    bool (*finished)(struct work *work, uint32_t worker, uint64_t batch);
    /* There will be no more for it, unless a worker is lost. */
    bool (*is_enough)(const struct work *work, uint32_t worker);
    /* It is gone: its batches are for others. */
    void (*lost)(struct work *work, uint32_t worker);
    /* Whether batches of lost workers wait for others. */
    bool (*has_spare)(const struct work *work);
    /* Whether the worker gets no batch because it waits for `whom`. */
    bool (*waits_for)(const struct work *work, uint32_t worker, uint32_t *whom);
    /* How many batches it has finished, in a mode that counts them. Default: 0. */
    uint64_t (*clock)(struct work *work, uint32_t worker);

    const char *unit; /* Of progress: "step" of all workers, "update" by one. */
    /* The words of `run --explain` for START; and, of leases, for a batch. */
    const char *starts, *gives;

    /* Invariants of block and statistics between two messages; see common/base/invariant.h. */
    void (*check)(const struct work *work);
};

#define WORK_DEFAULTS                                                                              \
    .free = work_as_it_is, .grow = work_has_room, .figures = work_no_figures,                      \
    .quorum = work_no_quorum, .set_gate = work_no_gate, .gate = work_gate_nowhere,                 \
    .is_at_gate = work_never, .is_gated = work_never, .ask = work_nothing_to_ask,                  \
    .held = work_none_held, .finished = work_finished_nothing, .is_enough = work_not_for,          \
    .lost = work_lost_nothing, .has_spare = work_never, .waits_for = work_waits_for_none,          \
    .clock = work_no_clock

void work_as_it_is(struct work *work);
enum status work_has_room(struct work *work, uint32_t worker_count);
void work_no_figures(const struct work *work, struct mode_figures *figures);
struct quorum *work_no_quorum(const struct work *work);
bool work_no_gate(struct work *work, uint64_t step);
uint64_t work_gate_nowhere(const struct work *work);
bool work_never(const struct work *work);
bool work_nothing_to_ask(struct work *work, uint32_t worker, uint64_t *batch);
unsigned work_none_held(const struct work *work, uint32_t worker, uint64_t batches[WORK_HELD_MAX]);
bool work_finished_nothing(struct work *work, uint32_t worker, uint64_t batch);
bool work_not_for(const struct work *work, uint32_t worker);
void work_lost_nothing(struct work *work, uint32_t worker);
bool work_waits_for_none(const struct work *work, uint32_t worker, uint32_t *whom);
uint64_t work_no_clock(struct work *work, uint32_t worker);

/* The table of the job's mode. */
const struct work_mode *work_mode_of(const struct job *job);

/* The work of a job that begins at `first`, whose epoch and window had scored `so_far` before it
 * (see statistics_init). Membership and assignment stay as they are. STATUS_MEMORY. */
enum status work_begin(struct work *work, const struct job *job, uint64_t first,
                       const struct tally_so_far *so_far);
void work_free(struct work *work);

/* All of it, once there is a mode; see common/base/invariant.h. */
void work_check(const struct work *work);

#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    extern const struct work_mode work_##work;
#include "common/job/mode_rows.inc"
#undef MODE

#endif
