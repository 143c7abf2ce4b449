/* narrator.h - prints on standard output how a run goes and how it ended, from server 0, or from a
 * worker that trains alone.
 *
 *     training on 60,000 examples, 938 batches an epoch, 2,814 in all
 *     epoch 0.4 of 3  step 375 of 2,814  loss 0.612  accuracy 78.1 %  21,300 images/s  2 min left
 *     epoch 1  step 938  loss 0.3578  accuracy 87.06 %  test accuracy 86.21 %
 *     ...
 *     sync, 1 server, 2 workers: done
 *       updates        2,814 of 2,814, ...
 *
 * These are the lines of `syncopate run`: progress.h makes them from the run directory's events,
 * and summary.h from its run.json. What the run waits for is left out where the log goes to the
 * same place and says so anyway. Where standard output is /dev/null nothing is printed: the
 * launcher has its children's there, and prints by itself.
 *
 * A thread of its own reads and prints, so that a reader that stops (a terminal with Ctrl-S, a full
 * pipe) holds up the narrator alone; it goes on where it was. Without its reader it is silent.
 *
 * Threads: start and stop from one. Ownership: the narrator is the caller's until narrator_stop. */

#ifndef COMMON_PROGRESS_NARRATOR_H
#define COMMON_PROGRESS_NARRATOR_H

#include <stdbool.h>

#include "common/base/status.h"

struct narrator;

/* How much it prints. */
enum narrator_tells { NARRATOR_NOTHING, NARRATOR_PROGRESS, NARRATOR_ALL };

/* Print the run in this directory, which need not be there yet. *narrator is NULL when there is
 * nothing to print, no reader, or no thread. log_every: seconds between progress
 * lines. */
void narrator_start(struct narrator **narrator, const char *run, double log_every,
                    enum narrator_tells tells);

/* The run has ended with this exit code: print the rest, the summary unless it failed, and what goes on. Waits two
 * seconds at most for a reader. Accepts NULL in *narrator, and sets it. */
void narrator_stop(struct narrator **narrator, int exit_code);

#endif
