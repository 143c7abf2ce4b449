/* async.c - asynchronous training, one update a batch:
 *
 *     gradient of batch b -> had it? a duplicate : one update, whatever has been made meanwhile
 *
 * Values are given as they are, at once. A chunk remembers which batches it has had (batch_set.h),
 * so that each counts once however often it is leased. */

#include "ps/mode/shard_mode.h"
#include "ps/shard/batch_set.h"

struct async_shard {
    struct batch_set batches; /* That this chunk has had, or left out. */
    bool taken;               /* A gradient waits to be applied: `update`, of `batch`. */
    struct update update;
    uint64_t batch;
};

static struct async_shard *state_of(const struct shard *shard)
{
    return shard->state;
}

static void async_open(struct shard *shard)
{
    batch_set_init(&state_of(shard)->batches, shard->chunk.version);
}

static const char *async_fault(const struct job *job, const struct message_exchange *exchange)
{
    struct batch_range batch = job_batch(job, exchange->step);
    if (exchange->skip)
        return NULL;
    if (!tree_has(batch.leaves, exchange->node))
        return "not a node of the step's tree";
    if (exchange->node.leaf_count != batch.leaves)
        return "a part of a batch, where batches come whole";
    if (!exchange->retry && exchange->examples != batch.examples)
        return "a wrong number of examples";
    return NULL;
}

static enum verdict async_judge(const struct shard *shard, const struct message_exchange *exchange)
{
    const struct batch_set *batches = &state_of(shard)->batches;
    if (batch_set_has(batches, exchange->step))
        return VERDICT_DUPLICATE;
    return batch_set_can_add(batches, exchange->step) ? VERDICT_NONE : VERDICT_REJECTED;
}

static enum status async_take(struct shard *shard, const struct message_exchange *exchange,
                              struct frame *gradient, enum verdict *verdict)
{
    struct async_shard *state = state_of(shard);
    state->taken = true;
    state->batch = exchange->step;
    state->update = (struct update){.gradient = gradient, .examples = exchange->examples};
    *verdict = gradient != NULL ? VERDICT_APPLIED : VERDICT_REJECTED;
    return STATUS_OK;
}

static enum fate async_sent_before(const struct shard *shard,
                                   const struct message_exchange *exchange)
{
    return batch_set_has(&state_of(shard)->batches, exchange->step) ? FATE_HAD : FATE_MISSING;
}

static bool async_next_update(struct shard *shard, struct update *update)
{
    struct async_shard *state = state_of(shard);
    if (!state->taken)
        return false;
    state->taken = false;
    *update = state->update;
    return true;
}

static void async_applied(struct shard *shard, const struct update *update)
{
    struct async_shard *state = state_of(shard);
    batch_set_add(&state->batches, state->batch);
    frame_release(update->gradient);
}

static enum when async_answer(const struct shard *shard, const struct wish *wish,
                              struct reply *reply)
{
    (void)wish;
    *reply = (struct reply){shard->chunk.values, shard->chunk.version};
    return WHEN_NOW;
}

static bool async_is_behind(const struct shard *shard, uint64_t step)
{
    return state_of(shard)->batches.low < step;
}

static uint64_t async_reached(const struct shard *shard)
{
    return batch_set_end(&state_of(shard)->batches);
}

const struct shard_mode shard_async = {
    .state_bytes = sizeof(struct async_shard),
    .open = async_open,
    .fault = async_fault,
    .judge = async_judge,
    .take = async_take,
    .sent_before = async_sent_before,
    .next_update = async_next_update,
    .applied = async_applied,
    .answer = async_answer,
    .is_behind = async_is_behind,
    .reached = async_reached,
};
