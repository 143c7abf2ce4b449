/* mode_invariants_async.c - every (chunk, batch) counts once, applied to the values as they are then; a
 * worker sees its own gradients. So it is in ssp, whose bound is held against the record (record_check.h). */

#include "deploy/verify/mode_invariants.h"

#include <inttypes.h>
#include <string.h>

#include "ps/mode/shard_mode.h"

/* What the sender computes from. */
static const float *base_of(const struct oracle *w, const struct oracle_server *server,
                            uint32_t sender, const struct chunk_range *range)
{
    bool worker = sender < w->process_count && w->processes[sender].worker != NULL;
    const float *space = worker ? w->processes[sender].worker->base : server->state.arrays[0];
    return space + range->first;
}

/* One more in its chunk's group, as it is when it arrives; or an update of its own. */
static void add_gradient(struct oracle_server *server, struct oracle_chunk *chunk,
                         const struct oracle *w, const struct model_update *update)
{
    if (!job_accumulates(w->job)) {
        model_state_apply(&server->state, w->job, update);
        return;
    }
    float *moved = chunk->group.moved;
    model_state_compensate(&server->state, w->job, update, moved);
    for (uint64_t i = 0; i < update->count; i++)
        chunk->group.sum[i] =
            chunk->group.examples == 0 ? moved[i] : chunk->group.sum[i] + moved[i];
    chunk->group.examples += update->examples;
    chunk->group.gradients++;
    if (update->staleness > chunk->group.staleness)
        chunk->group.staleness = update->staleness;
}

/* The chunk has had the batch: it makes a version, or is the last of a group that makes one, or waits. */
static void count_batch(struct oracle *w, struct oracle_server *server, uint32_t index)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    if (!job_accumulates(w->job)) {
        oracle_advance(w, server, index);
        return;
    }
    chunk->had++;
    chunk->group.members++;
    bool full = chunk->group.members == w->job->accumulate || job_closes_at(w->job, chunk->had);
    if (full || (chunk->to_snapshot && chunk->had == chunk->snapshot_step))
        oracle_close_group(w, server, index);
}

static uint64_t staleness_of(const struct oracle_chunk *chunk,
                             const struct message_exchange *exchange)
{
    return exchange->base_version < chunk->version ? chunk->version - exchange->base_version : 0;
}

static bool is_too_stale(const struct oracle *w, const struct oracle_chunk *chunk,
                         const struct message_exchange *exchange)
{
    uint64_t staleness = staleness_of(chunk, exchange);
    return !exchange->skip && staleness > 0 && shard_mode_of(w->job)->too_stale(w->job, staleness);
}

/* Delay compensation needs the values that it was made from, and no worker has read these last. */
static bool lacks_base(const struct oracle *w, const struct oracle_chunk *chunk,
                       const struct message_exchange *exchange)
{
    bool lacks = w->job->delay_compensation > 0 && staleness_of(chunk, exchange) > 0;
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX && lacks; i++)
        lacks = chunk->given[i] != exchange->base_version + 1;
    return lacks;
}

static enum verdict async_judge(const struct oracle *w, const struct oracle_chunk *chunk,
                                const struct message_exchange *exchange)
{
    if (chunk->batches[exchange->step])
        return VERDICT_DUPLICATE;
    if (exchange->skip)
        return VERDICT_REJECTED;
    return lacks_base(w, chunk, exchange) || is_too_stale(w, chunk, exchange) ? VERDICT_STALE
                                                                              : VERDICT_APPLIED;
}

static float rate_of(const struct oracle *w, const struct message_exchange *exchange)
{
    bool decided = w->job->policy[0] != '\0';
    return decided ? simulated_work_policy.rate(NULL, 0, exchange->count) : 0;
}

static void async_take(struct oracle *w, struct oracle_server *server, const struct packet *packet,
                       uint32_t sender)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    uint32_t index = exchange->chunk;
    struct oracle_chunk *chunk = &server->chunks[index];
    const struct chunk_range *range = &w->partition->chunks[index];
    bool applied = w->expected.verdict == VERDICT_APPLIED;
    if (chunk->batches[exchange->step] ||
        (w->expected.verdict == VERDICT_STALE &&
         (!w->job->staleness_loses || lacks_base(w, chunk, exchange))))
        return;
    if (applied && exchange->base_version > chunk->version)
        oracle_fail(w,
                    "a gradient of worker/%u was made from version %" PRIu64
                    " of chunk %u, which has %" PRIu64,
                    packet->message.index, exchange->base_version, index, chunk->version);
    chunk->batches[exchange->step] = 1;
    histogram_add(&server->owners[w->expected.owner].staleness, staleness_of(chunk, exchange));
    if (applied)
        add_gradient(server, chunk, w,
                     &(struct model_update){.version = chunk->version,
                                            .batches = chunk->had,
                                            .staleness = w->expected.staleness,
                                            .rate = rate_of(w, exchange),
                                            .examples = exchange->examples,
                                            .gradients = 1,
                                            .first = range->first,
                                            .count = range->count,
                                            .gradient = packet->payload->data,
                                            .base = base_of(w, server, sender, range)});
    count_batch(w, server, index);
    chunk->check = oracle_check_space(w, index, server->state.arrays[0]);
    oracle_learn(w, packet->message.generation, index, chunk->version, chunk->check);
    if (sender < w->process_count && w->processes[sender].worker != NULL) {
        struct oracle_held *held = &w->processes[sender].worker->held[index];
        held->own = chunk->version;
        held->own_batch = exchange->step;
        held->own_generation = packet->message.generation;
    }
}

/* The batches of a cut have made as many versions of every chunk, or it is no checkpoint. */
static void check_even(struct oracle *w, uint64_t generation, uint32_t index, uint64_t step,
                       uint64_t version)
{
    struct oracle_even *even = &w->even;
    if (generation < even->generation || (generation == even->generation && step < even->step))
        return; /* Of one that was given up. */
    if (generation == even->generation && step == even->step && version != even->version)
        oracle_fail(w,
                    "chunk %u is cut at step %" PRIu64 " with version %" PRIu64
                    ", and another chunk with %" PRIu64,
                    index, step, version, even->version);
    *even = (struct oracle_even){generation, step, version};
}

static void async_snapshot(struct oracle *w, const struct oracle_server *server, uint32_t index,
                           const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    oracle_check_updates(w, &server->state);
    if (memcmp(packet->payload->data, server->state.arrays[state->array] + state->first,
               packet->payload->bytes) != 0)
        oracle_fail(w, "array %u of chunk %u is cut with other bits than it has", state->array,
                    index);
    if (memchr(server->chunks[index].batches, 0, state->step) != NULL)
        oracle_fail(w, "chunk %u is cut at %" PRIu64 " without one of its batches", index,
                    state->step);
    if (state->array != 0)
        return;
    check_even(w, packet->message.generation, index, state->step,
               job_version(w->job, state->step, state->version));
    oracle_note_snapshot(w, index, state->step, &server->state);
}

/* Where wires keep messages in order. */
static void async_sent(struct oracle *w, const struct oracle_worker *worker,
                       const struct message *message)
{
    uint32_t chunk = message->exchange.chunk;
    const struct oracle_held *held = &worker->held[chunk];
    if (w->in_order && held->own_generation == message->generation &&
        message->exchange.step != held->own_batch && message->exchange.base_version < held->own)
        oracle_fail(w, "worker/%u does not see its own gradient in chunk %u", worker->index, chunk);
}

const struct mode_invariants mode_invariants_async = {
    .judge = async_judge,
    .take = async_take,
    .snapshot = async_snapshot,
    .sent = async_sent,
};
