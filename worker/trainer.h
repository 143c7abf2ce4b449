/* trainer.h - the worker's compute loop: take work, compute gradients, push, now and then score.
 *
 * Threads: the main thread of a worker. */

#ifndef WORKER_TRAINER_H
#define WORKER_TRAINER_H

#include "worker/client/client.h"
#include "worker/node_gradient.h"
#include "worker/throttle.h"

struct trainer {
    struct client *client;
    const struct job *job;
    struct node_gradient *gradient;
    struct throttle throttle; /* The time that gradients have to take. */
    bool overlap;             /* Finished parts of a gradient leave while the rest is computed. */
};

/* Train until the job ends, for any reason; then client_exit_code tells. */
void trainer_run(struct trainer *trainer);

#endif
