/* watch_run.h - follows a run by its directory, as the launcher shows its own, until it has ended.
 *
 * Threads: one. Errors: those of reading it. */

#ifndef DEPLOY_INSPECT_WATCH_RUN_H
#define DEPLOY_INSPECT_WATCH_RUN_H

#include "deploy/inspect/inspect_address.h"

/* Show the run in directory `path` every so often (in JSON, what inspect_json_run writes), and at
 * the end its summary and a line. STATUS_OK when the run has ended, well or not. */
enum status watch_run(const char *path, const struct inspect_style *style, struct error *error);

#endif
