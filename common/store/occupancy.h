/* occupancy.h - whether the holder of a run directory means to stay.
 *
 * The lock on its events says that it has a holder (event_log.h): server 0, or a worker that
 * trains alone. But orphans of a dead launcher have it, too, until they have ended, and so has a
 * job that is stopping. A newcomer had better wait a little then than be refused.
 *
 * So the process that stands for a job occupies its directory: the launcher, or, where there is
 * none, the process with the lock. It releases that when it begins to end, and when it dies the
 * kernel does.
 *
 *     locked and occupied            a job that goes on
 *     locked, and not occupied       its last moments
 *     occupied, and not locked       a launcher is about to start server 0, maybe again
 *
 * This is a lock, too, on the directory itself (an open file description's, shared), so nothing
 * is left behind. Where the file system has none of these, the holder of the events' lock is
 * taken to stay.
 *
 * Threads: any. */

#ifndef COMMON_STORE_OCCUPANCY_H
#define COMMON_STORE_OCCUPANCY_H

#include <stdbool.h>

#include "common/base/status.h"

/* The descriptor that holds it until it is closed. -1 when there is no such directory or lock,
 * or, with unless_taken, when it is occupied already. */
int occupancy_take(const char *directory, bool unless_taken);

/* How long a leaving holder may take: orphans parent.h's time, others --stop-timeout. */
double occupancy_patience(double stop_timeout);

/* Wait until the directory is free, if its holders are about to leave: `seconds` at most, and
 * log once for which and how long. STATUS_EXISTS when they stay, with a line that names them,
 * after a second at most; STATUS_TIMEOUT when they do not leave in time. */
enum status occupancy_await(const char *directory, double seconds,
                            void (*say)(void *context, const char *line), void *context,
                            struct error *error);

#endif
