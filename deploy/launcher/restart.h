/* restart.h - decides whether and when a process that has ended is restarted, and describes it.
 *
 * A process that ends unexpectedly is restarted: after a signal (a crash, an abort, kill -9, too
 * little memory). So is one that ended with 195 (lost the cluster, worth a retry) or 1, unless
 * server 0 ends the job within a second. A worker whose training failed reports it to server 0,
 * which ends the job; one that only ended (it was stuck) is better replaced. Any other exit code is
 * a verdict that another start would only repeat. Server 0's own exit codes are all verdicts: it
 * coordinates.
 *
 * After a broken connection (children.h) any process is restarted, server 0 too. The limit is then
 * not --max-restarts, but --recovery-timeout without a successful start: the others wait that long.
 *
 * If the loss of any worker ends the job (--on-worker-loss fail), workers are not restarted. No
 * process is restarted more than --max-restarts times.
 *
 * Threads: plain values. */

#ifndef DEPLOY_LAUNCHER_RESTART_H
#define DEPLOY_LAUNCHER_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/launcher/children.h"

/* Its end is of a kind that a restart may repair. coordinates: it is server 0, or trains alone. */
bool restart_may_help(const struct child *child, bool coordinates);

/* Whether the options allow one more. worker: it is one. */
bool restart_allowed(const struct child *child, const struct options *options, bool worker);

/* Seconds from its end to its next start: short, and doubled after each start that was followed by
 * an early end. Notes the early end in child. */
double restart_delay(struct child *child);

/* "worker/1 was killed by signal 9 (Killed); started again (restart 1 of 10)", of one that is about
 * to be: on the host `moved_to`, or NULL for the same. text: [RESTART_LINE_MAX]. */
#define RESTART_LINE_MAX (CHILD_LINE_MAX + 64 + CHILD_HOST_MAX)
void restart_describe(const struct child *child, const char *moved_to,
                      const struct options *options, char text[RESTART_LINE_MAX]);

#endif
