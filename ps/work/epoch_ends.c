/* epoch_ends.c - a list that is looked through from its end: what is asked for is of late. */

#include "ps/work/epoch_ends.h"

#include <stdlib.h>

#include "common/base/array.h"

void epoch_ends_free(struct epoch_ends *ends)
{
    free(ends->steps);
    *ends = (struct epoch_ends){.steps = NULL};
}

void epoch_ends_clear(struct epoch_ends *ends, uint64_t epoch)
{
    ends->before = epoch;
    ends->count = 0;
}

uint64_t epoch_ends_count(const struct epoch_ends *ends)
{
    return ends->before + ends->count;
}

enum status epoch_ends_add(struct epoch_ends *ends, uint64_t step)
{
    uint64_t *steps = array_room(ends->steps, (size_t)ends->count, &ends->capacity, sizeof *steps);
    if (steps == NULL)
        return STATUS_MEMORY;
    ends->steps = steps;
    ends->steps[ends->count++] = step;
    return STATUS_OK;
}

bool epoch_ends_scores_at(const struct epoch_ends *ends, const struct job *job, uint64_t batches)
{
    if (!job_requeues(job))
        return job_scores_at(job, batches);
    bool ends_there = false;
    for (uint64_t i = ends->count; i-- > 0 && ends->steps[i] >= batches;)
        ends_there = ends->steps[i] == batches;
    return job->test_examples > 0 && ends_there;
}

uint64_t epoch_ends_scores_between(const struct epoch_ends *ends, const struct job *job,
                                   uint64_t after, uint64_t before)
{
    uint64_t count = 0;
    if (!job_requeues(job))
        return job_scores_between(job, after, before);
    for (uint64_t i = ends->count; i-- > 0 && ends->steps[i] > after && job->test_examples > 0;)
        count += ends->steps[i] < before;
    return count;
}

uint64_t epoch_ends_ended(const struct epoch_ends *ends, const struct job *job, uint64_t batches)
{
    if (!job_requeues(job))
        return job_epoch_ended(job, batches);
    uint64_t epoch = ends->count;
    while (epoch > 0 && ends->steps[epoch - 1] >= batches)
        epoch--;
    return batches == 0 ? 0 : ends->before + epoch + 1;
}
