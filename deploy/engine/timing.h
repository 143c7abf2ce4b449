/* timing.h - the durations within processes in virtual time. The channel (channel.h) has those of
 * wires, and the storage (storage.h) those of disks.
 *
 * There are two kinds of cluster. Without `processors` every thread has one for itself, messages
 * cost it nothing, and a trainer takes compute_ns. With them threads have work for each item, and
 * share the processors of their hosts meanwhile.
 *
 * The first two members are required, and `processors`, `host` and `handling_ns` are there
 * together; engine_init asserts it. Random numbers are drawn from the given sequence, the engine's
 * own: a history depends on its seed alone.
 *
 * Units: virtual nanoseconds. Threads: the engine's. Ownership: processors are borrowed, and serve
 *        one engine, which they outlive. */

#ifndef DEPLOY_ENGINE_TIMING_H
#define DEPLOY_ENGINE_TIMING_H

#include <stdint.h>

#include "common/base/random.h"
#include "deploy/engine/processors.h"

struct outgoing;
struct parcel;
struct simulated_process;

/* A thread's work before an item has its effect. */
enum labour {
    LABOUR_RECEIVE, /* Router or session: take a message off a wire. */
    LABOUR_SEND,    /* The same: put one on a wire. */
    LABOUR_APPLY,   /* Owner, or a router that is one: a worker's gradient. */
    LABOUR_COMPUTE, /* Trainer: the work of compute_ns. */
    LABOUR_COUNT
};

/* The work of a thread, done or until its process ended. */
struct labour_done {
    enum labour labour;
    uint32_t thread;    /* Of its process, see simulated_thread.h. */
    uint64_t worked_ns; /* Processor time, */
    uint64_t took_ns;   /* its duration, */
    uint64_t waited_ns; /* and the wait for the thread before it. */
    /* Its subject, borrowed: a received message; a sent message, or one with a gradient to apply;
     * neither for the work of compute_ns. */
    const struct parcel *parcel;
    const struct outgoing *item;
};

struct timing {
    void *context;

    /* The delay from putting an item into a queue to taking it out by another thread. */
    uint64_t (*queue_ns)(void *context, struct random_sequence *random,
                         const struct simulated_process *process);

    /* The time of a worker's trainer for what it begins now: the next node of its step, or a share
     * of a score (simulated_worker.h). With processors it is work for one of them. */
    uint64_t (*compute_ns)(void *context, struct random_sequence *random,
                           const struct simulated_process *process);

    /* Optional: processors that threads share; the host of a process among theirs; and the work of
     *           so many bytes of payload, 0 for none. */
    struct processors *processors;
    uint32_t (*host)(void *context, const struct simulated_process *process);
    uint64_t (*handling_ns)(void *context, const struct simulated_process *process,
                            enum labour labour, uint64_t bytes);

    /* Optional: a thread has done this, or its process has ended before. */
    void (*worked)(void *context, const struct simulated_process *process,
                   const struct labour_done *done);
};

#endif
