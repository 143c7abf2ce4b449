/* timeline.c - counts what is left out of each set. */

#include "common/steps/timeline.h"

#include <assert.h>

static struct batch_range batch_in_epoch(const struct timeline *t, const struct job *job,
                                         uint64_t batch)
{
    return job_batch(job, t->epoch * job_steps_per_epoch(job) + batch);
}

void timeline_note(struct timeline *timeline, const struct job *job, uint64_t batch,
                   const struct leaf_set *set)
{
    struct timeline *t = timeline;
    struct batch_range range = batch_in_epoch(t, job, batch);
    struct node root = tree_root(range.leaves);
    assert(!t->closed && batch < job_steps_per_epoch(job));
    t->owed += range.leaves - leaf_set_count(set, root);
    t->owed_examples += range.examples - leaf_set_examples(set, job, range, root);
    t->closed = batch + 1 == job_steps_per_epoch(job);
}

uint64_t timeline_made_up(const struct timeline *timeline, const struct job *job)
{
    uint32_t leaves = job_leaves_max(job);
    return timeline->closed ? timeline->owed / leaves + (timeline->owed % leaves != 0) : 0;
}

uint64_t timeline_batches_end(const struct timeline *timeline, const struct job *job)
{
    return timeline->first + job_steps_per_epoch(job);
}

uint64_t timeline_epoch_end(const struct timeline *timeline, const struct job *job)
{
    return timeline_batches_end(timeline, job) + timeline_made_up(timeline, job);
}

uint64_t timeline_end(const struct timeline *timeline, const struct job *job)
{
    if (!job_requeues(job))
        return UINT64_MAX;
    if (!timeline->closed)
        return timeline_batches_end(timeline, job);
    bool last = timeline->epoch + 1 >= job_epochs(job);
    return timeline_epoch_end(timeline, job) + (last ? 0 : job_steps_per_epoch(job));
}

bool timeline_is_made_up(const struct timeline *timeline, const struct job *job, uint64_t step)
{
    return job_requeues(job) && step >= timeline_batches_end(timeline, job) &&
           step < timeline_epoch_end(timeline, job);
}

static struct batch_range made_up(const struct timeline *t, const struct job *job, uint64_t number)
{
    uint32_t most = job_leaves_max(job);
    uint64_t first = number * most, left = t->owed - first;
    uint32_t leaves = left < most ? (uint32_t)left : most;
    uint64_t examples = left > most ? (uint64_t)most * job->micro_batch
                                    : t->owed_examples - first * job->micro_batch;
    return (struct batch_range){t->epoch, first, (uint32_t)examples, leaves};
}

struct batch_range timeline_batch(const struct timeline *timeline, const struct job *job,
                                  uint64_t step)
{
    const struct timeline *t = timeline;
    if (!job_requeues(job))
        return job_batch(job, step);
    assert(step >= t->first && step < timeline_end(t, job));
    if (timeline_is_made_up(t, job, step))
        return made_up(t, job, step - timeline_batches_end(t, job));
    bool next = step >= timeline_batches_end(t, job);
    uint64_t batch = step - (next ? timeline_epoch_end(t, job) : t->first);
    return job_batch(job, (t->epoch + next) * job_steps_per_epoch(job) + batch);
}

bool timeline_ends(const struct timeline *timeline, const struct job *job, uint64_t step)
{
    if (!job_requeues(job))
        return job_closes_at(job, step + 1);
    return timeline->closed && step + 1 == timeline_epoch_end(timeline, job);
}

uint64_t timeline_progress(const struct timeline *timeline, const struct job *job, uint64_t had)
{
    uint64_t batches = job_steps_per_epoch(job), whole = had / job->batch;
    return timeline->epoch * batches + (whole < batches ? whole : batches - 1);
}

static bool allows_batch(const struct job *job, uint64_t step, const struct batch_range *said,
                         bool ends, uint64_t lag)
{
    if (!job_requeues(job)) {
        const struct batch_range batch = job_batch(job, step);
        return said->epoch == batch.epoch && said->leaves == batch.leaves &&
               said->examples == batch.examples && ends == job_closes_at(job, step + 1) && lag == 0;
    }
    uint64_t most = (uint64_t)said->leaves * job->micro_batch;
    return said->epoch < job_epochs(job) && said->leaves > 0 &&
           said->leaves <= job_leaves_max(job) && said->examples <= most &&
           said->examples > most - job->micro_batch && lag <= step;
}

bool timeline_allows(const struct job *job, uint64_t step, const struct batch_range *batch,
                     const struct leaf_set *set, bool ends, uint64_t lag)
{
    if (step >= job_steps_most(job) || !allows_batch(job, step, batch, ends, lag))
        return false;
    const struct node behind = {batch->leaves, TREE_LEAVES_MAX - batch->leaves};
    return leaf_set_count(set, tree_root(batch->leaves)) > 0 && leaf_set_count(set, behind) == 0;
}

void timeline_go_on(struct timeline *timeline, const struct job *job)
{
    assert(timeline->closed);
    *timeline =
        (struct timeline){.epoch = timeline->epoch + 1, .first = timeline_epoch_end(timeline, job)};
}
