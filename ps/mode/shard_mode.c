/* shard_mode.c - the servers' table of each mode. */

#include "ps/mode/shard_mode.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/invariant.h"

static const struct shard_mode *const tables[MODE_COUNT] = {
#define MODE(number, text, shard, work, follow, invariants, ...) [MODE_##number] = &shard_##shard,
#include "common/job/mode_rows.inc"
#undef MODE
};

const struct shard_mode *shard_mode_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT);
    return tables[job->mode];
}

enum status shard_init(struct shard *shard, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory)
{
    shard->rules = shard_mode_of(&plan->job);
    shard->state = calloc(1, shard->rules->state_bytes);
    if (shard->state == NULL)
        return STATUS_MEMORY;
    return chunk_init(&shard->chunk, plan, index, memory);
}

void shard_free(struct shard *shard)
{
    if (shard->state != NULL)
        shard->rules->free(shard);
    free(shard->state);
    chunk_free(&shard->chunk);
}

void shard_check(const struct shard *shard)
{
    chunk_check(&shard->chunk);
    INVARIANT("shard", shard->rules == shard_mode_of(&shard->chunk.plan->job),
              "it follows the rules of the job's mode");
    shard->rules->check(shard);
}
