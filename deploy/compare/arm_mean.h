/* arm_mean.h - one of the numbers that runs tell as they train, on the mean of an arm's runs: at the steps at which
 * all of them have it, and nowhere else, so that no mean is of fewer runs than another.
 *
 * Ownership: arm_mean_free. Threads: plain values. Units: steps are batches done, seconds of training. */

#ifndef DEPLOY_COMPARE_ARM_MEAN_H
#define DEPLOY_COMPARE_ARM_MEAN_H

#include <stddef.h>

#include "deploy/answer/comparison.h"

/* Numbers that there are means of, by their tags (board.h). */
#define ARM_MEAN_TAGS 8
const char *arm_mean_tag(size_t quantity);

struct sample {
    double step, value;
    double seconds; /* Of training, on the mean too. */
};

struct arm_mean {
    struct sample *samples; /* [count] by step; owned. */
    size_t count;
};

/* STATUS_MEMORY. arm_mean_free in any case. */
enum status arm_mean_make(struct arm_mean *mean, const struct group *group, size_t quantity);
void arm_mean_free(struct arm_mean *mean);

#endif
