/* restore.h - whether a run can begin from --restore, as far as manifests tell.
 *
 * Asked before anything is started. Going on from a checkpoint reads all of it, and finds out
 * the rest (checkpoint_resume).
 *
 * Threads: no shared state. */

#ifndef COMMON_STORE_RESTORE_H
#define COMMON_STORE_RESTORE_H

#include "common/base/status.h"
#include "common/job/job.h"

/* STATUS_OK when a run in `out` (NULL: a new folder) goes on from checkpoints of its own; or
 * `restore` names none ("auto", "never"); or it names one, or a run that has one, of this job
 * (NULL: any). STATUS_MISMATCH: of another job, with the first difference. STATUS_NOT_FOUND,
 * STATUS_IO, STATUS_INVALID: there is none. */
enum status restore_check(const char *out, const char *restore, const struct job *job,
                          struct error *error);

#endif
