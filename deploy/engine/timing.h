/* timing.h - how long what happens within a process takes, in virtual time. How long wires take is the
 * carrier's (channel.h), and how long disks take the storage's (storage.h).
 *
 * Two kinds of cluster have it. Without `processors` every thread has one for itself, messages cost it
 * nothing, and a trainer takes as long as compute_ns says. With them threads have work to do for what
 * they handle, and share the processors of their hosts while they do it.
 *
 * The first two members are required, and `processors`, `host` and `handling_ns` are there together;
 * engine_init asserts it. What is random is drawn from the sequence that they are given, the engine's
 * own: so a history depends on its seed alone.
 *
 * Units: virtual nanoseconds. Threads: the engine's. Ownership: processors are borrowed, and serve one
 * engine, which they outlive. */

#ifndef DEPLOY_ENGINE_TIMING_H
#define DEPLOY_ENGINE_TIMING_H

#include <stdint.h>

#include "common/base/random.h"
#include "deploy/engine/processors.h"

struct outgoing;
struct parcel;
struct simulated_process;

/* What a thread has to do before something has its effect. */
enum labour {
    LABOUR_RECEIVE, /* Router or session: take a message off a wire. */
    LABOUR_SEND,    /* The same: put one on a wire. */
    LABOUR_APPLY,   /* Owner, or a router that is one: a worker's gradient. */
    LABOUR_COMPUTE, /* Trainer: what compute_ns speaks of. */
    LABOUR_COUNT
};

/* What a thread has done, or had when its process ended. */
struct labour_done {
    enum labour labour;
    uint32_t thread;    /* Of its process, see simulated_thread.h. */
    uint64_t worked_ns; /* Of a processor, ... */
    uint64_t took_ns;   /* ... in so much time, ... */
    uint64_t waited_ns; /* ... which it waited for the thread before. */
    /* What it was about, borrowed: a message that was received; one that was sent, or has a gradient to
     * apply; neither: what compute_ns speaks of. */
    const struct parcel *parcel;
    const struct outgoing *item;
};

struct timing {
    void *context;

    /* How much later an item that one thread puts into a queue is taken out by another. */
    uint64_t (*queue_ns)(void *context, struct random_sequence *random,
                         const struct simulated_process *process);

    /* How long the trainer of a worker takes for what it begins now: the next node of its step, or a
     * share of a score (simulated_worker.h). With processors it is work for one of them. */
    uint64_t (*compute_ns)(void *context, struct random_sequence *random,
                           const struct simulated_process *process);

    /* Optional: processors that threads share; on which of its hosts a process is; and how much work
     * there is with so many bytes of payload, 0 for none. */
    struct processors *processors;
    uint32_t (*host)(void *context, const struct simulated_process *process);
    uint64_t (*handling_ns)(void *context, const struct simulated_process *process,
                            enum labour labour, uint64_t bytes);

    /* Optional: a thread has done this, or its process has ended before. */
    void (*worked)(void *context, const struct simulated_process *process,
                   const struct labour_done *done);
};

#endif
