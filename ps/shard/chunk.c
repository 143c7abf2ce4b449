/* chunk.c - initial values, updates and reloading of one chunk. Its core is the choice of the
 * buffer for the next version. */

#include "ps/shard/chunk.h"
#include "common/base/invariant.h"
#include "common/job/update_sum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Two places in the shared memory a chunk, chunk after chunk. */
static void take_lent(struct chunk *chunk, const struct chunk_memory *memory)
{
    const struct partition *partition = &chunk->plan->partition;
    uint64_t bytes = chunk->count * sizeof(float);
    uint64_t shard = partition_server_bytes(partition, chunk->plan->server);
    uint64_t place = partition->chunks[chunk->index].place * sizeof(float);
    for (uint64_t i = 0; i < 2; i++)
        chunk->lent[i] = memory->lend(memory->context, i * shard + place, bytes);
    if (chunk->lent[0] == NULL || chunk->lent[1] == NULL) {
        frame_release(chunk->lent[0]);
        frame_release(chunk->lent[1]);
        chunk->lent[0] = chunk->lent[1] = NULL;
    }
}

/* Memory for sums of gradients. */
static enum status make_sums(struct chunk *chunk)
{
    const struct job *job = &chunk->plan->job;
    bool moved = job->delay_compensation > 0.0f, pending = job_accumulates(job);
    if (moved)
        chunk->sum = aligned_alloc(64, chunk->count * sizeof(float));
    if (pending)
        chunk->pending.sum = aligned_alloc(64, chunk->count * sizeof(float));
    return (moved && chunk->sum == NULL) || (pending && chunk->pending.sum == NULL) ? STATUS_MEMORY
                                                                                    : STATUS_OK;
}

static bool place_slot(struct chunk *chunk, uint32_t slot)
{
    struct frame *frame = frame_create(chunk->count * sizeof(float));
    if (frame == NULL)
        return false;
    frame_release(chunk->slot_frames[slot]);
    chunk->slot_frames[slot] = frame;
    chunk->slots[slot] = frame->data;
    return true;
}

enum status chunk_init(struct chunk *chunk, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory)
{
    const struct chunk_range *range = &plan->partition.chunks[index];
    memset(chunk, 0, sizeof *chunk);
    chunk->plan = plan;
    chunk->index = index;
    chunk->first = range->first;
    chunk->count = range->count;
    if (memory != NULL)
        take_lent(chunk, memory);
    chunk->values = chunk->lent[0] != NULL ? frame_retain(chunk->lent[0])
                                           : frame_create(range->count * sizeof(float));
    if (chunk->values == NULL)
        return STATUS_MEMORY;
    for (uint32_t slot = 0; slot < plan->slots.count; slot++)
        if (!place_slot(chunk, slot))
            return STATUS_MEMORY;
    return make_sums(chunk);
}

void chunk_free(struct chunk *chunk)
{
    frame_release(chunk->values);
    frame_release(chunk->previous);
    frame_release(chunk->spare);
    frame_release(chunk->lent[0]);
    frame_release(chunk->lent[1]);
    for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
        frame_release(chunk->slot_frames[slot]);
    free(chunk->sum);
    free(chunk->pending.sum);
}

void chunk_initialize(struct chunk *chunk)
{
    const struct job *job = &chunk->plan->job;
    variables_initialize(job->variables, job->variable_count, job->seed, chunk->plan->given,
                         chunk->first, chunk->count, chunk->values->data);
    for (uint32_t slot = 0; slot < chunk->plan->slots.count; slot++) {
        float first = job_slot_initial(job, slot);
        for (uint64_t i = 0; i < chunk->count; i++)
            chunk->slots[slot][i] = first;
    }
    chunk_stand(chunk, 0, 0);
}

void chunk_stand(struct chunk *chunk, uint64_t batches, uint64_t version)
{
    chunk->batches = batches;
    chunk->version = version;
    chunk->pending = (struct pending){.sum = chunk->pending.sum};
}

struct frame *chunk_keep(const struct chunk *chunk)
{
    if (chunk->values != chunk->lent[0] && chunk->values != chunk->lent[1])
        return frame_retain(chunk->values);
    struct frame *copy = frame_create(chunk->values->bytes);
    if (copy != NULL)
        memcpy(copy->data, chunk->values->data, copy->bytes);
    return copy;
}

struct frame *chunk_last(const struct chunk *chunk, uint32_t array)
{
    return frame_retain(array == 0 ? chunk->values : chunk->slot_frames[array - 1]);
}

float *chunk_array(struct chunk *chunk, uint32_t array)
{
    return array == 0 ? chunk->values->data : chunk->slots[array - 1];
}

static struct frame *private_frame(struct chunk *chunk)
{
    struct frame *frame = chunk->spare;
    chunk->spare = NULL;
    if (frame != NULL && frame_is_writable(frame))
        return frame;
    frame_release(frame); /* A connection still sends it and holds it. */
    return frame_create(chunk->count * sizeof(float));
}

/* A frame without readers, for the next version. */
static struct frame *next_frame(struct chunk *chunk, bool keep_previous)
{
    struct frame *lent = chunk->lent[(chunk->version + 1) % 2];
    if (lent != NULL && frame_is_unique(lent)) /* Neither the values nor the previous ones. */
        return frame_retain(lent);
    if (!keep_previous && frame_is_writable(chunk->values))
        return chunk->values;
    return private_frame(chunk);
}

static void keep_spare(struct chunk *chunk, struct frame *frame)
{
    bool lent = frame == chunk->lent[0] || frame == chunk->lent[1];
    if (chunk->spare == NULL && !lent)
        chunk->spare = frame;
    else
        frame_release(frame);
}

static bool may_write_slots(const struct chunk *chunk)
{
    for (uint32_t slot = 0; slot < chunk->plan->slots.count; slot++)
        if (!frame_is_writable(chunk->slot_frames[slot]))
            return false;
    return true;
}

enum status chunk_apply(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    assert(may_write_slots(chunk)); /* No update follows the last snapshot. */
    struct frame *next = next_frame(chunk, gradient->keep_previous);
    if (next == NULL)
        return STATUS_MEMORY;
    const struct update_sum what = {
        .version = chunk->version,
        .batches = chunk->batches,
        .staleness = gradient->staleness,
        .examples = gradient->examples,
        .gradients = gradient->gradients,
        .rate = chunk->pending.rate,
        .first = chunk->first,
        .count = chunk->count,
        .sum = gradient->sum,
        .values_in = chunk->values->data,
        .values_out = next->data,
        .slots = chunk->slots,
    };
    update_by_sum(&chunk->plan->job, chunk->plan->offsets, &what);

    if (next != chunk->values) {
        chunk_drop_previous(chunk);
        if (gradient->keep_previous)
            chunk->previous = chunk->values;
        else
            keep_spare(chunk, chunk->values);
        chunk->values = next;
    }
    chunk->version++;
    chunk->batches++;
    return STATUS_OK;
}

uint64_t chunk_staleness(const struct chunk *chunk, uint64_t base)
{
    return chunk->version > base ? chunk->version - base : 0;
}

void chunk_skip(struct chunk *chunk)
{
    chunk->version++;
    chunk->batches++;
}

enum status chunk_renew(struct chunk *chunk)
{
    chunk_drop_previous(chunk);
    for (uint32_t slot = 0; slot < chunk->plan->slots.count; slot++)
        if (!frame_is_writable(chunk->slot_frames[slot]) && !place_slot(chunk, slot))
            return STATUS_MEMORY;
    if (frame_is_writable(chunk->values))
        return STATUS_OK;
    struct frame *fresh = private_frame(chunk);
    if (fresh == NULL)
        return STATUS_MEMORY;
    keep_spare(chunk, chunk->values);
    chunk->values = fresh;
    return STATUS_OK;
}

void chunk_recycle(struct chunk *chunk, struct frame *values)
{
    if (values == chunk->values)
        frame_release(values);
    else
        keep_spare(chunk, values);
}

void chunk_drop_previous(struct chunk *chunk)
{
    if (chunk->previous == NULL)
        return;
    keep_spare(chunk, chunk->previous);
    chunk->previous = NULL;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("chunk", condition, rule)

void chunk_check(const struct chunk *chunk)
{
    const struct partition *partition = &chunk->plan->partition;
    uint64_t bytes = chunk->count * sizeof(float);
    RULE(chunk->index < partition->chunk_count &&
             partition->chunks[chunk->index].server == chunk->plan->server,
         "it is one of its server's");
    RULE(partition->chunks[chunk->index].first == chunk->first &&
             partition->chunks[chunk->index].count == chunk->count,
         "it has the place that the partition gives it");
    RULE(chunk->batches <= chunk->plan->job.steps, "no batch is after the last step");
    RULE(chunk->version <= chunk->batches, "no update is made of nothing");
    RULE(chunk->version == chunk->batches || job_accumulates(&chunk->plan->job),
         "every batch makes an update where none waits for others");
    RULE((chunk->pending.sum != NULL) == job_accumulates(&chunk->plan->job),
         "it has room for a sum of gradients where they are summed up");
    RULE(chunk->pending.members == 0 || chunk->pending.members < chunk->plan->job.accumulate,
         "a group that is full is applied");
    RULE(chunk->values != NULL && chunk->values->bytes == bytes, "it has values, one an element");
    RULE(chunk->previous == NULL || chunk->previous->bytes == bytes,
         "the version before is as large");
    RULE(chunk->previous == NULL || chunk->version > 0, "before the first version there is none");
    RULE(chunk->previous != chunk->values && chunk->spare != chunk->values,
         "what is written next is not what is read now");
    RULE(chunk->spare == NULL || chunk->spare != chunk->previous,
         "what is written next is not the version before");
    RULE((chunk->lent[0] == NULL) == (chunk->lent[1] == NULL), "memory is lent for both or none");
    for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
        RULE((chunk->slots[slot] != NULL) == (slot < chunk->plan->slots.count) &&
                 (chunk->slot_frames[slot] != NULL) == (chunk->slots[slot] != NULL),
             "it has the job's slots, and no other");
    RULE((chunk->sum != NULL) == (chunk->plan->job.delay_compensation > 0.0f),
         "it has room for a gradient that is moved where that is done");
}
