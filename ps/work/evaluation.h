/* evaluation.h - the score under way: of which model, the shares of the test set and their
 * holders, and the results so far.
 *
 * The model is scored after every epoch and at the end, at counts of batches (job_scores_at):
 * the values that every chunk had just then, which its owner keeps (ps/extension/scores.h) until the
 * score is whole. The test set is cut into as many shares as there are workers (job_test_share),
 * and each is dealt to one; a lost worker's share is dealt again. Training goes on meanwhile. A chunk
 * that passes the next such count drops the values of the one before, so a score that is not
 * made by then is dropped, and counted.
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
    uint32_t holders[JOB_WORKERS_MAX];  /* [shares] the worker that has it, + 1; 0: none. */
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

/* Scores up to `settled` batches were made in earlier sessions. */
void evaluation_pass(struct evaluation *evaluation, uint64_t batches, bool lost);

/* Chunks of some server are past every count before this one: scores that are missing there are
 * dropped. `lost`: and so is the score at this count, because not all values could be kept. */
bool evaluation_open(struct evaluation *evaluation, uint64_t batches, uint32_t workers);

/* Every chunk has kept its values of this count: whether there is a score to be made of them, by
 * so many workers, and it was not under way before. */
bool evaluation_deal(struct evaluation *evaluation, uint32_t worker, struct message_work *work);

/* The worker's share; if it has none, a free one. False: there is none for it. */
bool evaluation_holds(const struct evaluation *evaluation, uint32_t worker);

/* Whether the worker has this share. */
void evaluation_lost(struct evaluation *evaluation, uint32_t worker);

/* The worker is gone: its share is for another. */
bool evaluation_add(struct evaluation *evaluation, const struct message_evaluation *share);

/* Count a share, from any worker. False when it is a repeat or comes too late. */
bool evaluation_is_whole(const struct evaluation *evaluation);
void evaluation_settle(struct evaluation *evaluation);

/* Whether all shares have come; then the score is reported, and settled. */
bool evaluation_is_awaited(const struct evaluation *evaluation, uint64_t end);

/* Whether the score at the end of a job of so many batches is still to come; or any other is
 * under way. */
void evaluation_go_back(struct evaluation *evaluation, uint64_t batches);

/* All go back to this count: later scores will be made again. */
uint64_t evaluation_take_dropped(struct evaluation *evaluation);

/* See common/base/invariant.h. */
void evaluation_check(const struct evaluation *evaluation);

#endif
