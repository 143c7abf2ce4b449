/* time_kinds.h - the parts of a worker's seconds, for figures and tables: computing, exchanging,
 * waiting by its reason, scoring, and the rest.
 *
 * Threads: plain functions. */

#ifndef DEPLOY_FIGURES_TIME_KINDS_H
#define DEPLOY_FIGURES_TIME_KINDS_H

#include "deploy/conclusion/comparison.h"

#define TIME_KINDS (4 + WAIT_COUNT)

struct time_kind {
    const char *label;   /* "computing gradients" */
    const char *heading; /* "computing" */
    const char *style;   /* Of svg.h. */
};

const struct time_kind *time_kind(size_t kind);

/* Of worker number `worker` of a configuration, the mean over its runs, into seconds[TIME_KINDS];
 * returns their sum. 0 without figures. */
double time_of_worker(const struct group *group, size_t worker, double seconds[TIME_KINDS]);
/* The mean over its workers. */
double time_of_config(const struct group *group, double seconds[TIME_KINDS]);

/* The maximum over its runs. */
size_t time_workers(const struct group *group);

/* Whether any configuration has spent time on it. */
bool time_kind_used(const struct comparison *comparison, size_t kind);

#endif
