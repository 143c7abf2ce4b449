/* listener.h - what a job's processes say, to the person who started it: warnings as they come, with
 * --verbose all, and from another host how training goes. What is an error is told at the end, of whoever
 * is to blame.
 *
 * Threads: one; what it calls of the watch is called by whoever calls here. Ownership: all is borrowed. */

#ifndef DEPLOY_LAUNCHER_LISTENER_H
#define DEPLOY_LAUNCHER_LISTENER_H

#include <stdbool.h>

#include "common/process/log_once.h"
#include "deploy/launcher/children.h"

struct launch_watch;

/* With the first three, ready. */
struct listener {
    const struct launch_watch *watch; /* NULL: lines go to standard error. */
    bool quiet, verbose;              /* --quiet, --verbose. */
    struct log_once log_once;         /* Logs that could not be written. */
};

/* A line for the person. */
void listener_say(const struct listener *listener, const char *line);

/* The launcher's own remark. */
void listener_remark(const struct listener *listener, enum log_level level, const char *text);

/* Take in what the child has said by now. coordinates: how training goes it is that knows. Logs that
 * cannot be written are no reason to end a job. */
void listener_hear(struct listener *listener, struct child *child, bool coordinates);

/* The lines before a child's last one: a crash often says more than that. */
void listener_say_tail(const struct listener *listener, const struct child *child);

#endif
