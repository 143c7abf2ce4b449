/* renewal.h - removes an interrupted run in virtual time, to repeat it from its beginning.
 *
 * Stopping and resuming from a checkpoint is an event of the cluster. In modes that do not wait it
 * leads to another history and other bits. The result of a comparison in virtual time must depend
 * on its plan alone, not on the time of an interruption.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_RENEWAL_H
#define DEPLOY_COMPARE_RENEWAL_H

#include "common/options/options.h"

/* Waits for the process that still holds the folder `out` and dies with a killed comparison.
 * Without such a run, or with a run of another plan, there is no effect: the run itself will report
 * it. */
void renewal_prepare(const struct options *options, const char *out,
                     void (*say)(void *context, const char *line), void *context);

#endif
