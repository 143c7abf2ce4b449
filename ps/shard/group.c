/* group.c - one gradient of a chunk: compensate it, add it to its group, update. */

#include "ps/shard/group.h"

#include <assert.h>
#include <string.h>

#include "common/job/compensation.h"
#include "common/job/update_sum.h"
#include "common/kernels/kernels.h"

bool group_needs_base(const struct chunk *chunk, uint64_t staleness)
{
    return chunk->plan->job.delay_compensation > 0.0f && staleness > 0;
}

/* The sum to apply: the gradient's own, or a compensated one in the chunk's memory. */
static const float *compensated(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    const struct job *job = &chunk->plan->job;
    bool overtaken = group_needs_base(chunk, gradient->staleness);
    assert(!overtaken || gradient->base != NULL);
    const struct kernels_compensation what = {
        .count = chunk->count,
        .sum = gradient->sum,
        .scale = update_scale(job, gradient->examples, 1),
        .now = chunk->values->data,
        .base = overtaken ? gradient->base : NULL,
        .mean_square = job->compensation_adapts ? chunk->slots[chunk->plan->slots.count - 1] : NULL,
        .into = chunk->sum,
    };
    compensation_apply(job, &what);
    return overtaken ? chunk->sum : gradient->sum;
}

bool group_closes(const struct chunk *chunk)
{
    const struct job *job = &chunk->plan->job;
    return !job_accumulates(job) || chunk->pending.closes ||
           chunk->pending.members + 1 == job->accumulate || job_closes_at(job, chunk->batches + 1);
}

/* Add a gradient to the open group's sum. */
static void hold(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    struct pending *pending = &chunk->pending;
    const float *sum = compensated(chunk, gradient);
    if (pending->examples == 0)
        memcpy(pending->sum, sum, chunk->count * sizeof *sum);
    else
        kernels_add(pending->sum, sum, chunk->count);
    pending->examples += gradient->examples;
    pending->gradients++;
    if (gradient->staleness > pending->staleness)
        pending->staleness = gradient->staleness;
}

/* The caller counts its last batch. */
static enum status apply_held(struct chunk *chunk)
{
    const struct pending pending = chunk->pending;
    enum status status = STATUS_OK;
    if (pending.examples == 0)
        chunk_skip(chunk);
    else
        status = chunk_apply(chunk, &(struct chunk_gradient){.sum = pending.sum,
                                                             .examples = pending.examples,
                                                             .gradients = pending.gradients,
                                                             .staleness = pending.staleness});
    chunk->pending = (struct pending){.sum = pending.sum};
    return status;
}

static enum status accumulate(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    bool closes = group_closes(chunk);
    assert(!gradient->keep_previous);
    if (gradient->sum != NULL)
        hold(chunk, gradient);
    chunk->pending.members++;
    if (closes)
        return apply_held(chunk);
    chunk->batches++;
    return STATUS_OK;
}

enum status group_close(struct chunk *chunk)
{
    if (chunk->pending.members == 0)
        return STATUS_OK;
    chunk->batches--; /* The update counts it again. */
    enum status status = apply_held(chunk);
    if (status != STATUS_OK)
        chunk->batches++;
    return status;
}

enum status group_add(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    if (job_accumulates(&chunk->plan->job))
        return accumulate(chunk, gradient);
    if (gradient->sum == NULL) {
        chunk_skip(chunk);
        return STATUS_OK;
    }
    struct chunk_gradient alone = *gradient;
    alone.sum = compensated(chunk, gradient);
    alone.gradients = 1;
    return chunk_apply(chunk, &alone);
}
