/* faults.h - injects failures into a cluster: its functions are called at certain events, and act
 * by the functions of engine.h and simulated_network.h.
 *
 * Members are optional; without any there are no failures. engine_later(engine, after_us,
 * DUE_FAULT, 0, number) or engine_fault_at schedules one, which requires `strike`.
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

    /* The time of DUE_FAULT `number`; only its caller knows the meaning. */
    void (*strike)(void *context, uint64_t number);
    /* A trainer receives START, for the first time in this cluster. */
    void (*started)(void *context);
    /* Whether it will start another process: then the engine goes on without any. */
    bool (*awaits)(const void *context);
    /* A process has taken a message of this kind off a wire. */
    void (*delivered)(void *context, enum message_kind kind);
    /* A server's checkpointer has begun to write to its disk. */
    void (*wrote)(void *context, const struct simulated_process *process);
};

#endif
