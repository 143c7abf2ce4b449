/* colocated_pair.h - a worker and a server at one place: two children that live and end together.
 *
 * Their output goes to our standard error and standard output unchanged. SIGINT, SIGTERM and SIGHUP
 * are passed on to both, each time. When one has ended, the other has the time of a clean stop to
 * end by itself, as it does at the end of the job; then it gets SIGTERM, and then SIGKILL. When one
 * has failed, the other gets SIGTERM at once. Each has PR_SET_PDEATHSIG and a standard input that
 * ends with ours: no process of a pair survives a killed parent.
 *
 * Threads: one. */

#ifndef DEPLOY_LAUNCHER_COLOCATED_PAIR_H
#define DEPLOY_LAUNCHER_COLOCATED_PAIR_H

#include <stdbool.h>

#include "common/base/status.h"
#include "deploy/launcher/children.h"

struct colocated_role {
    char name[32]; /* "ps/0" */
    struct child_program program;
};

/* Run both to their end. The exit code is of the first that failed, 128 and its number for a
 * signal; EXIT_DONE when none did. stop_seconds: for a clean stop. has_parent: parent_greet was
 * called, and when that parent is gone both are stopped. error has a line when there is one. */
int colocated_pair_run(const struct colocated_role roles[2], double stop_seconds, bool has_parent,
                       struct error *error);

#endif
