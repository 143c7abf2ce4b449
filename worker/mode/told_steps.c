/* told_steps.c - reads the list again for each step: it has few sets. */

#include "worker/mode/told_steps.h"

void told_steps_free(struct told_steps *told)
{
    frame_release(told->sets);
    *told = (struct told_steps){.sets = NULL};
}

void told_steps_take(struct told_steps *told, struct frame *sets)
{
    told_steps_free(told);
    told->sets = sets;
}

struct step_shape told_steps_shape(struct told_steps *told, const struct job *job, uint64_t step)
{
    const struct frame *sets = told->sets;
    bool any = sets != NULL && leaf_sets_find(sets->data, sets->bytes, step, &told->set);
    return step_shape_of(job, step, any ? &told->set : NULL);
}
