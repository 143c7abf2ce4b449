/* group.c - compensation on arrival, then the update. */

#include "ps/shard/group.h"

#include <assert.h>

#include "common/job/compensation.h"

bool group_needs_base(const struct chunk *chunk, uint64_t staleness)
{
    return chunk->plan->job.delay_compensation > 0.0f && staleness > 0;
}

/* The sum to be applied: the gradient's own, or another in the chunk's room for it. */
static const float *compensated(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    const struct job *job = &chunk->plan->job;
    bool overtaken = group_needs_base(chunk, gradient->staleness);
    assert(!overtaken || gradient->base != NULL);
    const struct kernels_compensation what = {
        .count = chunk->count,
        .sum = gradient->sum,
        .scale = 1.0f / (float)gradient->examples,
        .now = chunk->values->data,
        .base = overtaken ? gradient->base : NULL,
        .mean_square = job->compensation_adapts ? chunk->slots[chunk->plan->slots.count - 1] : NULL,
        .into = chunk->sum,
    };
    compensation_apply(job, &what);
    return overtaken ? chunk->sum : gradient->sum;
}

enum status group_add(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    if (gradient->sum == NULL) {
        chunk_skip(chunk);
        return STATUS_OK;
    }
    return chunk_apply(chunk, &(struct chunk_update){
                                  .gradient = compensated(chunk, gradient),
                                  .examples = gradient->examples,
                                  .staleness = gradient->staleness,
                                  .keep_previous = gradient->keep_previous,
                              });
}
