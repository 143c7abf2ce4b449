/* snapshot.h - the checkpoint under way: which servers have taken it and which have written
 * their part; and when the next one is due.
 *
 *     none --[snapshot_schedule], [snapshot_by_clock]--> a gate is set, or EFFECT_SNAPSHOT_DUE
 *       ^                     [snapshot_at_gate]--> EFFECT_SNAPSHOT_DUE
 *       |                                             |
 *       |    .-- named, sent to servers <--[snapshot_begin]
 *       |    |      sync: before that step is reached; async: training stands at the gate
 *       |    v
 *       |  taken by all [snapshot_hear_taken] --> EFFECT_GATE_OPEN: training goes on
 *       |    v
 *       |  written by all [snapshot_hear_part]: parts are durable
 *       |    v
 *       |  manifest [snapshot_collect] --[snapshot_hear_manifest]--> EFFECT_SNAPSHOT_WHOLE
 *       |                                                              |
 *       '-- EFFECT_SNAPSHOT_OVER <--[abandon_snapshot]-----------------'
 *              from each of these states; of the last checkpoint that ends the job
 *
 * The question to a server is repeated [snapshot_tick] until it has answered, and so is its
 * answer. What can be trusted: run.whole is a checkpoint in every state, only what has a manifest
 * is one; marks of servers (enum snapshot_mark) are those of `step`, while it is under way.
 *
 * For a snapshot chunks apply their pending sums (--accumulate), even if it is given up later.
 * So one that is given up is sent until every server has had it, and no batch is given out
 * before: all chunks always have the same number of versions.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_SNAPSHOT_H
#define PS_COORDINATOR_SNAPSHOT_H

#include "common/process/log_once.h"
#include "ps/coordinator/run.h"

struct snapshot {
    bool under_way, final;
    bool collected; /* All parts are durable, and the checkpointer writes the manifest. */
    uint64_t step;
    uint64_t number;   /* Snapshots named so far, this one included. */
    uint64_t recorded; /* The record has what chunks have had before this step. */
    uint64_t named_us, sent_us;
    uint64_t reached_us;      /* When it began to be written; 0: training has not come there yet. */
    uint64_t reached_wall_us; /* The same: see run_wall. */
    uint64_t given_up_us;     /* Since then servers have yet to say that they have had it; or 0. */

    /* When the last was reached or given up, or training began; 0: it has not. */
    uint64_t over_us;
    uint64_t due;             /* run.whole, or that of a later one that was given up. */
    uint64_t failed, skipped; /* Checkpoints. */
    struct log_once log_once; /* Of checkpoints that cannot be written. */
};

/* The generation ends: the snapshot under way is given up. */
void snapshot_drop(struct snapshot *s, const struct run *run);

/* Name the next snapshot, at a step that no worker can have reached yet. `started`: workers have
 * begun. */
struct effect snapshot_schedule(struct snapshot *s, struct run *run, bool started);
/* The last one is old: take one at the first possible step. */
struct effect snapshot_by_clock(const struct snapshot *s, struct run *run);
/* If training stands at a gate. `last`: one more than the worker that came there last; 0: none. */
struct effect snapshot_at_gate(const struct snapshot *s, const struct run *run, uint32_t last);

void snapshot_begin(struct snapshot *s, struct run *run, uint64_t step, bool final);
struct effect snapshot_hear_taken(struct snapshot *s, const struct run *run, struct member *server,
                                  const struct packet *packet);
struct effect snapshot_hear_part(struct snapshot *s, const struct run *run,
                                 const struct packet *packet);
/* The manifest, when all parts are durable and the epoch's scores up to then are counted: parts
 * can be quicker than scores. */
struct effect snapshot_collect(struct snapshot *s, const struct run *run);
struct effect snapshot_hear_manifest(struct snapshot *s, struct run *run,
                                     const struct order_written *written);
struct effect snapshot_tick(struct snapshot *s, const struct run *run);

/* Open the gate of the snapshot. False: it is open, or there is none. */
bool snapshot_open_gate(const struct snapshot *s, struct run *run);

/* Whether all servers have taken it. */
bool snapshot_is_taken(const struct run *run);
/* Whether training has come to the step of the snapshot under way. */
bool snapshot_is_reached(const struct snapshot *s, const struct run *run);
/* Whether training stands still for it; and whether it is written while training goes on. */
bool snapshot_holds(const struct snapshot *s, const struct run *run);
bool snapshot_is_beside(const struct snapshot *s, const struct run *run);

/* See common/base/invariant.h. */
void snapshot_check(const struct snapshot *s, const struct run *run);

#endif
