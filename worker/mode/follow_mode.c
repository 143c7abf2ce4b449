/* follow_mode.c - the worker's table of each mode, and the block of its state. */

#include "worker/mode/follow_mode.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/invariant.h"

static const struct follow_mode *const tables[MODE_COUNT] = {
#define MODE(number, text, shard, work, follow, invariants, ...) [MODE_##number] = &follow_##follow,
#include "common/job/mode_rows.inc"
#undef MODE
};

const struct follow_mode *follow_mode_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT);
    return tables[job->mode];
}

enum status follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count)
{
    follow->job = job;
    follow->rules = follow_mode_of(job);
    follow->stop_step = job->steps;
    if (follow->rules->state_bytes > 0 &&
        (follow->state = calloc(1, follow->rules->state_bytes)) == NULL)
        return STATUS_MEMORY;
    follow->rules->forget(follow);
    return computation_init(&follow->computation, chunk_count);
}

void follow_free(struct follow *follow)
{
    free(follow->state);
    computation_free(&follow->computation);
}

void follow_check(const struct follow *follow)
{
    INVARIANT("follow", follow->rules == tables[follow->job->mode],
              "it follows the rules of the job's mode");
    INVARIANT("follow", (follow->state != NULL) == (follow->rules->state_bytes > 0),
              "it has the block of its mode, if that has one");
    computation_check(&follow->computation);
    follow->rules->check(follow);
}
