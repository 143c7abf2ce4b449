/* watch_run.h - follows a run by its directory, like the launcher's progress, until it has ended.
 *
 * Threads: one. Errors: those of reading it. */

#ifndef DEPLOY_INSPECT_WATCH_RUN_H
#define DEPLOY_INSPECT_WATCH_RUN_H

#include "deploy/inspect/inspect_address.h"

/* Print the run in directory `path` at this interval (in JSON, the object of inspect_json_run), and
 * at the end its summary and a line. STATUS_OK when the run has ended, well or not. */
enum status watch_run(const char *path, const struct inspect_style *style, struct error *error);

#endif
