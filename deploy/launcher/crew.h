/* crew.h - all processes of one job, servers and then workers: who lives, who has left, who has failed.
 *
 * Server 0 is the first, or, without servers, the one worker: it coordinates.
 *
 * Threads: one. Ownership: of its children (children.h). Time: seconds of a monotonic clock. */

#ifndef DEPLOY_LAUNCHER_CREW_H
#define DEPLOY_LAUNCHER_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/launcher/children.h"

struct crew {
    struct child *children; /* [max], owned. */
    size_t count, max;      /* That have been started so far; of the whole job. */
    uint32_t servers;
    bool may_leave; /* A worker that is told to stop leaves the job, which goes on. */
};

/* None of them started. STATUS_MEMORY. */
enum status crew_init(struct crew *crew, const struct options *options, struct error *error);
/* A zeroed one, too. See child_free. */
void crew_free(struct crew *crew);

bool crew_is_worker(const struct crew *crew, const struct child *child);

/* Ended, but that was to be: a worker that was asked to go, and went (--on-term leave). */
bool crew_left(const struct crew *crew, const struct child *child);
/* Ended, and it was not to be. stopping: the job was asked to stop. */
bool crew_failed(const struct crew *crew, const struct child *child, bool stopping);

bool crew_any_alive(const struct crew *crew);
/* All have been started, and nobody is left whom server 0 could tell anything. */
bool crew_others_ended(const struct crew *crew);
/* And not all by leaving: then server 0 waits for others, and knows for how long. */
bool crew_workers_ended(const struct crew *crew);

/* Those who are on their way to another host. */
uint32_t crew_logins(const struct crew *crew);
/* Starts after the first, of all. */
uint32_t crew_restarts(const struct crew *crew);
/* When the first of those that are to be started again is; INFINITY: none is. */
double crew_restart_at(const struct crew *crew);

/* See child_signal. */
void crew_signal(struct crew *crew, int signal);
/* See child_abandon. */
void crew_abandon(struct crew *crew);
/* The end is near: nobody is started again. */
void crew_drop_restarts(struct crew *crew);

#endif
