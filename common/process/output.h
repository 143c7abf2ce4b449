/* output.h - whether all that was printed to standard output has got there.
 *
 * printf keeps what it is given for a while, so that a full disk or a reader that has gone shows
 * late, or never: a program whose result is what it prints has to ask before it ends.
 *
 * Threads: one, when the others are done. */

#ifndef COMMON_PROCESS_OUTPUT_H
#define COMMON_PROCESS_OUTPUT_H

#include "common/base/status.h"

/* Write what is left. STATUS_IO when anything was lost since this was last asked, with the line
 * "cannot write to standard output: No space left on device"; STATUS_UNREACHABLE when its reader is gone. */
enum status output_finish(struct error *error);

#endif
