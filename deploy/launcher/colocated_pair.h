/* colocated_pair.h - a worker and a server at one place: two children that live and end together.
 *
 * What they say goes to our own standard error as it is, and what they print to our standard output.
 * SIGINT, SIGTERM and SIGHUP are passed on to both, as often as they come. When one has
 * ended, the other has the time of a clean stop to end by itself, which it does where the job is
 * over; then it is told to stop, and then killed. When one has failed, it is told so at once. Each
 * has PR_SET_PDEATHSIG and a standard input that ends with us, so nothing is left of a pair whose
 * parent is killed.
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

/* Run both to their end. The exit code is of the first that failed, 128 and its number for a signal;
 * EXIT_DONE when none did. stop_seconds: for a clean stop. has_parent: parent_greet has been, and when
 * that parent is gone both are told to stop. error holds a line where there is one to say. */
int colocated_pair_run(const struct colocated_role roles[2], double stop_seconds, bool has_parent,
                       struct error *error);

#endif
