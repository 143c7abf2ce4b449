/* best.h - the best of a run's models so far, and whether training has stopped to improve.
 *
 * Better is strictly better: of equals the first stays. A NaN score is never the best and counts as
 * no improvement.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FOLLOW_BEST_H
#define DEPLOY_FOLLOW_BEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/figures/figures.h"

enum best_by { BEST_BY_ACCURACY, BEST_BY_LOSS };

/* Zeroed but for `by` and `patience` is ready. */
struct best {
    enum best_by by;
    uint32_t patience; /* Scores in a row without improvement that end the run; 0: no limit. */
    bool known;
    uint64_t step; /* Step, loss and accuracy of the best one. */
    struct score_figures test;
    uint32_t without; /* Scores since the best. */
};

/* Whether this is the best so far. */
bool best_take(struct best *best, uint64_t step, const struct score_figures *test);

/* Whether patience is used up. */
bool best_is_enough(const struct best *best);

#endif
