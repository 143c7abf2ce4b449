/* evaluation.c - sums of the last two epochs; shares of a newer assignment begin an epoch's sum
 * anew, and a worker counts once. */

#include "ps/work/evaluation.h"

#include <string.h>

#include "common/base/invariant.h"

void evaluation_init(struct evaluation *evaluation, uint64_t test_examples, uint64_t scored)
{
    memset(evaluation, 0, sizeof *evaluation);
    evaluation->test_examples = test_examples;
    evaluation->scored = scored;
}

const struct scoring *evaluation_add(struct evaluation *evaluation, uint32_t worker,
                                     const struct message_evaluation *share)
{
    struct scoring *scoring = &evaluation->epochs[share->epoch % 2];
    if (share->epoch <= evaluation->scored || share->epoch < scoring->epoch ||
        worker >= JOB_WORKERS_MAX)
        return NULL; /* Long past. */
    if (scoring->epoch == share->epoch && share->assignment < scoring->assignment)
        return NULL;
    if (scoring->epoch != share->epoch || scoring->assignment != share->assignment)
        *scoring = (struct scoring){.epoch = share->epoch, .assignment = share->assignment};
    uint64_t bit = (uint64_t)1 << (worker % 64);
    if (scoring->reported[worker / 64] & bit)
        return NULL;
    scoring->reported[worker / 64] |= bit;
    scoring->share_count++;
    scoring->tally.loss += share->loss;
    scoring->tally.correct += share->correct;
    scoring->tally.examples += share->examples;
    scoring->took_sum_us += share->took_us;
    if (share->took_us > scoring->took_max_us)
        scoring->took_max_us = share->took_us;
    scoring->complete = scoring->tally.examples >= evaluation->test_examples;
    if (scoring->complete)
        evaluation->scored = scoring->epoch;
    return scoring;
}

void evaluation_go_back(struct evaluation *evaluation, uint64_t epoch)
{
    for (unsigned i = 0; i < 2; i++)
        if (evaluation->epochs[i].epoch > epoch)
            memset(&evaluation->epochs[i], 0, sizeof evaluation->epochs[i]);
    if (evaluation->scored > epoch)
        evaluation->scored = epoch;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("evaluation", condition, rule)

void evaluation_check(const struct evaluation *evaluation)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct scoring *scoring = &evaluation->epochs[i];
        uint32_t reported = 0;
        for (unsigned word = 0; word < JOB_WORKERS_MAX / 64; word++)
            reported += (uint32_t)__builtin_popcountll(scoring->reported[word]);
        RULE(scoring->epoch == 0 || scoring->epoch % 2 == i,
             "an epoch has the place of its number");
        RULE(scoring->share_count == reported, "every share is of a worker, and one of each");
        RULE(IMPLIES(scoring->epoch == 0, reported == 0), "no epoch, no shares");
        RULE(IMPLIES(scoring->epoch != 0,
                     scoring->complete == (scoring->tally.examples >= evaluation->test_examples)),
             "a score is complete with the last example, and not before");
        RULE(IMPLIES(scoring->complete, scoring->epoch <= evaluation->scored),
             "an epoch that is complete has been scored");
        RULE(scoring->took_max_us <= scoring->took_sum_us, "the longest is a part of all");
    }
}
