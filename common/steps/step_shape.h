/* step_shape.h - a step as a worker computes it: its batch, and which of its leaves count.
 *
 * A process makes one for each step that it computes. Computing, timing and reporting use it.
 *
 * Threads: plain values; pure. Ownership: the set is another's. */

#ifndef COMMON_STEPS_STEP_SHAPE_H
#define COMMON_STEPS_STEP_SHAPE_H

#include <stdint.h>

#include "common/base/frame.h"
#include "common/job/job.h"
#include "common/steps/leaf_set.h"

struct step_shape {
    uint64_t step;
    struct batch_range batch;
    const struct leaf_set *set; /* The leaves that count; NULL: any may. */
    uint32_t refusals; /* Of the batch, by servers, as too stale; another one draws new times. */
};

struct step_shape step_shape_of(const struct job *job, uint64_t step, const struct leaf_set *set);
/* sets: a list (leaf_set.h) of those that are known, or NULL. The step's goes into *set. */
struct step_shape step_shape_in(const struct job *job, uint64_t step, const struct frame *sets,
                                struct leaf_set *set);

/* Of how many examples a node is, of those leaves that count. */
uint32_t step_shape_examples(const struct step_shape *shape, const struct job *job,
                             struct node node);

/* How many examples a leaf has: from *first on, in the order of the batch's epoch. */
uint32_t step_shape_leaf(const struct step_shape *shape, const struct job *job, uint32_t leaf,
                         uint64_t *first);

#endif
