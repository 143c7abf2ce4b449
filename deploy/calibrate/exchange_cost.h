/* exchange_cost.h - what exchanging a gradient for values costs a worker's and a server's processor, and
 * how long it takes, on this host, by size.
 *
 * A server and a worker, processes of their own, train a model of that size asynchronously. Each size is
 * run twice, for few updates and for many (as many as the size and the host's pace allow in some
 * seconds): what many take longer is the updates' alone, without starting, scoring and writing the
 * model. What the worker computed meanwhile is taken off.
 *
 * Threads: one. Units: nanoseconds an update; bytes one way. */

#ifndef DEPLOY_CALIBRATE_EXCHANGE_COST_H
#define DEPLOY_CALIBRATE_EXCHANGE_COST_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/base/status.h"

struct exchange_cost {
    uint64_t bytes;              /* Of a gradient, and of the values that come back. */
    double worker_ns, server_ns; /* Processor time; the server's with applying by sgd. */
    double wall_ns;              /* From the push to the values, as the worker has it. */
};

/* programs: the folder of syncopate-ps and syncopate-worker. width: of the model's first dense layer,
 * which has 795 numbers for each. transport: as --transport. stop: not 0, from whatever thread: both
 * processes are ended, what they wrote is removed, and the answer is STATUS_INTERRUPTED. */
enum status exchange_cost_measure(struct exchange_cost *cost, const char *programs,
                                  const char *transport, uint32_t width, const atomic_int *stop,
                                  struct error *error);

#endif
