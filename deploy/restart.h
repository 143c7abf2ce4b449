/* restart.h - whether a process that has ended is started again, and when.
 *
 * What ends unexpectedly is started again: whatever a signal ended (a crash, an abort, kill -9, too
 * little memory) and, but for server 0, exit code 195: lost the cluster, worth a retry. Any other
 * exit code is a verdict that another start would only repeat. So is server 0's 195: it
 * coordinates, and has given the job up by its own deadlines.
 *
 * Where the job is to end with any worker's loss (--on-worker-loss fail), workers are not started
 * again. Nobody is, more than --max-restarts times.
 *
 * Threads: plain values. */

#ifndef DEPLOY_RESTART_H
#define DEPLOY_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"
#include "deploy/children.h"

/* Ended so that another start may help. coordinates: it is server 0, or trains alone. */
bool restart_may_help(const struct child *child, bool coordinates);

/* Whether the options allow it once more. worker: it is one. */
bool restart_allowed(const struct child *child, const struct options *options, bool worker);

/* Seconds from its end to its next start: short, and doubled with every start that was followed by
 * an early end. Notes the early end in child. */
double restart_delay(struct child *child);

#endif
