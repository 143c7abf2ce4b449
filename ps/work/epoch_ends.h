/* epoch_ends.h - after which steps the epochs of a job have ended, where that is not the same number of
 * steps for all (common/steps/timeline.h); or as the job says.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_EPOCH_ENDS_H
#define PS_WORK_EPOCH_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"

struct epoch_ends {
    uint64_t before; /* So many epochs have ended where training goes on: nobody asks when. */
    uint64_t *steps; /* [count] by epoch, of those behind that are known. Owned. */
    uint64_t count;
    size_t capacity;
};

/* None is known, and the first to end is this one, from 0. */
void epoch_ends_clear(struct epoch_ends *ends, uint64_t epoch);
/* How many are known to end, with those before. */
uint64_t epoch_ends_count(const struct epoch_ends *ends);
void epoch_ends_free(struct epoch_ends *ends);
enum status epoch_ends_add(struct epoch_ends *ends, uint64_t step); /* STATUS_MEMORY. */

/* As job_scores_at, job_scores_between and job_epoch_ended; ends may be NULL in a job that requeues
 * nothing. */
bool epoch_ends_scores_at(const struct epoch_ends *ends, const struct job *job, uint64_t batches);
uint64_t epoch_ends_scores_between(const struct epoch_ends *ends, const struct job *job,
                                   uint64_t after, uint64_t before);
uint64_t epoch_ends_ended(const struct epoch_ends *ends, const struct job *job, uint64_t batches);

#endif
