/* training.h - the work of a trainer (worker/client/trainer.h) in real time: nodes are computed,
 * and under controlled time waited for; test sets are scored.
 *
 * Threads: the main thread of a worker. */

#ifndef WORKER_TRAINING_H
#define WORKER_TRAINING_H

#include "worker/client/client.h"
#include "worker/node_gradient.h"
#include "worker/throttle.h"

struct training {
    const struct job *job;
    struct node_gradient *gradient;
    struct throttle throttle; /* The time that gradients have to take. */
    bool overlap;             /* Finished parts of a gradient leave while the rest is computed. */
    /* Wait until due_ns (clock_now_ns), or until training ends. */
    void (*rest)(void *context, uint64_t due_ns);
    void *context;
};

/* The next node of this work; the first of it follows on throttle_begin. Fills in the results.
 * parameters, gradient: [elements] the whole space. ready may be NULL, see node_gradient.h. */
enum status training_node(struct training *training, const struct trainer_work *work,
                          const float *parameters, struct push *push, float *gradient,
                          const struct ready *ready, struct error *error);

/* Train until the job ends, for any reason; then client_trainer(client)->exit_code tells. */
void training_run(struct training *training, struct client *client);

#endif
