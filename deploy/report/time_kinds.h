/* time_kinds.h - where the seconds of a group's workers went, for compare.json.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_TIME_KINDS_H
#define DEPLOY_REPORT_TIME_KINDS_H

#include "common/file/json_writer.h"
#include "deploy/conclusion/comparison.h"

/* "time": [{"computing": 9.8, "exchanging": 2.6, "barrier", "bound", "lease", "gate", "scoring",
 * "other"}, ...]: each worker, the means over the runs that have it. */
void time_kinds_write_json(struct json_writer *writer, const struct group *group);

#endif
