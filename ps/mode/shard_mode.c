/* shard_mode.c - the servers' table of each mode. */

#include "ps/mode/shard_mode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"

static const struct shard_mode *const tables[MODE_COUNT] = {
    [MODE_ASYNC] = &shard_async,         [MODE_SYNC] = &shard_sync,     [MODE_SSP] = &shard_async,
    [MODE_ALLREDUCE] = &shard_allreduce, [MODE_BACKUP] = &shard_backup,
};

static bool is_whole(const struct shard_mode *mode)
{
    bool closes = mode->judges_late;
    return (mode->close_step != NULL) == closes && (mode->left_out != NULL) == closes &&
           mode->open != NULL && mode->fault != NULL && mode->judge != NULL && mode->take != NULL &&
           mode->sent_before != NULL && mode->next_update != NULL && mode->applied != NULL &&
           mode->answer != NULL && mode->taken != NULL && mode->updated != NULL;
}

const struct shard_mode *shard_mode_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT);
    const struct shard_mode *mode = tables[job->mode];
    assert(mode != NULL && is_whole(mode));
    return mode;
}

enum status shard_init(struct shard *shard, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory)
{
    memset(shard, 0, sizeof *shard);
    shard->rules = shard_mode_of(&plan->job);
    if (shard->rules->state_bytes > 0 &&
        (shard->state = calloc(1, shard->rules->state_bytes)) == NULL)
        return STATUS_MEMORY;
    return chunk_init(&shard->chunk, plan, index, memory);
}

void shard_free(struct shard *shard)
{
    if (shard->state != NULL && shard->rules->close != NULL)
        shard->rules->close(shard);
    free(shard->state);
    shard->state = NULL;
    chunk_free(&shard->chunk);
}

void shard_check(const struct shard *shard)
{
    chunk_check(&shard->chunk);
    INVARIANT("shard", shard->rules == shard_mode_of(&shard->chunk.plan->job),
              "it follows the rules of the job's mode");
    INVARIANT("shard", (shard->state != NULL) == (shard->rules->state_bytes > 0),
              "it has the block of its mode, if that has one");
    if (shard->rules->check != NULL)
        shard->rules->check(shard);
}
