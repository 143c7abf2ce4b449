/* allreduce.c - synchronous training whose workers make the updates too (MirroredStrategy,
 * Horovod):
 *
 *     node of step t -> aggregator -> root complete -> one update by the sum -> the sum to all
 *
 * Chunks, snapshots and generations are sync's; the answer differs. A worker with a replica of
 * the chunk at version t gets the sum of step t, as long as sync keeps the version before. A
 * worker without one gets values and slots of the newest version. Sums are copied to workers and
 * never lent, because their memory is written again two steps later. */

#include "common/base/invariant.h"
#include "common/job/replica_hash.h"
#include "ps/mode/sync.h"

#include <string.h>

struct allreduce_shard {
    struct sync_shard sync; /* First: sync's functions take the block for theirs. */
    struct frame *sum;      /* That made chunk.version, or NULL: after a load, or without memory. */
    struct frame *before;   /* That made the version before, as long as that is kept. */
    uint64_t hash;          /* Of values and slots. */
    uint64_t hashed;        /* The version of the hash, + 1; 0: there is none. */
};

static struct allreduce_shard *state_of(const struct shard *shard)
{
    return shard->state;
}

static void let_go(struct shard *shard, struct frame **sum)
{
    if (*sum != NULL)
        aggregator_recycle(&state_of(shard)->sync.aggregator.spare, *sum);
    *sum = NULL;
}

static void allreduce_forget(struct shard *shard)
{
    sync_forget(shard);
    let_go(shard, &state_of(shard)->sum);
    let_go(shard, &state_of(shard)->before);
    state_of(shard)->hashed = 0;
}

static void allreduce_free(struct shard *shard)
{
    allreduce_forget(shard);
    sync_free(shard);
}

static enum status allreduce_take(struct shard *shard, const struct message *message,
                                  struct frame *gradient, enum verdict *verdict)
{
    enum status status = sync_take(shard, message, gradient, verdict);
    let_go(shard, &state_of(shard)->before);
    return status;
}

/* A root in a worker's own memory is copied, to give that memory back. */
static bool allreduce_next_update(struct shard *shard, struct update *update)
{
    if (!sync_next_update(shard, update))
        return false;
    if (frame_is_writable(update->gradient))
        return true;
    struct frame *own =
        aggregator_room(&state_of(shard)->sync.aggregator.spare, update->gradient->bytes);
    if (own == NULL) /* Then workers learn that it is gone, and ask for values. */
        return true;
    memcpy(own->data, update->gradient->data, own->bytes);
    frame_release(update->gradient);
    update->gradient = own;
    return true;
}

static void allreduce_applied(struct shard *shard, const struct update *update)
{
    struct allreduce_shard *state = state_of(shard);
    state->before = state->sum; /* The one there was is gone since the take. */
    state->sum = update->gradient;
    if (!frame_is_writable(update->gradient))
        let_go(shard, &state->sum);
    sync_open(shard);
}

static enum release allreduce_answer(const struct shard *shard, const struct read_request *wanted,
                                     struct read_result *read)
{
    const struct chunk *chunk = &shard->chunk;
    const struct allreduce_shard *state = state_of(shard);
    if (wanted->newest || (!wanted->sum && !wanted->slots))
        return sync_answer(shard, wanted, read);
    if (wanted->version > chunk->version)
        return RELEASE_LATER;
    bool newest = wanted->version == chunk->version;
    struct frame *sum = newest ? state->sum : state->before;
    if (wanted->version + 1 < chunk->version || (wanted->slots ? !newest : sum == NULL))
        return RELEASE_NEVER;
    *read = (struct read_result){.values = wanted->slots ? chunk->values : sum,
                                 .version = wanted->version,
                                 .sum = !wanted->slots,
                                 .slots = wanted->slots};
    return RELEASE_NOW;
}

static bool allreduce_doubts(struct shard *shard, const struct message_exchange *exchange)
{
    struct allreduce_shard *state = state_of(shard);
    const struct chunk *chunk = &shard->chunk;
    if (exchange->replica == 0 || exchange->base_version != chunk->version)
        return false;
    if (state->hashed != chunk->version + 1)
        state->hash =
            replica_hash(chunk->values->data, chunk->slots, chunk->plan->slots.count, chunk->count);
    state->hashed = chunk->version + 1;
    return state->hash != exchange->replica;
}

static void allreduce_check(const struct shard *shard)
{
    const struct allreduce_shard *state = state_of(shard);
    sync_check(shard);
    INVARIANT("all-reduce shard", state->before == NULL || shard->chunk.previous != NULL,
              "the sum before is kept as long as the version before");
    INVARIANT("all-reduce shard",
              state->sum == NULL || state->sum->bytes == shard->chunk.values->bytes,
              "a sum is as large as the chunk");
    INVARIANT("all-reduce shard", state->sum == NULL || shard->chunk.version > 0,
              "what made a version is kept of a version that was made");
    INVARIANT("all-reduce shard", state->hashed <= shard->chunk.version + 1,
              "no version is hashed that is not there");
}

const struct shard_mode shard_allreduce = {
    SYNC_SHARD,
    .state_bytes = sizeof(struct allreduce_shard),
    .forget = allreduce_forget,
    .free = allreduce_free,
    .take = allreduce_take,
    .next_update = allreduce_next_update,
    .applied = allreduce_applied,
    .answer = allreduce_answer,
    .doubts = allreduce_doubts,
    .updated =
        "all leaves of the step are in. Their sum is divided by the {examples} examples of "
        "the step and makes one update here, for checkpoints and for workers that join; and it "
        "goes to all workers, who make the same update of their replicas",
    .waits = "until the sum that makes version {version} is there: when the last leaf of the step "
             "is in",
    .check = allreduce_check,
};
