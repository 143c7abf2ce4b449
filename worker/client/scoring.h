/* scoring.h - a worker's share of a score: the values that the model is scored on, pulled beside
 * those it trains with, and which share of the test set.
 *
 *     WORK(scored) --> pulled from all chunks' owners --> ready --give--> the trainer --finish--> told
 *
 * The values have memory of their own, so neither waits for the other: training's exchanges go on
 * while these are pulled, and may complete while the trainer scores. Values that are gone (the score
 * was dropped) end it: server 0 says what is to be scored next.
 *
 * Threads: the session's; while it is given, the trainer reads `values`.
 * Ownership: borrows job and partition. */

#ifndef WORKER_CLIENT_SCORING_H
#define WORKER_CLIENT_SCORING_H

#include "worker/client/exchange.h"

struct scoring {
    struct exchange pull;     /* Into: */
    float *values;            /* [elements], owned. */
    uint64_t here;            /* Batches that the values have had; 0: they are not all here. */
    struct message_work work; /* What to score; scored is 0 for nothing. */
    bool given;               /* The trainer has it, ... */
    bool wanted;              /* ... and its score is of this generation. */
    uint64_t given_us;
    struct message_work told; /* The last share that the trainer was through with. */
};

enum status scoring_init(struct scoring *scoring, const struct job *job,
                         const struct partition *partition);
void scoring_free(struct scoring *scoring);

/* Another generation, or the end: there is nothing to score. */
void scoring_forget(struct scoring *scoring);

/* Server 0 has dealt a share, maybe not for the first time. */
void scoring_take_work(struct scoring *scoring, struct envelope *envelope,
                       const struct message_work *work, uint64_t now_us, struct outbox *outbox);

/* Answers from server number `server`. Payloads stay the caller's. False: it is none of this; the
 * numbers of its requests may lie between those of a step's. */
bool scoring_take_result(struct scoring *scoring, struct envelope *envelope, uint32_t server,
                         const struct packet *packet, uint64_t now_us, struct outbox *outbox);
bool scoring_take_moved_on(struct scoring *scoring, uint32_t server, const struct message *message,
                           uint64_t now_us);

/* Whether all is here, for a trainer that is free; then it is given. */
bool scoring_give(struct scoring *scoring, uint64_t now_us);

/* The trainer is through. Whether its score is wanted. */
bool scoring_finish(struct scoring *scoring);

/* For how long the trainer has scored, of the time since then. */
uint64_t scoring_us(const struct scoring *scoring, uint64_t since_us, uint64_t now_us);

/* See common/base/invariant.h. */
void scoring_check(const struct scoring *scoring);

#endif
