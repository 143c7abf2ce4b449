/* terms.h - a short run in virtual time with every term of its times: a line for each message that arrives
 * and for each piece of work that a thread has done.
 *
 *      12.345 ms  worker/1 -> ps/0  EXCHANGE chunk 1, 30.9 KiB: sent at 11.912 ms, 50us away, 131us behind
 *                 others of its connection, 252us through the cards
 *      12.360 ms  ps/0 received: 15us of a processor
 *
 * What a message took is the sum of its terms; what it waited for a thread lies between its line and the
 * line of the work on it.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_SIMULATE_TERMS_H
#define DEPLOY_SIMULATE_TERMS_H

#include <stdint.h>
#include <stdio.h>

#include "deploy/engine/timing.h"
#include "deploy/simulate/cards.h"

struct engine;

struct terms {
    FILE *out;
    const struct engine *engine; /* Borrowed, as the former. */
};

/* For cards_watch. */
struct cards_watcher terms_watcher(struct terms *terms);

/* For timetable_options. */
void terms_worked(void *context, const struct simulated_process *process, enum labour labour,
                  uint64_t worked_ns, uint64_t took_ns);

#endif
