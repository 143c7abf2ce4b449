/* run_json.h - the result of `syncopate run` as one JSON object for scripts.
 *
 * Members: exit_code, path (null without a folder), state ("done", "stopped" or "failed"), reason
 *          ("" when done), restarts and command_seconds. The content of the run's own run.json
 *          follows, if it has one.
 *
 * Threads: one. */

#ifndef DEPLOY_RUN_RUN_JSON_H
#define DEPLOY_RUN_RUN_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/status.h"

struct run_outcome {
    int exit_code;
    const char *path;   /* NULL: none. */
    bool claimed;       /* Its run.json is of this run. */
    const char *reason; /* One line; "" when the run is done. */
    uint32_t restarts;
    double seconds; /* Of the whole command until now. */
};

/* STATUS_MEMORY. */
enum status run_json_print(FILE *out, const struct run_outcome *outcome);

#endif
