/* listener.h - passes the output of a job's processes on to the person who started it: warnings at
 * once, all with --verbose, and progress from another host. The error of the process that failed is
 * printed at the end.
 *
 * Threads: one; it calls the watch in the caller's thread. Ownership: all is borrowed. */

#ifndef DEPLOY_LAUNCHER_LISTENER_H
#define DEPLOY_LAUNCHER_LISTENER_H

#include <stdbool.h>

#include "common/process/log_once.h"
#include "deploy/launcher/children.h"

struct launch_watch;

/* Ready when the first three are set. */
struct listener {
    const struct launch_watch *watch; /* NULL: lines go to standard error. */
    bool quiet, verbose;              /* --quiet, --verbose. */
    struct log_once log_once;         /* Failures to write logs. */
};

/* The launcher's own message. */
void listener_remark(const struct listener *listener, enum log_level level, const char *text);

/* Read the child's output so far. coordinates: it has the progress. A failure to write a log does
 * not end the job. */
void listener_hear(struct listener *listener, struct child *child, bool coordinates);

/* The lines before a child's last one: they often explain a crash. */
void listener_say_tail(const struct listener *listener, const struct child *child);

#endif
