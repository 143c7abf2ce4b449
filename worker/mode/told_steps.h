/* told_steps.h - what START tells of the steps to come: which leaves of them count, as far as that is decided,
 * and, where what is dropped is requeued (common/steps/timeline.h), which steps are made of what.
 *
 * Threads: one owner. Ownership: the list's frame and what is owed are its own; shapes refer to both, and are
 * good until the next is asked for. */

#ifndef WORKER_MODE_TOLD_STEPS_H
#define WORKER_MODE_TOLD_STEPS_H

#include "common/base/frame.h"
#include "common/steps/owed.h"
#include "common/steps/timeline.h"
#include "common/wire/message.h"

struct told_steps {
    const struct job *job;
    struct frame *sets; /* A list (leaf_set.h), or NULL; what is owed is behind it. */
    struct message_start start;
    struct owed_leaf
        *owed; /* [job_leaves_max] Of the step asked for last, where this worker's run is. */
    struct leaf_set set; /* Of that step. */
};

/* The timeline that START tells of, and the first step that it tells nothing of. */
struct timeline told_steps_timeline(const struct message_start *start);
uint64_t told_steps_end(const struct message_start *start, const struct job *job);
/* Whether that can be. */
bool told_steps_fit(const struct message_start *start, const struct job *job);

/* A START that fits has come; takes over the reference to its list. STATUS_MEMORY. */
enum status told_steps_take(struct told_steps *told, const struct job *job,
                            const struct message_start *start, struct frame *sets);
void told_steps_free(struct told_steps *told);

/* Of a step that START tells of. STATUS_INVALID: it does not tell of which leaves it is made. */
enum status told_steps_shape(struct told_steps *told, uint64_t step, struct step_shape *shape);

#endif
