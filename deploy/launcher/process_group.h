/* process_group.h - all processes of one job, servers and then workers: the running, the left and
 * the failed ones.
 *
 * Server 0 is the first, or, without servers, the one worker: it coordinates.
 *
 * Threads: one. Ownership: of its children (children.h). Time: seconds of a monotonic clock. */

#ifndef DEPLOY_LAUNCHER_PROCESS_GROUP_H
#define DEPLOY_LAUNCHER_PROCESS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/launcher/children.h"

struct process_group {
    struct child *children; /* [max], owned. */
    size_t count, max;      /* Started so far; in the whole job. */
    uint32_t servers;
    bool may_leave; /* A worker that gets SIGTERM leaves the job, which goes on. */
};

/* Without a started one. STATUS_MEMORY. */
enum status process_group_init(struct process_group *group, const struct options *options,
                               struct error *error);
/* Accepts a zeroed struct. See child_free. */
void process_group_free(struct process_group *group);

bool process_group_is_worker(const struct process_group *group, const struct child *child);

/* Ended as intended: a worker that was asked to leave, and left (--on-term leave). */
bool process_group_left(const struct process_group *group, const struct child *child);
/* Ended without intention. stopping: a stop of the job was requested. */
bool process_group_failed(const struct process_group *group, const struct child *child,
                          bool stopping);

bool process_group_any_alive(const struct process_group *group);
/* All have been started, and server 0 has no peer left. */
bool process_group_others_ended(const struct process_group *group);
/* And not all by leaving: then server 0 waits for others, with a deadline of its own. */
bool process_group_workers_ended(const struct process_group *group);

/* The number on their way to another host. */
uint32_t process_group_logins(const struct process_group *group);
/* The sum of restarts. */
uint32_t process_group_restarts(const struct process_group *group);
/* The time of the next restart; INFINITY: none. */
double process_group_restart_at(const struct process_group *group);

/* See child_signal. */
void process_group_signal(struct process_group *group, int signal);
/* See child_abandon. */
void process_group_abandon(struct process_group *group);
/* Near the end: no more restarts. */
void process_group_drop_restarts(struct process_group *group);

#endif
