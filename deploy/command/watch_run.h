/* watch_run.h - follows a run by its directory, as the launcher shows its own, until it has ended.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_WATCH_RUN_H
#define DEPLOY_COMMAND_WATCH_RUN_H

#include "deploy/inspect/inspect_address.h"

/* Show the run in directory `path` every so often (in JSON, what inspect_json_run writes), and at
 * the end its summary and a line. An enum exit_code: EXIT_DONE when the run has ended, well or not;
 * error holds one line otherwise. */
int watch_run(const char *path, const struct inspect_style *style, struct error *error);

#endif
