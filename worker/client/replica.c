/* replica.c - slots beside the parameters. Steps are versions here, because nothing is left out. */

#include "worker/client/replica.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/replica_hash.h"
#include "common/job/update_sum.h"

enum status replica_init(struct replica *replica, const struct job *job,
                         const struct partition *partition, float *values)
{
    struct replica *r = replica;
    *r = (struct replica){
        .job = job, .partition = partition, .values = values, .slot_count = job_slots(job).count};
    r->chunks = calloc(partition->chunk_count, sizeof *r->chunks);
    r->offsets = calloc(job->variable_count, sizeof *r->offsets);
    bool whole = r->chunks != NULL && r->offsets != NULL;
    for (uint32_t slot = 0; slot < r->slot_count && whole; slot++) {
        r->slots[slot] = aligned_alloc(64, partition->elements * sizeof(float));
        whole = r->slots[slot] != NULL;
    }
    if (whole) {
        variables_layout(job->variables, job->variable_count, r->offsets);
        return STATUS_OK;
    }
    replica_free(r);
    return STATUS_MEMORY;
}

void replica_free(struct replica *replica)
{
    for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
        free(replica->slots[slot]);
    free(replica->offsets);
    free(replica->chunks);
    memset(replica, 0, sizeof *replica);
}

void replica_forget(struct replica *replica)
{
    memset(replica->chunks, 0, replica->partition->chunk_count * sizeof *replica->chunks);
}

void replica_begin(struct replica *replica)
{
    for (uint32_t i = 0; i < replica->partition->chunk_count; i++)
        replica->chunks[i].arrays = 0;
}

bool replica_has(const struct replica *replica, uint32_t chunk, uint64_t version)
{
    return replica->chunks[chunk].held == version + 1;
}

/* Where the chunk's part of each slot begins. */
static void slots_of(const struct replica *replica, uint32_t chunk, float *slots[SLOTS_MAX])
{
    for (uint32_t slot = 0; slot < replica->slot_count; slot++)
        slots[slot] = replica->slots[slot] + replica->partition->chunks[chunk].first;
}

void replica_apply(struct replica *replica, uint32_t chunk, uint64_t version, const float *sum)
{
    const struct chunk_range *range = &replica->partition->chunks[chunk];
    assert(replica_has(replica, chunk, version));
    float *slots[SLOTS_MAX];
    slots_of(replica, chunk, slots);
    const struct update_sum what = {
        .version = version,
        .batches = version,
        .examples = job_batch(replica->job, version).examples,
        .gradients = 1,
        .first = range->first,
        .count = range->count,
        .sum = sum,
        .values_in = replica->values + range->first,
        .values_out = replica->values + range->first,
        .slots = slots,
    };
    update_by_sum(replica->job, replica->offsets, &what);
    replica->chunks[chunk].held++;
}

bool replica_put(struct replica *replica, uint32_t chunk, uint32_t array, uint64_t version,
                 const float *data)
{
    const struct chunk_range *range = &replica->partition->chunks[chunk];
    struct replica_chunk *held = &replica->chunks[chunk];
    uint32_t all = (1u << (1 + replica->slot_count)) - 1;
    assert(array <= replica->slot_count);
    float *to = array == 0 ? replica->values : replica->slots[array - 1];
    memcpy(to + range->first, data, range->count * sizeof *data);
    held->held = 0;
    held->arrays |= 1u << array;
    if (held->arrays != all)
        return false;
    *held = (struct replica_chunk){.held = version + 1};
    return true;
}

uint64_t replica_hash_of(const struct replica *replica, uint32_t chunk)
{
    const struct chunk_range *range = &replica->partition->chunks[chunk];
    float *slots[SLOTS_MAX];
    slots_of(replica, chunk, slots);
    return replica_hash(replica->values + range->first, slots, replica->slot_count, range->count);
}
