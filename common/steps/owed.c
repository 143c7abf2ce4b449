/* owed.c - what is left out of each set; and runs of it. */

#include "common/steps/owed.h"

#include <stdlib.h>
#include <string.h>

static uint32_t batch_leaves(const struct job *job, uint64_t epoch, uint64_t batch)
{
    return job_batch(job, epoch * job_steps_per_epoch(job) + batch).leaves;
}

enum status owed_list(const struct timeline *timeline, const struct job *job, const void *list,
                      size_t bytes, struct owed_leaf **owed, size_t *count)
{
    uint64_t batches = job_steps_per_epoch(job);
    struct leaf_sets sets;
    struct leaf_set set;
    *owed = NULL;
    *count = 0;
    if (timeline->owed == 0)
        return STATUS_OK;
    if (!leaf_sets_open(&sets, list, bytes))
        return STATUS_INVALID;
    struct owed_leaf *room = calloc(timeline->owed, sizeof *room);
    if (room == NULL)
        return STATUS_MEMORY;
    uint64_t had = 0, batch = 0;
    while (batch < batches && leaf_sets_next(&sets, &set)) {
        if (sets.step - 1 < timeline->first)
            continue;
        uint32_t leaves = batch_leaves(job, timeline->epoch, batch);
        for (uint32_t leaf = 0; leaf < leaves; leaf++)
            if (!leaf_set_has(&set, leaf) && had++ < timeline->owed)
                room[had - 1] = (struct owed_leaf){batch, leaf};
        batch++;
    }
    if (batch < batches || had != timeline->owed) {
        free(room);
        return STATUS_INVALID;
    }
    *owed = room;
    *count = had;
    return STATUS_OK;
}

/* --- for a worker -------------------------------------------------------------------------- */

static size_t run_length(const struct owed_leaf *owed, size_t count)
{
    size_t length = 1;
    while (length < count && owed[length].batch == owed[0].batch &&
           owed[length].leaf == owed[0].leaf + length)
        length++;
    return length;
}

size_t owed_put(uint8_t *to, const struct owed_leaf *owed, size_t count, uint64_t *batch)
{
    uint8_t run[OWED_RUN_BYTES_MAX];
    size_t used = 0;
    for (size_t i = 0, length; i < count; i += length) {
        length = run_length(owed + i, count - i);
        size_t bytes = varint_put(run, owed[i].batch - *batch);
        bytes += varint_put(run + bytes, owed[i].leaf);
        bytes += varint_put(run + bytes, length);
        if (to != NULL)
            memcpy(to + used, run, bytes);
        used += bytes;
        *batch = owed[i].batch;
    }
    return used;
}

bool owed_take(struct varint_input *input, const struct job *job, uint64_t epoch,
               struct owed_leaf *owed, size_t count, uint64_t *batch)
{
    uint64_t batches = job_steps_per_epoch(job), further, leaf, length;
    for (size_t had = 0; had < count;) {
        if (!varint_take(input, &further) || !varint_take(input, &leaf) ||
            !varint_take(input, &length) || further >= batches - *batch || length == 0 ||
            length > count - had)
            return false;
        *batch += further;
        uint32_t leaves = batch_leaves(job, epoch, *batch);
        if (leaf >= leaves || length > leaves - leaf)
            return false;
        for (uint64_t i = 0; i < length; i++)
            owed[had++] = (struct owed_leaf){*batch, (uint32_t)(leaf + i)};
    }
    return true;
}
