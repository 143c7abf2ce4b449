/* scorer.h - the model's test score after an epoch: when every server has kept its values, the
 * shares and the result.
 *
 *     READY(scored) of every server --[scorer_go_on]--> WORK(scored, share) to every worker
 *                                           again with its PINGs [scorer_deal_share], or to
 *                                           others when it is lost [evaluation_lost]
 *     EVALUATION --[scorer_add]--> all have come: it is reported and settled
 *
 * Training goes on meanwhile. The result is in `evaluation` between scorer_add and
 * evaluation_settle. In every state but RUNNING nothing is dealt or counted.
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_SCORER_H
#define PS_COORDINATOR_SCORER_H

#include "ps/coordinator/run.h"
#include "ps/work/evaluation.h"

struct scorer {
    struct evaluation evaluation;
    uint64_t dropped;   /* Scores that could not be made. */
    struct frame *kept; /* The last chunk of a scored model that was passed on, to be kept. */
    uint64_t kept_at;   /* The batch count of that model. */
};

void scorer_open(struct scorer *s, const struct run *run);
/* All go back to run.first_step. */
void scorer_go_back(struct scorer *s, const struct run *run);

/* Go on with scores: a server may have kept more values, or a worker be free. */
void scorer_go_on(struct scorer *s, const struct run *run);
/* The worker's share, if it has one or there is one: once more with each of its PINGs. */
void scorer_deal_share(struct scorer *s, const struct run *run, uint32_t index);
/* A worker's share. Whether it counts; `held_up_us`: how much longer than was known scores have
 * held up training. */
bool scorer_add(struct scorer *s, const struct run *run, const struct packet *packet,
                uint64_t *held_up_us);
/* How long the score has held up training, as far as is known: in a step all wait until the
 * slowest is through; else each for its own share. */
uint64_t scorer_held_up_us(const struct scorer *s);

/* Whether a chunk of a scored model is to be kept. While the checkpointer has not come to the
 * last chunk of one model, the next model is left out: so they do not pile up on a slow disk. */
bool scorer_keep(struct scorer *s, const struct run *run, const struct packet *packet);

#endif
