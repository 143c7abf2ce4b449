/* scoreboard.c - sums of the last two epochs; shares of a newer assignment begin an epoch's sum
 * anew, and a worker counts once. */

#include "ps/coordinator/scoreboard.h"

#include <string.h>

void scoreboard_init(struct scoreboard *scoreboard, uint64_t test_examples, uint64_t scored)
{
    memset(scoreboard, 0, sizeof *scoreboard);
    scoreboard->test_examples = test_examples;
    scoreboard->scored = scored;
}

const struct scoring *scoreboard_add(struct scoreboard *scoreboard, uint32_t worker,
                                     const struct message_evaluation *share)
{
    struct scoring *scoring = &scoreboard->epochs[share->epoch % 2];
    if (share->epoch <= scoreboard->scored || share->epoch < scoring->epoch ||
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
    scoring->complete = scoring->tally.examples >= scoreboard->test_examples;
    if (scoring->complete)
        scoreboard->scored = scoring->epoch;
    return scoring;
}

void scoreboard_go_back(struct scoreboard *scoreboard, uint64_t epoch)
{
    for (unsigned i = 0; i < 2; i++)
        if (scoreboard->epochs[i].epoch > epoch)
            memset(&scoreboard->epochs[i], 0, sizeof scoreboard->epochs[i]);
    if (scoreboard->scored > epoch)
        scoreboard->scored = epoch;
}
