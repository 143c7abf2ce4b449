/* told_steps.c - reads the list again for each step: it has few sets. */

#include "worker/mode/told_steps.h"

#include <stdlib.h>

struct timeline told_steps_timeline(const struct message_start *start)
{
    return (struct timeline){.epoch = start->epoch,
                             .first = start->epoch_first,
                             .closed = start->epoch_closed,
                             .owed = start->owed,
                             .owed_examples = start->owed_examples};
}

uint64_t told_steps_end(const struct message_start *start, const struct job *job)
{
    const struct timeline timeline = told_steps_timeline(start);
    if (!job_requeues(job))
        return UINT64_MAX;
    bool all = start->owed_end == timeline_epoch_end(&timeline, job);
    return all ? timeline_end(&timeline, job) : start->owed_end;
}

bool told_steps_fit(const struct message_start *start, const struct job *job)
{
    if (!job_requeues(job))
        return true;
    const struct timeline timeline = told_steps_timeline(start);
    uint64_t most = job_steps_per_epoch(job) * job_leaves_max(job);
    if (start->epoch >= job_epochs(job) || start->epoch_first >= job_steps_most(job) ||
        start->owed >= most || (!start->epoch_closed && start->owed > 0))
        return false;
    return start->owed_examples <= start->owed * job->micro_batch &&
           (start->owed == 0 || start->owed_examples > (start->owed - 1) * job->micro_batch) &&
           start->owed_from >= timeline_batches_end(&timeline, job) &&
           start->owed_from <= start->owed_end &&
           start->owed_end <= timeline_epoch_end(&timeline, job);
}

void told_steps_free(struct told_steps *told)
{
    frame_release(told->sets);
    free(told->owed);
    *told = (struct told_steps){.sets = NULL};
}

enum status told_steps_take(struct told_steps *told, const struct job *job,
                            const struct message_start *start, struct frame *sets)
{
    told_steps_free(told);
    told->job = job;
    told->sets = sets;
    told->start = *start;
    if (!job_requeues(job))
        return STATUS_OK;
    told->owed = calloc(job_leaves_max(job), sizeof *told->owed);
    return told->owed != NULL ? STATUS_OK : STATUS_MEMORY;
}

/* What this worker's runs of the made-up steps up to this one are made of lies one behind the other. */
static bool read_owed(struct told_steps *told, const struct timeline *timeline, uint64_t step)
{
    const struct message_start *start = &told->start;
    struct leaf_sets list;
    uint64_t batch = 0;
    if (told->sets == NULL || step < start->owed_from || step >= start->owed_end ||
        !leaf_sets_open(&list, told->sets->data, told->sets->bytes))
        return false;
    while (list.left > 0)
        if (!leaf_sets_next(&list, &told->set))
            return false;
    struct varint_input input = {.bytes = list.bytes, .count = list.bytes_left};
    for (uint64_t at = start->owed_from; at <= step; at++) {
        uint32_t leaves = timeline_batch(timeline, told->job, at).leaves;
        struct node run = tree_run(leaves, start->members, start->position);
        if (!owed_take(&input, told->job, start->epoch, told->owed + run.first_leaf, run.leaf_count,
                       &batch))
            return false;
    }
    return true;
}

enum status told_steps_shape(struct told_steps *told, uint64_t step, struct step_shape *shape)
{
    const struct timeline timeline = told_steps_timeline(&told->start);
    if (job_requeues(told->job) &&
        (step < timeline.first || step >= told_steps_end(&told->start, told->job)))
        return STATUS_INVALID;
    *shape = (struct step_shape){.step = step, .batch = timeline_batch(&timeline, told->job, step)};
    if (timeline_is_made_up(&timeline, told->job, step)) {
        if (!read_owed(told, &timeline, step))
            return STATUS_INVALID;
        shape->owed = told->owed;
    }
    if (told->sets != NULL && leaf_sets_find(told->sets->data, told->sets->bytes, step, &told->set))
        shape->set = &told->set;
    return STATUS_OK;
}
