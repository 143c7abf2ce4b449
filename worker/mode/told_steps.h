/* told_steps.h - what START tells of the steps to come: which leaves of them count, as far as that is
 * decided.
 *
 * Threads: one owner. Ownership: the list's frame is its own; a shape refers to it, and is good until the
 * next is asked for. */

#ifndef WORKER_MODE_TOLD_STEPS_H
#define WORKER_MODE_TOLD_STEPS_H

#include "common/base/frame.h"
#include "common/job/step_shape.h"

struct told_steps {
    struct frame *sets;  /* A list (leaf_set.h), or NULL. */
    struct leaf_set set; /* Of the step asked for last. */
};

/* A START has come, with its list or NULL; takes over the reference. */
void told_steps_take(struct told_steps *told, struct frame *sets);
void told_steps_free(struct told_steps *told);

struct step_shape told_steps_shape(struct told_steps *told, const struct job *job, uint64_t step);

#endif
