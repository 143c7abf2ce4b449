/* tracing.h - the work of a virtual cluster's threads as spans
 * (common/trace/recorder.h), like those of real processes. It takes no virtual time, and has no
 * effect.
 *
 * Work that takes a thread no time (timing.h) has no span.
 *
 * Threads: the engine's. Ownership: borrows engine and recorder. */

#ifndef DEPLOY_SIMULATE_TRACING_H
#define DEPLOY_SIMULATE_TRACING_H

#include "common/trace/recorder.h"
#include "deploy/engine/timing.h"

struct engine;

struct tracing {
    struct recorder *recorder;
    const struct engine *engine;
};

/* A thread has done this (timing.h). */
void tracing_worked(const struct tracing *tracing, const struct simulated_process *process,
                    const struct labour_done *done);

#endif
