/* config_mean.h - one of the numbers that runs tell as they train, on the mean of an arm's runs: at the steps at which
 * all of them have it, and nowhere else, so that no mean is of fewer runs than another.
 *
 * Ownership: config_mean_free. Threads: plain values. Units: steps are batches done, seconds of training. */

#ifndef DEPLOY_COMPARE_CONFIG_MEAN_H
#define DEPLOY_COMPARE_CONFIG_MEAN_H

#include <stddef.h>

#include "deploy/conclusion/comparison.h"

/* Numbers that there are means of, by their tags (board.h). */
#define CONFIG_MEAN_TAGS 8
const char *config_mean_tag(size_t quantity);

struct sample {
    double step, value;
    double seconds; /* Of training, on the mean too. */
};

struct config_mean {
    struct sample *samples; /* [count] by step; owned. */
    size_t count;
};

/* STATUS_MEMORY. config_mean_free in any case. */
enum status config_mean_make(struct config_mean *mean, const struct group *group, size_t quantity);
void config_mean_free(struct config_mean *mean);

#endif
