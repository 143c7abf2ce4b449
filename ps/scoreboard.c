#include "ps/scoreboard.h"

#include <string.h>

const struct scoring *scoreboard_add(struct scoreboard *scoreboard, uint32_t worker,
                                     const struct message_evaluation *share)
{
    struct scoring *scoring = &scoreboard->epochs[share->epoch % 2];
    if (share->epoch < scoring->epoch)
        return NULL; /* Long past. */
    if (scoring->epoch != share->epoch) {
        memset(scoring, 0, sizeof *scoring);
        scoring->epoch = share->epoch;
        scoring->step = share->step;
    }
    uint64_t bit = (uint64_t)1 << (worker % 64);
    if (scoring->reported[worker / 64] & bit)
        return NULL;
    scoring->reported[worker / 64] |= bit;
    scoring->tally.loss += share->loss;
    scoring->tally.correct += share->correct;
    scoring->tally.examples += share->examples;
    scoring->took_sum_us += share->took_us;
    if (share->took_us > scoring->took_max_us)
        scoring->took_max_us = share->took_us;
    return scoring;
}
