/* inspect_json.h - a checkpoint, a model file or a run directory as one JSON object. deploy/RUNS.md
 * has the members.
 *
 * Threads: one. Errors: those of reading; discard what was written before one. */

#ifndef DEPLOY_INSPECT_INSPECT_JSON_H
#define DEPLOY_INSPECT_INSPECT_JSON_H

#include "common/base/status.h"
#include "common/file/json_writer.h"

enum status inspect_json_checkpoint(struct json_writer *writer, const char *path,
                                    struct error *error);
enum status inspect_json_model(struct json_writer *writer, const char *path, struct error *error);
enum status inspect_json_run(struct json_writer *writer, const char *path, struct error *error);

#endif
