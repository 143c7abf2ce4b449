/* scoring.h - a worker's share of a score: pulls the values of the scored model beside those of
 * training, and keeps which share of the test set to score.
 *
 *     WORK(scored) --> pulled from all chunks' owners --> ready --give--> trainer --finish--> sent
 *
 * The values have memory of their own, so neither waits for the other: training's exchanges go
 * on while these are pulled, and may complete while the trainer scores. If the values are gone
 * (the score was dropped), the coordinator says what to score next.
 *
 * Threads: the session's; while it is given, the trainer reads `values`.
 * Ownership: borrows job and partition. */

#ifndef WORKER_CLIENT_SCORING_H
#define WORKER_CLIENT_SCORING_H

#include "worker/client/exchange.h"

struct scoring {
    struct exchange pull;     /* Into `values`. */
    float *values;            /* [elements], owned. */
    uint64_t here;            /* The values' batch count; 0: they are not all here. */
    struct message_work work; /* What to score; scored is 0 for nothing. */
    bool given;               /* The trainer has it. */
    bool wanted;              /* Its score is of this generation. */
    uint64_t given_us;
    struct message_work finished; /* The last share that the trainer finished. */
};

enum status scoring_init(struct scoring *scoring, const struct job *job,
                         const struct partition *partition);
void scoring_free(struct scoring *scoring);

/* Another generation, or the end: there is nothing to score. */
void scoring_forget(struct scoring *scoring);

/* The coordinator has dealt a share, maybe again. */
void scoring_take_work(struct scoring *scoring, struct envelope *envelope,
                       const struct message_work *work, uint64_t now_us, struct outbox *outbox);

/* Answers from server number `server`. Payloads stay the caller's. False: it belongs to another
 * exchange; numbers of both may interleave. */
bool scoring_take(struct scoring *scoring, struct envelope *envelope, uint32_t server,
                  const struct packet *packet, uint64_t now_us, struct outbox *outbox);

/* Whether all is here, for a trainer that is free; then it is given. */
bool scoring_give(struct scoring *scoring, uint64_t now_us);

/* The trainer has finished. Whether its score is wanted. */
bool scoring_finish(struct scoring *scoring);

/* How long the trainer has scored since then. */
uint64_t scoring_us(const struct scoring *scoring, uint64_t since_us, uint64_t now_us);

/* See common/base/invariant.h. */
void scoring_check(const struct scoring *scoring);

#endif
