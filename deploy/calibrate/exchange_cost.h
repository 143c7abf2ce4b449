/* exchange_cost.h - measures an exchange of a gradient for values on this host, by size: the
 * processor time of a worker and of a server, and the latency.
 *
 * A server and a worker, processes of their own, train a model of that size asynchronously. Each
 * size runs twice, for few updates and for many (as many as the size and the host allow in some
 * seconds). The difference is the cost of the updates alone, without starting, scoring and writing
 * the model. The worker's computing is subtracted.
 *
 * Threads: one. Units: nanoseconds an update; bytes one way. */

#ifndef DEPLOY_CALIBRATE_EXCHANGE_COST_H
#define DEPLOY_CALIBRATE_EXCHANGE_COST_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/base/status.h"

struct exchange_cost {
    uint64_t bytes;              /* Of a gradient, and of the returned values. */
    double worker_ns, server_ns; /* Processor time; the server's includes applying by sgd. */
    double wall_ns;              /* From the push to the values, measured by the worker. */
};

/* programs: the folder of syncopate-ps and syncopate-worker. width: of the model's first dense
 * layer, with 795 numbers a unit. transport: as --transport. stop: set to nonzero by any thread;
 * then both processes are ended, their files are removed, and the result is STATUS_INTERRUPTED. */
enum status exchange_cost_measure(struct exchange_cost *cost, const char *programs,
                                  const char *transport, uint32_t width, const atomic_int *stop,
                                  struct error *error);

#endif
