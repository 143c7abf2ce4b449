/* restart.h - whether a process that has ended is started again, when, and how that is told.
 *
 * What ends unexpectedly is started again: whatever a signal ended (a crash, an abort, kill -9, too
 * little memory). So is, unless server 0 takes the end of the job for granted within a second,
 * whoever ended with 195 (lost the cluster, worth a retry) or 1: a worker whose training failed
 * says so to server 0, which ends the job; one that only ended (it was stuck) is better replaced.
 * Any other exit code is a verdict that another start would only repeat. Server 0's own exit codes
 * are all verdicts: it coordinates.
 *
 * Whose connection broke (children.h) is started again whoever it was, server 0 too, and not for
 * --max-restarts times but until --recovery-timeout has passed without a start that got through:
 * that is how long the others wait for it.
 *
 * Where the job is to end with any worker's loss (--on-worker-loss fail), workers are not started
 * again. Nobody is, more than --max-restarts times.
 *
 * Threads: plain values. */

#ifndef DEPLOY_LAUNCHER_RESTART_H
#define DEPLOY_LAUNCHER_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/launcher/children.h"

/* Ended so that another start may help. coordinates: it is server 0, or trains alone. */
bool restart_may_help(const struct child *child, bool coordinates);

/* Whether the options allow it once more. worker: it is one. */
bool restart_allowed(const struct child *child, const struct options *options, bool worker);

/* Seconds from its end to its next start: short, and doubled with every start that was followed by
 * an early end. Notes the early end in child. */
double restart_delay(struct child *child);

/* "worker/1 was killed by signal 9 (Killed); started again (restart 1 of 10)", of one that is about to be:
 * on the host `moved_to`, or NULL where it was. text: [RESTART_LINE_MAX]. */
#define RESTART_LINE_MAX (CHILD_LINE_MAX + 64 + CHILD_HOST_MAX)
void restart_describe(const struct child *child, const char *moved_to,
                      const struct options *options, char text[RESTART_LINE_MAX]);

#endif
