/* programs.h - where the programs of the roles are, beside the one that runs.
 *
 * Looked for in this order: the folder that SYNCOPATE_BIN_DIR names; that of this program, as the
 * kernel knows it (/proc), as it was started, and where that leads by symbolic links; PATH. The
 * first that has a syncopate-ps is it. /proc need not be there.
 *
 * Threads: one. */

#ifndef DEPLOY_LAUNCHER_PROGRAMS_H
#define DEPLOY_LAUNCHER_PROGRAMS_H

#include <limits.h>

#include "common/base/status.h"

/* The folder, without a slash at its end. STATUS_NOT_FOUND with a line that says where it was
 * looked for. */
enum status programs_find(char folder[PATH_MAX], struct error *error);

#endif
