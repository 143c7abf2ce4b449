/* step_shape.c - the examples of leaves, by job.h and leaf_set.h. */

#include "common/steps/step_shape.h"

struct step_shape step_shape_of(const struct job *job, uint64_t step, const struct leaf_set *set)
{
    return (struct step_shape){.step = step, .batch = job_batch(job, step), .set = set};
}

struct step_shape step_shape_in(const struct job *job, uint64_t step, const struct frame *sets,
                                struct leaf_set *set)
{
    bool known = sets != NULL && leaf_sets_find(sets->data, sets->bytes, step, set);
    return step_shape_of(job, step, known ? set : NULL);
}

uint32_t step_shape_examples(const struct step_shape *shape, const struct job *job,
                             struct node node)
{
    return leaf_set_examples(shape->set, job, shape->batch, node);
}

uint32_t step_shape_leaf(const struct step_shape *shape, const struct job *job, uint32_t leaf,
                         uint64_t *first)
{
    *first = shape->batch.first + (uint64_t)leaf * job->micro_batch;
    return job_node_examples(job, shape->batch, leaf, 1);
}
