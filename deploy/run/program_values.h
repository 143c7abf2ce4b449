/* program_values.h - the initial values of a program as a file, for servers that begin with them.
 *
 * Only what computes can start a program, so its values are written before the servers start: by who
 * launches them, or with `syncopate export --program`.
 *
 * Threads: the main thread, as a source (worker/source/source.h). */

#ifndef DEPLOY_RUN_PROGRAM_VALUES_H
#define DEPLOY_RUN_PROGRAM_VALUES_H

#include <stdbool.h>

#include "common/options/options.h"

/* Write the values of options->program, with options->job.seed, to a safetensors file at path, in place of
 * what is there. *any: it gives some; without any nothing is written. Errors name the option. */
enum status program_values_write(const struct options *options, const char *path, bool *any,
                                 struct error *error);

#endif
