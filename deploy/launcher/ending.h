/* ending.h - how a job has ended, from how its processes did: an exit code, and a line that says why.
 *
 * Of several that failed the one is told that explains most: whoever could not be started at all, then
 * whoever gave a verdict, then whom a signal killed, then whatever else; a lost cluster is what the others
 * saw of it. Of equals the first. A process that only passes another's reason on is never told: the one
 * that gave it is. But a job that says itself that it is complete is, whoever died on the
 * way out.
 *
 * Threads: plain values. */

#ifndef DEPLOY_LAUNCHER_ENDING_H
#define DEPLOY_LAUNCHER_ENDING_H

#include <stdbool.h>

#include "common/base/status.h"
#include "deploy/launcher/process_group.h"

struct ending {
    const char *out;          /* The run directory, whose logs have more. */
    double stop_seconds;      /* --stop-timeout */
    int stop_signal;          /* That asked for a clean stop; 0: none did. */
    bool at_once;             /* Somebody lost patience then. */
    bool killed;              /* Who had not ended was killed. */
    bool done;                /* The job itself says that it is complete. */
    struct error start_error; /* Why one could not be started again; "" when all could. */
};

/* Who is to blame, or NULL. stopping: the job was asked to stop. */
const struct child *ending_culprit(const struct process_group *group, bool stopping);

/* EXIT_INTERRUPTED for SIGINT, EXIT_TERMINATED for another, EXIT_DONE for 0. */
int ending_stop_code(int stop_signal);

/* The exit code of the whole; when it is not EXIT_DONE, error holds one line. All have ended, or are
 * given up. */
int ending_judge(const struct ending *ending, const struct process_group *group,
                 struct error *error);

#endif
