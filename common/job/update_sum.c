/* update_sum.c - the rule's arguments, from the job and the place of the sum. */

#include "common/job/update_sum.h"

#include <assert.h>

#include "common/job/update.h"

float update_scale(const struct job *job, uint32_t examples, uint32_t gradients)
{
    assert(examples > 0);
    if (job->loss_scale == LOSS_SCALE_EXAMPLES)
        return 1.0f / (float)examples;
    assert(gradients > 0);
    return 1.0f / (float)((uint64_t)gradients * job->batch);
}

void update_by_sum(const struct job *job, const uint64_t *offsets, const struct update_sum *what)
{
    float rate = schedule_learning_rate(&job->schedule, what->batches);
    uint32_t slots = optimizer_find(job->optimizer.name)->slot_count;
    if (what->rate > 0)
        rate *= what->rate;
    struct optimizer_update update = {
        .t = what->version + 1,
        .learning_rate =
            staleness_rate_of(job->staleness_rate, rate, what->staleness, job->worker_count),
        .mean_scale = 1.0f / (float)what->examples,
        .scale = update_scale(job, what->examples, what->gradients),
        .count = what->count,
        .gradient = what->sum,
        .values_in = what->values_in,
        .values_out = what->values_out,
    };
    for (uint32_t slot = 0; slot < slots; slot++)
        update.slots[slot] = what->slots[slot];
    update_apply(job, offsets, what->first, &update);
}
