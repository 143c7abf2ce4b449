/* timing.h - how long what happens within a process takes, in virtual time. How long wires take is the
 * carrier's (carrier.h), and how long disks take is written in them (simulated_disk.h).
 *
 * Both members are required; engine_init asserts it. What is random is drawn from the sequence that
 * they are given, the engine's own: so a history depends on its seed alone.
 *
 * Units: virtual nanoseconds. Threads: the engine's. */

#ifndef DEPLOY_ENGINE_TIMING_H
#define DEPLOY_ENGINE_TIMING_H

#include <stdint.h>

#include "common/base/random.h"

struct simulated_process;

struct timing {
    void *context;

    /* How much later an item that one thread puts into a queue is taken out by another. */
    uint64_t (*queue_ns)(void *context, struct random_sequence *random,
                         const struct simulated_process *process);

    /* How long the trainer of a worker takes for what it begins now: the next node of its step, or a
     * share of a score (simulated_worker.h). */
    uint64_t (*compute_ns)(void *context, struct random_sequence *random,
                           const struct simulated_process *process);
};

#endif
