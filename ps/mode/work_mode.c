/* work_mode.c - the coordinator's table of each mode, and the block of its state. */

#include "ps/mode/work_mode.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/invariant.h"

static const struct work_mode *const tables[MODE_COUNT] = {
#define MODE(number, text, shard, work, follow, invariants, ...) [MODE_##number] = &work_##work,
#include "common/job/mode_rows.inc"
#undef MODE
};

const struct work_mode *work_mode_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT);
    return tables[job->mode];
}

enum status work_begin(struct work *work, const struct job *job, uint64_t first,
                       const struct tally_so_far *so_far)
{
    assert(work->rules == NULL);
    work->job = job;
    work->rules = work_mode_of(job);
    work->stop_step = job->steps;
    if (statistics_init(&work->statistics, job, first, so_far) != STATUS_OK)
        return STATUS_MEMORY;
    if (work->rules->state_bytes > 0 && (work->state = calloc(1, work->rules->state_bytes)) == NULL)
        return STATUS_MEMORY;
    return work->rules->init(work, first);
}

void work_free(struct work *work)
{
    if (work->state != NULL)
        work->rules->free(work);
    free(work->state);
    statistics_free(&work->statistics);
    membership_free(&work->membership);
}

void work_check(const struct work *work)
{
    INVARIANT("work", work->rules == work_mode_of(work->job),
              "it follows the rules of the job's mode");
    INVARIANT("work", work->stop_step <= work->job->steps,
              "it stops at the last step at the latest");
    INVARIANT("work", work->assignment.members <= work->membership.worker_count,
              "no more workers stand in the row than there are places");
    statistics_check(&work->statistics);
    work->rules->check(work);
}
