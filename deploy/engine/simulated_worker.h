/* simulated_worker.h - a worker of a simulated cluster: the real session, and a trainer that
 * computes (computing.h) in the given virtual time (timing.h).
 *
 * The trainer follows worker/trainer.c and worker/client/client.c message by message, with the real
 * mode's table (worker/mode/follow_mode.h). Where gradients are sent in parts it also begins with
 * the returned part of its parameters. It keeps a copy of that part, to detect a write during its
 * reading, and values of another step than it gets in the end. It skips a batch without a finite
 * gradient, where the mode may; otherwise it ends the job.
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

/* The index of a trainer's message about an incomplete gradient: an EXCHANGE whose place is the
 * first finished element (session_take_ready). */
#define SIMULATED_READY 1u

struct engine;
struct simulated_process;

struct simulated_worker {
    struct engine *engine;
    const struct simulated_process *process; /* Its process. */
    struct session *session;
    float *parameters; /* [elements of the space] */
    struct frame *gradients[SIMULATED_GRADIENTS_MAX];
    uint32_t gradient_count;
    /* The trainer. */
    struct message_start start;
    struct frame *sets;      /* Its report of the steps, or NULL. */
    struct leaf_set set;     /* Of the step under way. */
    uint64_t step;           /* Being computed, */
    struct step_shape shape; /* with this shape. */
    struct node nodes[TREE_COVER_MAX];
    uint32_t node_count, node_next;
    struct frame
        *coming; /* The gradient of the last node, of which parts have been sent; or NULL. */
    struct message_exchange coming_as; /* The message of its push. */
    uint64_t coming_from;              /* It is complete from this element on. */
    struct message_work score;         /* The share that it scores; shares is 0 for none. */
    uint64_t score_generation;
    bool computing;   /* A gradient or score is being computed, */
    bool expected;    /* and its end is scheduled. */
    bool gave_up;     /* It waits for the end and ignores other messages. */
    bool over;        /* FINISHED has come. */
    uint64_t batches; /* Steps or batches computed. */
    uint64_t early;   /* Messages that were sent while their gradient was being computed. */
    uint64_t paced;   /* See session_paced. */
    /* The part it has begun with, and how often it has continued from there. */
    float *begun;                                /* [elements of the space] */
    uint64_t begun_serial, begun_step, begun_to; /* See session_front. */
    bool reading;                                /* It is reading, */
    uint64_t begun_count;                        /* for the n-th time. */
    uint64_t gone_on;
};

enum status simulated_worker_init(struct simulated_worker *worker, struct engine *engine,
                                  const struct simulated_process *process, uint64_t incarnation);
void simulated_worker_free(struct simulated_worker *worker);

/* The trainer takes a message from its session. Its messages go to to_session; afterwards
 * worker->computing tells whether to call simulated_worker_compute later. */
void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session);

/* A part of a gradient that is sent in parts is done. */
void simulated_worker_ready(struct simulated_worker *worker, struct outbox *to_session);

/* Begin with the returned part of the parameters, if there is more than last time: then call
 * simulated_worker_begun later, with the current begun_count. */
bool simulated_worker_begin(struct simulated_worker *worker);
void simulated_worker_begun(struct simulated_worker *worker, uint64_t count);

/* One node's gradient, or a share of a score, is done. */
void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session);

#endif
