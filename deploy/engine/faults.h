/* faults.h - who makes things go wrong in a cluster: it is told when something happens that it waits
 * for, and does it by the doors of engine.h and simulated_network.h.
 *
 * Members are optional; without any nothing goes wrong. A fault at a time is asked for by
 * engine_later(engine, after_us, DUE_FAULT, 0, number) or engine_fault_at, and `strike` must be
 * there then.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_ENGINE_FAULTS_H
#define DEPLOY_ENGINE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"

struct simulated_process;

struct faults {
    void *context;

    /* The time of DUE_FAULT `number` has come; what that is, only its asker knows. */
    void (*strike)(void *context, uint64_t number);
    /* A trainer has been told to start, for the first time in this cluster. */
    void (*started)(void *context);
    /* Whether it will still start somebody: then the engine goes on though nobody is left. */
    bool (*awaits)(const void *context);
    /* A process has taken a message of this kind off a wire. */
    void (*delivered)(void *context, enum message_kind kind);
    /* A server's checkpointer has begun to write to its disk. */
    void (*wrote)(void *context, const struct simulated_process *process);
};

#endif
