/* own_worker.h - a worker's process on this host: found, asked to leave, and waited for.
 *
 * What an engine runs in a container before it takes it away (Kubernetes' preStop) needs no shell,
 * no address and no keys: in a container's namespace of processes there is one worker. A process is
 * held by a descriptor, so that no other one can come to be asked in its place.
 *
 * Threads: one. */

#ifndef DEPLOY_LEAVE_OWN_WORKER_H
#define DEPLOY_LEAVE_OWN_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/status.h"

/* The worker's process: number `pid`, which must be one, or with 0 the only one here that we may
 * ask. STATUS_NOT_FOUND and STATUS_INVALID (there are several) come with a line. */
enum status own_worker_find(pid_t pid, pid_t *found, struct error *error);

/* Ask it to leave, `evicted` with EXIT_TERMINATED, and wait until its process has ended, for so many
 * seconds at most: STATUS_TIMEOUT. */
enum status own_worker_leave(pid_t pid, bool evicted, double seconds, struct error *error);

#endif
