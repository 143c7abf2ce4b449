/* best.h - which of a run's models is the best so far, and whether training has stopped to help.
 *
 * Better is strictly better: of equals the first stays. A score that is no number is never the best,
 * and counts as no improvement.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FOLLOW_BEST_H
#define DEPLOY_FOLLOW_BEST_H

#include <stdbool.h>
#include <stdint.h>

enum best_by { BEST_BY_ACCURACY, BEST_BY_LOSS };

/* Zeroed but for `by` and `patience` is ready. */
struct best {
    enum best_by by;
    uint32_t patience; /* Scores in a row without a better one that are enough; 0: no number is. */
    bool known;
    uint64_t step; /* Of the best one, as are these. */
    double loss, accuracy;
    uint32_t without; /* Scores since. */
};

/* Whether that is the best so far. */
bool best_take(struct best *best, uint64_t step, double loss, double accuracy);

/* Whether patience is at its end. */
bool best_is_enough(const struct best *best);

#endif
