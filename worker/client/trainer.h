/* trainer.h - a worker's trainer as a state machine: which nodes of a step it computes, in which
 * order, and what it says of each.
 *
 *     session --START, WORK, FINISHED--> trainer --EXCHANGE, EVALUATION, DONE, STOP--> session
 *
 *     IDLE  WORK(step)     -> COMPUTES, until the EXCHANGE of its last node [trainer_push]
 *           WORK(scored)   -> SCORES, until its EVALUATION [trainer_scored]
 *           WORK(step) without nodes for this worker: an EXCHANGE that only asks for values
 *           WORK(enough): DONE
 *     any   a failure: STOP [trainer_fail] -> FAILED, where FINISHED alone counts
 *     any   FINISHED -> OVER
 *
 * Its host computes, and brings messages to and from the session: a worker's client in real time
 * (client.h, worker/training.h), `--ps 0` in one process (worker/solo.h), and
 * deploy/engine/simulated_worker.h in virtual time.
 *
 * Threads: one owner. Ownership: owns the leaf sets of START. */

#ifndef WORKER_CLIENT_TRAINER_H
#define WORKER_CLIENT_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/steps/step_shape.h"
#include "common/wire/outbox.h"
#include "worker/model/model.h"

enum trainer_state { TRAINER_IDLE, TRAINER_COMPUTES, TRAINER_SCORES, TRAINER_FAILED, TRAINER_OVER };

/* What to compute. */
struct trainer_work {
    /* Above 0: parameters before this element are here, and stay until the next client_next; the
     * rest of the step will come. The step is then the likely one: another message may come
     * first. Of client.h alone, as is `begun`. */
    uint64_t early;
    bool begun;              /* The values are those of the early work just before this. */
    bool enough;             /* Training is over, as far as is known: DONE is said. */
    uint64_t step;           /* Step (sync) or batch (async); with `enough` the last version. */
    struct step_shape shape; /* Of the step or batch, without `enough`. */
    /* This worker's, in their order. None: nothing is left to do for this work. */
    struct node nodes[TREE_COVER_MAX];
    uint32_t node_count;
    /* With shares, none of the above: score this one of so many shares of the test set, on the
     * model after `step` batches. */
    uint32_t share, shares;
};

/* A node that has been computed. */
struct push {
    uint64_t step;
    struct node node;
    uint32_t examples;
    bool last; /* Of this step: asks for parameters. */
    bool bad;  /* The gradient is not finite, and NULL. The batch is skipped and counted. */
    uint64_t compute_us, early_us; /* early_us: the part of compute_us before the step was given. */
    /* Under controlled time: leaves computed, and those that took longer than given; see
     * throttle.h. */
    uint32_t leaves, longer;
    uint64_t leaf_ns;   /* What one of its leaves took; see node_gradient_sample. */
    struct score score; /* Counted once, with the node. */
};

struct trainer {
    const struct job *job;
    enum trainer_state state;
    struct message_start start;    /* The latest. */
    struct frame *sets;            /* Its leaf sets, or NULL. */
    struct leaf_set set;           /* That of the step under way. */
    struct trainer_work work;      /* The latest. */
    uint32_t node_next;            /* Of its nodes. */
    int exit_code;                 /* When it is over: this, */
    char reason[MESSAGE_TEXT_MAX]; /* and why. */
};

void trainer_free(struct trainer *trainer);

/* A message of the session; takes its payload over. refusals: session_refusals. */
void trainer_take(struct trainer *trainer, struct packet *packet, uint32_t refusals,
                  struct outbox *to_session);

/* The work that this step would be. */
struct trainer_work trainer_expect(struct trainer *trainer, uint64_t step);

/* The node to compute next, still without results. */
struct push trainer_next(const struct trainer *trainer);

/* Whether a gradient that was computed with this status is pushed: it is, or it is a bad one and
 * the mode may skip it. Else the worker cannot go on. */
bool trainer_may_push(const struct trainer *trainer, enum status status, struct push *push);

/* gradient: the whole space, a reference is taken; NULL for a bad one. */
void trainer_push(struct trainer *trainer, const struct push *push, struct frame *gradient,
                  struct outbox *to_session);

/* The same before all of the gradient is there, for session_take_ready. */
struct message_exchange push_exchange(const struct push *push, bool gradient);

/* values: the scored model, [elements]; read where the job has a regularisation. */
void trainer_scored(struct trainer *trainer, const struct score *score, const float *values,
                    uint64_t took_us, struct outbox *to_session);

/* The exit code of a worker whose computing failed with this status. */
int trainer_exit_code(enum status status);

void trainer_fail(struct trainer *trainer, int exit_code, const char *reason,
                  struct outbox *to_session);

#endif
