/* check_run_verdict.h - how the processes of a cluster under examination may end, and what they ended with.
 *
 * Threads: pure, but for a failure that it tells the witness of. */

#ifndef DEPLOY_VERIFY_CHECK_RUN_VERDICT_H
#define DEPLOY_VERIFY_CHECK_RUN_VERDICT_H

#include <stdbool.h>

#include "deploy/engine/limits.h"

struct check_run;

/* What the end of one is to the others: the engine's to ask. */
struct ending check_run_ending(void *check_run, const struct simulated_process *process);
bool check_run_is_second_coordinator(void *check_run, const struct simulated_process *process);

/* At the end of all: the exit code that they have in common; -1 when the witness has failed. */
int check_run_exit_code(struct check_run *check_run);

#endif
