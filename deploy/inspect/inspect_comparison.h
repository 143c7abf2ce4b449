/* inspect_comparison.h - a comparison's folder: its conclusion and the table, as `compare` printed
 * them.
 *
 * Threads: one. Errors: as reopened.h; discard what was written before one. */

#ifndef DEPLOY_INSPECT_INSPECT_COMPARISON_H
#define DEPLOY_INSPECT_INSPECT_COMPARISON_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/status.h"
#include "common/file/json_writer.h"

/* Whether the folder is one for which a table was written. */
bool inspect_is_comparison(const char *path);

enum status inspect_comparison(FILE *stream, const char *path, struct error *error);
/* The members of compare.json, computed again, after `kind` and `path`. */
enum status inspect_json_comparison(struct json_writer *writer, const char *path,
                                    struct error *error);

#endif
