/* step_shape.c - the examples of leaves, by job.h and leaf_set.h. */

#include "common/steps/step_shape.h"

struct step_shape step_shape_of(const struct job *job, uint64_t step, const struct leaf_set *set)
{
    return (struct step_shape){.step = step, .batch = job_batch(job, step), .set = set};
}

uint32_t step_shape_examples(const struct step_shape *shape, const struct job *job,
                             struct node node)
{
    return leaf_set_examples(shape->set, job, shape->batch, node);
}

uint32_t step_shape_leaf(const struct step_shape *shape, const struct job *job, uint32_t leaf,
                         uint64_t *first)
{
    const struct owed_leaf own = {shape->batch.first / job->batch, leaf};
    const struct owed_leaf *from = shape->owed != NULL ? &shape->owed[leaf] : &own;
    *first = from->batch * job->batch + (uint64_t)from->leaf * job->micro_batch;
    return job_node_examples(job, shape->batch, leaf, 1);
}
