/* evaluation.h - the score under way: of which model, which share of the test set is whose, and what
 * has come in.
 *
 * The model is scored after every epoch and at the end, as counts of batches (job_scores_at): the
 * values that every chunk had just then, which its owner keeps (ps/shard/scored.h) until the score
 * is whole. The test set is cut into as many equal shares as there are workers to score it, and each
 * is dealt to one; the share of a worker that is gone is dealt again. Training goes on meanwhile. A
 * chunk that passes the next such count lets the values of the one before go, so a score that has
 * not been made by then is dropped, and counted.
 *
 *     servers keep count c --open--> shares are dealt --add, lost--> whole: c is settled
 *                                                  '--a server keeps a later one--> dropped
 *
 * Sums are integers, so they depend neither on who scored which share nor on the order in which
 * they come. A share is counted once, however often it comes.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_EVALUATION_H
#define PS_WORK_EVALUATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"
#include "ps/work/statistics.h"

struct evaluation {
    const struct job *job;
    uint64_t settled; /* Batches: scores at this count and before are made, or will not be. */
    uint64_t dropped; /* Scores that will not be, since the last evaluation_take_dropped. */

    /* The score under way. */
    uint64_t batches;                   /* Of its model; 0: there is none, and zeros follow. */
    uint32_t shares, share_count;       /* How many; how many have come. */
    uint32_t holders[JOB_WORKERS_MAX];  /* [shares] the worker that has it, + 1; 0: nobody. */
    uint32_t held[JOB_WORKERS_MAX];     /* By worker, the same from its side: the share, + 1. */
    uint32_t taken;                     /* No share below this one is to be dealt. */
    uint64_t had[JOB_WORKERS_MAX / 64]; /* Bits: shares that have come. */
    struct tally tally;
    uint64_t not_finite;   /* Examples whose loss is no finite number: then the mean is none. */
    double regularisation; /* Of share 0, of the whole model. */
    uint64_t took_sum_us, took_max_us;
};

/* Scores up to `settled` batches have been made in earlier sessions. */
void evaluation_init(struct evaluation *evaluation, const struct job *job, uint64_t settled);

/* Chunks of some server are past every count before this one: what was not scored by then is
 * dropped. `lost`: and so is the score at this count, because not all values could be kept. */
void evaluation_pass(struct evaluation *evaluation, uint64_t batches, bool lost);

/* Every chunk has kept its values of this count: whether there is a score to be made of them, by so
 * many workers, and it was not under way before. */
bool evaluation_open(struct evaluation *evaluation, uint64_t batches, uint32_t workers);

/* The worker's share; if it has none, one that nobody has. False: there is none for it. */
bool evaluation_deal(struct evaluation *evaluation, uint32_t worker, struct message_work *work);

/* Whether a share is its to score. */
bool evaluation_holds(const struct evaluation *evaluation, uint32_t worker);

/* It is gone: its share is for another. */
void evaluation_lost(struct evaluation *evaluation, uint32_t worker);

/* Count a share, whoever it was dealt to. False when it is a repeat or comes too late. */
bool evaluation_add(struct evaluation *evaluation, const struct message_evaluation *share);

/* Whether all shares have come; then the score is to be told, and settled. */
bool evaluation_is_whole(const struct evaluation *evaluation);
void evaluation_settle(struct evaluation *evaluation);

/* Whether the score at the end of a job that ends after so many batches is still to come; or any
 * other that is under way. */
bool evaluation_is_awaited(const struct evaluation *evaluation, uint64_t end);

/* All goes back to this count: scores after it will be made again. */
void evaluation_go_back(struct evaluation *evaluation, uint64_t batches);

/* How many were dropped since the last call. */
uint64_t evaluation_take_dropped(struct evaluation *evaluation);

/* See common/base/invariant.h. */
void evaluation_check(const struct evaluation *evaluation);

#endif
