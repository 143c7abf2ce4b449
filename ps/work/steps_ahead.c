/* steps_ahead.c - the bytes are counted before they are written. */

#include "ps/work/steps_ahead.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_AT_LEAST 2

void steps_ahead_free(struct steps_ahead *ahead)
{
    free(ahead->owed);
    *ahead = (struct steps_ahead){.step = 0};
}

static const struct job *job_of(const struct steps_ahead *ahead)
{
    return ahead->quorum->job;
}

/* What is owed is known once, when its epoch's last set is. */
static enum status look_at_owed(struct steps_ahead *a)
{
    const struct timeline *t = &a->timeline;
    if (!t->closed || (a->owed != NULL && a->owed_epoch == t->epoch && a->owed_count == t->owed))
        return STATUS_OK;
    free(a->owed);
    a->owed = NULL;
    a->owed_count = 0;
    struct frame *sets = quorum_list(a->quorum, t->first, timeline_batches_end(t, job_of(a)));
    if (sets == NULL)
        return STATUS_MEMORY;
    enum status status = owed_list(t, job_of(a), sets->data, sets->bytes, &a->owed, &a->owed_count);
    frame_release(sets);
    a->owed_epoch = t->epoch;
    return status;
}

/* The bytes of a worker's part of a step; written unless `to` is NULL. */
static size_t put_part(const struct steps_ahead *a, uint64_t step, uint32_t place, uint8_t *to,
                       uint64_t *batch)
{
    struct batch_range range = timeline_batch(&a->timeline, job_of(a), step);
    struct node run = tree_run(range.leaves, a->members, place);
    return owed_put(to, a->owed + range.first + run.first_leaf, run.leaf_count, batch);
}

/* Of the steps [from, end) for this worker. */
static size_t put_parts(const struct steps_ahead *a, uint64_t end, uint32_t place, uint8_t *to)
{
    size_t used = 0;
    uint64_t batch = 0;
    for (uint64_t step = a->from; step < end; step++)
        used += put_part(a, step, place, to != NULL ? to + used : NULL, &batch);
    return used;
}

/* Up to which step it fits for this worker. */
static uint64_t end_for(const struct steps_ahead *a, uint64_t most, uint32_t place)
{
    size_t used = 0;
    uint64_t batch = 0, step = a->from;
    for (; step < most; step++) {
        used += put_part(a, step, place, NULL, &batch);
        if (used > STEPS_AHEAD_BYTES && step >= a->from + STEPS_AT_LEAST)
            break;
    }
    return step;
}

enum status steps_ahead_look(struct steps_ahead *ahead, const struct quorum *quorum,
                             uint32_t members)
{
    struct steps_ahead *a = ahead;
    a->quorum = quorum;
    a->step = quorum->step;
    a->members = members;
    a->timeline = quorum_timeline(quorum);
    const struct timeline *t = &a->timeline;
    enum status status = look_at_owed(a);
    if (status != STATUS_OK)
        return status;
    uint64_t batches_end = timeline_batches_end(t, job_of(a));
    uint64_t epoch_end = timeline_epoch_end(t, job_of(a));
    a->from = a->step > batches_end ? a->step - 1 : batches_end;
    a->end = t->closed ? epoch_end : batches_end;
    for (uint32_t place = 0; t->closed && place < members; place++)
        a->end = end_for(a, a->end, place);
    a->known_end = a->end == epoch_end ? timeline_end(t, job_of(a)) : a->end;
    return STATUS_OK;
}

void steps_ahead_say(const struct steps_ahead *ahead, struct message_start *start)
{
    const struct timeline *t = &ahead->timeline;
    start->epoch = t->epoch;
    start->epoch_first = t->first;
    start->epoch_closed = t->closed;
    start->owed = t->closed ? t->owed : 0;
    start->owed_examples = t->closed ? t->owed_examples : 0;
    start->owed_from = ahead->from;
    start->owed_end = ahead->end;
}

struct frame *steps_ahead_put(const struct steps_ahead *ahead, const struct frame *sets,
                              uint32_t place)
{
    size_t bytes = put_parts(ahead, ahead->end, place, NULL);
    struct frame *frame = frame_create(sets->bytes + bytes);
    if (frame == NULL)
        return NULL;
    memcpy(frame->data, sets->data, sets->bytes);
    put_parts(ahead, ahead->end, place, (uint8_t *)frame->data + sets->bytes);
    return frame;
}
