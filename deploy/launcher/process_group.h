/* process_group.h - all processes of one job, servers and then workers: who lives, who has left, who has failed.
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
    size_t count, max;      /* That have been started so far; of the whole job. */
    uint32_t servers;
    bool may_leave; /* A worker that is told to stop leaves the job, which goes on. */
};

/* None of them started. STATUS_MEMORY. */
enum status process_group_init(struct process_group *group, const struct options *options,
                               struct error *error);
/* A zeroed one, too. See child_free. */
void process_group_free(struct process_group *group);

bool process_group_is_worker(const struct process_group *group, const struct child *child);

/* Ended, but that was to be: a worker that was asked to go, and went (--on-term leave). */
bool process_group_left(const struct process_group *group, const struct child *child);
/* Ended, and it was not to be. stopping: the job was asked to stop. */
bool process_group_failed(const struct process_group *group, const struct child *child,
                          bool stopping);

bool process_group_any_alive(const struct process_group *group);
/* All have been started, and nobody is left whom server 0 could tell anything. */
bool process_group_others_ended(const struct process_group *group);
/* And not all by leaving: then server 0 waits for others, and knows for how long. */
bool process_group_workers_ended(const struct process_group *group);

/* Those who are on their way to another host. */
uint32_t process_group_logins(const struct process_group *group);
/* Starts after the first, of all. */
uint32_t process_group_restarts(const struct process_group *group);
/* When the first of those that are to be started again is; INFINITY: none is. */
double process_group_restart_at(const struct process_group *group);

/* See child_signal. */
void process_group_signal(struct process_group *group, int signal);
/* See child_abandon. */
void process_group_abandon(struct process_group *group);
/* The end is near: nobody is started again. */
void process_group_drop_restarts(struct process_group *group);

#endif
