/* task.h - how the processes of a job, its servers and its workers, begin and end alike.
 *
 * Threads: the main one. */

#ifndef COMMON_OPTIONS_TASK_H
#define COMMON_OPTIONS_TASK_H

#include "common/options/options.h"

/* First thing in main: process_begin, options_begin, a log that speaks as "ps/0" or "worker/3", the
 * launcher's greeting where there is one, and what there is to remark on the options. False when the
 * program is to end at once with *exit_code; what is wrong has been said. */
bool task_begin(struct options *options, enum option_user user, int argc, char **argv,
                int *exit_code);

/* A user who starts a run again while the one before is stopping has to wait for its --out; see
 * occupancy.h. For those without a launcher, whose care that is. An exit code. */
int task_await_out(const struct options *options, struct error *error);

/* Say that the task is done, or what is wrong; returns the exit code. */
int task_end(int exit_code, const struct error *error);

#endif
