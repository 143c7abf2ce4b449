/* simulated_worker.h - a worker of a simulated cluster: the real session, and a trainer that computes
 * what it is given (computing.h) in as much virtual time as it is told to (timing.h).
 *
 * The trainer follows worker/trainer.c and worker/client/client.c message by message, with the real
 * mode's table (worker/mode/follow_mode.h). Where gradients leave as they come it begins with what is
 * back of its parameters, too: of that it keeps a copy, so that it is seen if they are written while it
 * reads them, or are not those of the step that it is given in the end. A batch without a finite gradient it skips, where the mode
 * may; else it ends the job.
 *
 * Threads: one. Ownership: owns session, parameters and gradient buffers. */

#ifndef DEPLOY_ENGINE_SIMULATED_WORKER_H
#define DEPLOY_ENGINE_SIMULATED_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/job/tree.h"
#include "common/steps/step_shape.h"
#include "worker/client/session.h"

#define SIMULATED_GRADIENTS_MAX (TREE_COVER_MAX + 2)

/* The index of what a trainer says of a gradient that is not all there: an EXCHANGE whose place is the
 * first element that is (session_take_ready). */
#define SIMULATED_READY 1u

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
    struct frame *sets;      /* What it tells of the steps, or NULL. */
    struct leaf_set set;     /* Of the step under way. */
    uint64_t step;           /* Being computed ... */
    struct step_shape shape; /* ... and what it is. */
    struct node nodes[TREE_COVER_MAX];
    uint32_t node_count, node_next;
    struct frame
        *coming; /* The gradient of the last node, of which parts have been sent; or NULL. */
    struct message_exchange coming_as; /* What it will be pushed as. */
    uint64_t coming_from;              /* It is there from this element on. */
    struct message_work score;         /* The share that it scores; shares is 0 for none. */
    uint64_t score_generation;
    bool computing;   /* A gradient or score will be there later, ... */
    bool expected;    /* ... and somebody will say when. */
    bool gave_up;     /* It waits for the end, whatever it is told. */
    bool over;        /* FINISHED has come. */
    uint64_t batches; /* Steps or batches computed. */
    uint64_t early;   /* Messages that left while it computed what they are of. */
    uint64_t paced;   /* See session_paced. */
    /* What it has begun with, and how often it has gone on from there. */
    float *begun;                                /* [elements of the space] */
    uint64_t begun_serial, begun_step, begun_to; /* See session_front. */
    bool reading;                                /* It is at it, ... */
    uint64_t begun_count;                        /* ... for the n-th time. */
    uint64_t gone_on;
};

enum status simulated_worker_init(struct simulated_worker *worker, struct engine *engine,
                                  const struct simulated_process *process, uint64_t incarnation);
void simulated_worker_free(struct simulated_worker *worker);

/* The trainer takes a message from its session. What it has to say goes to to_session; afterwards
 * worker->computing tells whether simulated_worker_compute is to be called later. */
void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session);

/* A part of the gradient that is computed is done, of a gradient that leaves as it comes. */
void simulated_worker_ready(struct simulated_worker *worker, struct outbox *to_session);

/* Begin with what is back of the parameters, if there is more than the last time: then
 * simulated_worker_begun is to be called later, with begun_count as it is now. */
bool simulated_worker_begin(struct simulated_worker *worker);
void simulated_worker_begun(struct simulated_worker *worker, uint64_t count);

/* One node's gradient, or a share of a score, is done. */
void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session);

#endif
