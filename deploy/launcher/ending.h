/* ending.h - derives the end of a job from the ends of its processes: an exit code, and a line with
 * the reason.
 *
 * Of several failed processes the one with the best explanation is reported. First comes a process
 * that could not be started at all, then one with a verdict, then one that a signal killed, then
 * any other; a lost cluster is only the effect on the others. Of equals the first counts. A process
 * that passes on another's reason is never reported, but that other one is. A job whose run.json
 * says that it is complete is done, even if a process died at its end.
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
    int stop_signal;          /* The signal that asked for a clean stop; 0: none. */
    bool at_once;             /* Then a second one followed. */
    bool killed;              /* Processes that had not ended were killed. */
    bool done;                /* The job's run.json says that it is complete. */
    struct error start_error; /* The reason of a failed restart; "" without one. */
};

/* The process that caused the failure, or NULL. stopping: a stop of the job was requested. */
const struct child *ending_culprit(const struct process_group *group, bool stopping);

/* EXIT_INTERRUPTED for SIGINT, EXIT_TERMINATED for another, EXIT_DONE for 0. */
int ending_stop_code(int stop_signal);

/* The exit code of the job; when it is not EXIT_DONE, error has one line. All have ended, or are
 * given up. */
int ending_judge(const struct ending *ending, const struct process_group *group,
                 struct error *error);

#endif
