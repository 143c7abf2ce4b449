/* run_json.h - what came of `syncopate run`, as one JSON object for scripts.
 *
 * exit_code, path (null when it did not come to a folder), state ("done", "stopped" or "failed"),
 * reason ("" when done), restarts and command_seconds, and then what the run's own run.json holds, if it has one.
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
    const char *reason; /* One line; "" when it is done. */
    uint32_t restarts;
    double seconds; /* That the whole command took until now. */
};

/* STATUS_MEMORY when there is no memory for it. */
enum status run_json_print(FILE *out, const struct run_outcome *outcome);

#endif
