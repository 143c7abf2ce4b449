/* timetable.h - the times of all work within the processes of a described cluster (deploy/cluster),
 * for the engine (deploy/engine/timing.h); and their sums at the end.
 *
 *     timetable_init(&timetable, &options);
 *     engine_options.timing = timetable_timing(&timetable);
 *     ... engine_run ...
 *     load = timetable_load(&timetable, PART_ROUTER, engine.now_ns);
 *     engine_free(&engine);
 *     timetable_free(&timetable);
 *
 *     a message           as the cluster's worker and server have it, for sender and receiver
 *     a gradient applied  apply_byte_ps
 *     a leaf              the time that a real run with the same job, --compute, --slow, --straggle
 *     and
 *                         --pause gives it, draw by draw (worker/throttle.h); a node is the sum of
 *                         its leaves
 *     a score             score_example_ns for each of its examples: as in a real run, --compute
 *                         and --slow have no influence
 *     between threads     TIMETABLE_QUEUE_NS
 *
 * All but the last is work of a processor of the process's host, shared with all others there. In a
 * real run with controlled time a leaf is waited for, and processors are free meanwhile; here it is
 * computed all that time.
 *
 * Not modelled: the processor time of checkpoints, and of other programs on a host.
 *
 * Threads: the engine's. Ownership: borrows cluster, layout and job, which outlive it. One engine
 *          uses it, and is freed before. Units: virtual nanoseconds. */

#ifndef DEPLOY_SIMULATE_TIMETABLE_H
#define DEPLOY_SIMULATE_TIMETABLE_H

#include <stdint.h>

#include "deploy/cluster/layout.h"
#include "deploy/engine/timing.h"

/* A thread that sleeps on its mailbox (common/wire/mailbox.h) is woken by a write to an eventfd:
 * this is its delay on an idle processor. A thread already at work would find the item sooner. */
#define TIMETABLE_QUEUE_NS UINT64_C(5000)

struct timetable_options {
    const struct cluster *cluster;
    const struct layout *layout; /* Of that cluster, with all joining workers. */
    const struct job *job;
    uint32_t owner_threads; /* Of each server; 0: its router is the owner. */

    /* Optional: called for each piece of work as well (timing.h). */
    void (*worked)(void *context, const struct simulated_process *process,
                   const struct labour_done *done);
    void *context;
};

struct timetable_use {
    uint64_t times;
    uint64_t worked_ns; /* Processor time. */
    uint64_t took_ns;   /* Longer where processors were shared, or the process was stopped. */
};

struct timetable {
    struct timetable_options options;
    struct processors *processors;
    struct compute_time *times;                 /* [layout->workers] */
    struct leaf_trace trace;                    /* The trace that they draw from, if any. */
    struct timetable_use (*uses)[LABOUR_COUNT]; /* [layout->servers + layout->workers] by number. */
};

/* STATUS_MEMORY; STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: leaf times are to come from a run
 * without such times, which the line names. */
enum status timetable_init(struct timetable *timetable, const struct timetable_options *options,
                           struct error *error);
void timetable_free(struct timetable *timetable);

struct timing timetable_timing(struct timetable *timetable);

void timetable_forget(struct timetable *timetable);

/* --- bottlenecks ------------------------------------------------------------------------------ */

enum timetable_part {
    PART_ROUTER,     /* Of a server: messages, and gradients when it is the owner. */
    PART_OWNERS,     /* Of a server, all of them. */
    PART_SESSION,    /* Of a worker: messages. */
    PART_TRAINER,    /* Of a worker: gradients and scores. */
    PART_PROCESSORS, /* Of a host, all of them. */
    PART_COUNT
};

/* The share of the time in which they were busy: 0 to 1, of threads (at work or waiting for a
 * processor) and of processors. */
struct timetable_load {
    double mean;
    double most;
    uint32_t busiest; /* Number in the layout, or of a host. */
};

/* Over so much time. For a part that does not exist, as owners without threads: zeros. */
struct timetable_load timetable_load(const struct timetable *timetable, enum timetable_part part,
                                     uint64_t duration_ns);

#endif
