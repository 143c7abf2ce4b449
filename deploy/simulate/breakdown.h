/* breakdown.h - a short run in virtual time with every part of its times: a line for each message
 * that arrives and for each piece of work that a thread has done.
 *
 *      12.345 ms  worker/1 -> ps/0  exchange of chunk 1, 30.9 KiB: sent at 11.912 ms; latency 50us,
 *      queue
 *                 131us behind others of its connection, wire 252us
 *      12.360 ms  ps/0 took worker/1's exchange of chunk 1 off the wire: queue 8us, processor 15us
 *      12.392 ms  ps/0 applied a gradient, the exchange of chunk 1: processor 27us
 *
 * The time of a message is the sum of its parts over its lines. Putting a message on the wire is
 * work, too, and has a line.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_SIMULATE_BREAKDOWN_H
#define DEPLOY_SIMULATE_BREAKDOWN_H

#include <stdint.h>
#include <stdio.h>

#include "deploy/engine/timing.h"
#include "deploy/simulate/nics.h"

struct engine;

struct breakdown {
    FILE *out;
    const struct engine *engine; /* Borrowed, like the stream. */
};

/* For nics_watch. */
struct nics_watcher breakdown_watcher(struct breakdown *breakdown);

/* For timetable_options. */
void breakdown_worked(void *context, const struct simulated_process *process,
                      const struct labour_done *done);

#endif
