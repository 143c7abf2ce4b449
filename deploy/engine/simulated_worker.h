/* simulated_worker.h - a worker of a simulated cluster: the real session, and a trainer that computes
 * what it is given (computing.h) in as much virtual time as it is told to (timing.h).
 *
 * The trainer follows worker/trainer.c and worker/client/client.c message by message, with the real
 * mode's table (worker/mode/follow_mode.h). A batch without a finite gradient it skips, where the mode
 * may; else it ends the job.
 *
 * Threads: one. Ownership: owns session, parameters and gradient buffers. */

#ifndef DEPLOY_ENGINE_SIMULATED_WORKER_H
#define DEPLOY_ENGINE_SIMULATED_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/job/tree.h"
#include "common/steps/leaf_set.h"
#include "worker/client/session.h"
#include "worker/mode/told_steps.h"

#define SIMULATED_GRADIENTS_MAX (TREE_COVER_MAX + 2)

struct engine;
struct simulated_process;

struct simulated_worker {
    struct engine *engine;
    const struct simulated_process *process; /* That it is of. */
    struct session *session;
    float *parameters; /* [elements of the space] */
    struct frame *gradients[SIMULATED_GRADIENTS_MAX];
    uint32_t gradient_count;
    /* The trainer. */
    struct message_start start;
    struct told_steps told;  /* What it tells of the steps. */
    uint64_t step;           /* Being computed ... */
    struct step_shape shape; /* ... and what it is. */
    struct node nodes[TREE_COVER_MAX];
    uint32_t node_count, node_next;
    struct message_work score; /* The share that it scores; shares is 0 for none. */
    uint64_t score_generation;
    bool computing;   /* A gradient or score will be there later, ... */
    bool expected;    /* ... and somebody will say when. */
    bool gave_up;     /* It waits for the end, whatever it is told. */
    bool over;        /* FINISHED has come. */
    uint64_t batches; /* Steps or batches computed. */
};

enum status simulated_worker_init(struct simulated_worker *worker, struct engine *engine,
                                  const struct simulated_process *process, uint64_t incarnation);
void simulated_worker_free(struct simulated_worker *worker);

/* The trainer takes a message from its session. What it has to say goes to to_session; afterwards
 * worker->computing tells whether simulated_worker_compute is to be called later. */
void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session);

/* One node's gradient, or a share of a score, is done. */
void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session);

#endif
