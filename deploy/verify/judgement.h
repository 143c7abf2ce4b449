/* judgement.h - how the processes of a cluster under examination may end, and what they ended with.
 *
 * Threads: pure, but for a failure that it tells the witness of. */

#ifndef DEPLOY_VERIFY_JUDGEMENT_H
#define DEPLOY_VERIFY_JUDGEMENT_H

#include <stdbool.h>

#include "deploy/engine/limits.h"

struct examination;

/* What the end of one is to the others: the engine's to ask. */
struct ending judgement_ending(void *examination, const struct simulated_process *process);
bool judgement_is_rival(void *examination, const struct simulated_process *process);

/* At the end of all: the exit code that they have in common; -1 when the witness has failed. */
int judgement_exit_code(struct examination *examination);

#endif
