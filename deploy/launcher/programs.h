/* programs.h - finds the programs of the roles beside the running one.
 *
 * Searched in this order: the folder in SYNCOPATE_BIN_DIR; that of this program, as the kernel has
 * it (/proc), as it was started, and after following symbolic links; PATH. The first with a
 * syncopate-ps counts. /proc is optional.
 *
 * Threads: one. */

#ifndef DEPLOY_LAUNCHER_PROGRAMS_H
#define DEPLOY_LAUNCHER_PROGRAMS_H

#include <limits.h>

#include "common/base/status.h"

/* The folder, without a slash at its end. STATUS_NOT_FOUND with a line that lists the searched
 * places. */
enum status programs_find(char folder[PATH_MAX], struct error *error);

#endif
