/* config_mean.h - the mean over a configuration's runs of one of the numbers that runs record while
 * training. It has only the steps at which all of them have the number: every mean is over the same
 * runs.
 *
 * Ownership: config_mean_free. Threads: plain values. Units: steps are finished batches, seconds of
 *            training. */

#ifndef DEPLOY_COMPARE_CONFIG_MEAN_H
#define DEPLOY_COMPARE_CONFIG_MEAN_H

#include <stddef.h>

#include "deploy/conclusion/comparison.h"

/* Numbers with a mean, by their tags (board.h). */
#define CONFIG_MEAN_TAGS 8
const char *config_mean_tag(size_t quantity);

struct sample {
    double step, value;
    double seconds; /* Of training, the mean too. */
};

struct config_mean {
    struct sample *samples; /* [count] by step; owned. */
    size_t count;
};

/* STATUS_MEMORY. config_mean_free in any case. */
enum status config_mean_make(struct config_mean *mean, const struct group *group, size_t quantity);
void config_mean_free(struct config_mean *mean);

#endif
