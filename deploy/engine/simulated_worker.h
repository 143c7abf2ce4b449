/* simulated_worker.h - a worker of a simulated cluster: the real session, and a trainer that
 * computes (computing.h) in the given virtual time (timing.h).
 *
 * The trainer is the real one (worker/client/trainer.h). Where gradients are sent in parts it also
 * begins with the returned part of its parameters. It keeps a copy of that part, to detect a write
 * during its reading, and values of another step than it gets in the end.
 *
 * Threads: one. Ownership: owns session, parameters and gradient buffers. */

#ifndef DEPLOY_ENGINE_SIMULATED_WORKER_H
#define DEPLOY_ENGINE_SIMULATED_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/client/session.h"
#include "worker/client/trainer.h"

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
    struct trainer trainer;
    /* The gradient of the last node, of which parts have been sent; or NULL. */
    struct frame *coming;
    struct push coming_as;     /* Its push. */
    uint64_t coming_from;      /* It is complete from this element on. */
    uint64_t score_generation; /* Of the share that it scores. */
    bool expected;             /* The end of its computation is scheduled. */
    uint64_t batches;          /* Steps or batches computed. */
    uint64_t early; /* Messages that were sent while their gradient was being computed. */
    uint64_t paced; /* See session_paced. */
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
 * simulated_worker_is_busy tells whether to call simulated_worker_compute later. */
void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session);

bool simulated_worker_is_busy(const struct simulated_worker *worker);

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
