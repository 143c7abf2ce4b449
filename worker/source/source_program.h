/* source_program.h - a source that asks a program (program.h).
 *
 * Threads, ownership, errors: as source.h. */

#ifndef WORKER_SOURCE_SOURCE_PROGRAM_H
#define WORKER_SOURCE_SOURCE_PROGRAM_H

#include "worker/source/source.h"

enum status source_program_open(struct source **source, const struct source_options *options,
                                struct error *error);

#endif
