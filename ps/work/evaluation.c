/* evaluation.c - one score at a time: an array of holders, and a bit for each share that has
 * come. Each of a thousand workers is asked for its share again and again, so the index by
 * worker is kept, too. */

#include "ps/work/evaluation.h"

#include <string.h>

#include "common/base/invariant.h"
#include "common/job/job_score.h"

void evaluation_init(struct evaluation *evaluation, const struct job *job, uint64_t settled)
{
    memset(evaluation, 0, sizeof *evaluation);
    evaluation->job = job;
    evaluation->settled = settled;
}

static bool has_come(const struct evaluation *evaluation, uint32_t share)
{
    return evaluation->had[share / 64] >> (share % 64) & 1;
}

/* --- which score --------------------------------------------------------------------------- */

static void close_score(struct evaluation *evaluation, uint64_t settled)
{
    *evaluation = (struct evaluation){
        .job = evaluation->job, .settled = settled, .dropped = evaluation->dropped};
}

void evaluation_pass(struct evaluation *evaluation, uint64_t batches, bool lost)
{
    if (batches <= evaluation->settled)
        return;
    uint64_t dropped = job_scores_between(evaluation->job, evaluation->settled, batches) + lost;
    if (dropped == 0)
        return;
    evaluation->dropped += dropped;
    close_score(evaluation, lost ? batches : batches - 1);
}

bool evaluation_open(struct evaluation *evaluation, uint64_t batches, uint32_t workers)
{
    if (batches <= evaluation->settled || evaluation->batches == batches || workers == 0)
        return false;
    close_score(evaluation, evaluation->settled);
    evaluation->batches = batches;
    evaluation->shares = job_test_shares(evaluation->job, workers);
    return true;
}

void evaluation_settle(struct evaluation *evaluation)
{
    close_score(evaluation, evaluation->batches);
}

bool evaluation_is_awaited(const struct evaluation *evaluation, uint64_t end)
{
    return evaluation->batches > 0 ||
           (job_scores_at(evaluation->job, end) && evaluation->settled < end);
}

void evaluation_go_back(struct evaluation *evaluation, uint64_t batches)
{
    close_score(evaluation, evaluation->settled < batches ? evaluation->settled : batches);
}

uint64_t evaluation_take_dropped(struct evaluation *evaluation)
{
    uint64_t dropped = evaluation->dropped;
    evaluation->dropped = 0;
    return dropped;
}

/* --- shares -------------------------------------------------------------------------------- */

/* The first without a holder; else `shares`. */
static uint32_t find_free(struct evaluation *evaluation)
{
    uint32_t *share = &evaluation->taken;
    while (*share < evaluation->shares &&
           (evaluation->holders[*share] != 0 || has_come(evaluation, *share)))
        ++*share;
    return *share;
}

bool evaluation_deal(struct evaluation *evaluation, uint32_t worker, struct message_work *work)
{
    uint32_t held = evaluation->held[worker];
    uint32_t share = held > 0 ? held - 1 : find_free(evaluation);
    if (share == evaluation->shares)
        return false;
    evaluation->holders[share] = worker + 1;
    evaluation->held[worker] = share + 1;
    *work = (struct message_work){
        .scored = evaluation->batches, .share = share, .shares = evaluation->shares};
    return true;
}

bool evaluation_holds(const struct evaluation *evaluation, uint32_t worker)
{
    return evaluation->held[worker] > 0;
}

void evaluation_lost(struct evaluation *evaluation, uint32_t worker)
{
    uint32_t held = evaluation->held[worker];
    if (held == 0)
        return;
    evaluation->holders[held - 1] = 0;
    evaluation->held[worker] = 0;
    if (held - 1 < evaluation->taken)
        evaluation->taken = held - 1;
}

bool evaluation_add(struct evaluation *evaluation, const struct message_evaluation *share)
{
    if (evaluation->batches == 0 || share->step != evaluation->batches ||
        share->shares != evaluation->shares || has_come(evaluation, share->share))
        return false;
    evaluation->had[share->share / 64] |= (uint64_t)1 << (share->share % 64);
    if (evaluation->holders[share->share] > 0)
        evaluation->held[evaluation->holders[share->share] - 1] = 0;
    evaluation->holders[share->share] = 0;
    evaluation->share_count++;
    evaluation->tally.loss += share->loss;
    evaluation->tally.correct += share->correct;
    evaluation->tally.examples += share->examples;
    evaluation->not_finite += share->not_finite;
    if (share->share == 0)
        evaluation->regularisation = share->regularisation;
    evaluation->took_sum_us += share->took_us;
    if (share->took_us > evaluation->took_max_us)
        evaluation->took_max_us = share->took_us;
    return true;
}

bool evaluation_is_whole(const struct evaluation *evaluation)
{
    return evaluation->batches > 0 && evaluation->share_count == evaluation->shares;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("evaluation", condition, rule)

static void check_shares(const struct evaluation *evaluation)
{
    uint32_t come = 0, dealt = 0, holders = 0;
    for (uint32_t i = 0; i < evaluation->shares; i++) {
        come += has_come(evaluation, i);
        dealt += evaluation->holders[i] != 0;
        RULE(evaluation->holders[i] <= JOB_WORKERS_MAX, "who has a share is a worker");
        RULE(IMPLIES(has_come(evaluation, i), evaluation->holders[i] == 0),
             "a share that has come has no holder");
        RULE(IMPLIES(evaluation->holders[i] != 0,
                     evaluation->held[evaluation->holders[i] - 1] == i + 1),
             "no worker has two shares at a time");
        RULE(IMPLIES(i < evaluation->taken, has_come(evaluation, i) || evaluation->holders[i] != 0),
             "a share has one holder");
    }
    /* By number: each holder was seen to have its own, and the loop over all possible workers
     * should be short. */
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX; worker++)
        holders += evaluation->held[worker] != 0;
    RULE(holders == dealt, "who holds a share is its holder");
    RULE(evaluation->share_count == come, "every share that has come is counted once");
}

void evaluation_check(const struct evaluation *evaluation)
{
    RULE(evaluation->settled <= evaluation->job->steps, "no score is made after the end");
    RULE((evaluation->batches > 0) == (evaluation->shares > 0), "a score has shares");
    if (evaluation->batches == 0) {
        RULE(evaluation->share_count == 0 && evaluation->tally.examples == 0,
             "without a score nothing has come");
        return;
    }
    RULE(evaluation->batches > evaluation->settled, "what is settled is not under way");
    RULE(job_scores_at(evaluation->job, evaluation->batches),
         "the model is scored when an epoch or the job ends");
    RULE(!evaluation_is_whole(evaluation), "a whole score has been reported");
    RULE(evaluation->took_max_us <= evaluation->took_sum_us, "the longest is a part of all");
    check_shares(evaluation);
}
