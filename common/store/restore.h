/* restore.h - whether a run can begin with what --restore names, as far as manifests tell.
 *
 * Asked before anything is started. Whoever goes on from a checkpoint reads all of it, and finds
 * out the rest (checkpoint_resume).
 *
 * Threads: no shared state. */

#ifndef COMMON_STORE_RESTORE_H
#define COMMON_STORE_RESTORE_H

#include "common/base/status.h"
#include "common/job/job.h"

/* STATUS_OK when a run in `out` (NULL: a new folder) goes on from checkpoints of its own, when
 * `restore` names none ("auto", "never"), or names one, or a run that has one, which is of this job
 * (NULL: any). STATUS_MISMATCH: of another job, and the first difference is named.
 * STATUS_NOT_FOUND, STATUS_IO, STATUS_INVALID: there is none. */
enum status restore_check(const char *out, const char *restore, const struct job *job,
                          struct error *error);

#endif
