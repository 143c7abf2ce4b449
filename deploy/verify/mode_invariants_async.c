/* mode_invariants_async.c - every (chunk, batch) counts once, applied to the values as they are then; a
 * worker sees its own gradients; batches are given in order, from the cut on that the generation begins
 * from, and each to a worker once. So it is in ssp, whose bound is held against the record (record_check.h). */

#include "deploy/verify/mode_invariants.h"

#include <inttypes.h>
#include <string.h>

#include "ps/extension/staleness_counters.h"
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

static enum verdict async_takes(struct oracle *w, struct oracle_server *server, uint32_t index,
                                const struct packet *packet, uint32_t sender)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    const struct message_exchange *exchange = &packet->message.exchange;
    const struct chunk_range *range = &w->partition->chunks[index];
    if (chunk->batches[exchange->step])
        return VERDICT_DUPLICATE;
    bool stale = !exchange->skip && exchange->base_version < chunk->version &&
                 shard_mode_of(w->job)->too_stale(w->job, chunk->version - exchange->base_version);
    if (stale && !w->job->staleness_loses)
        return VERDICT_STALE;
    chunk->batches[exchange->step] = 1;
    if (!exchange->skip && !stale) {
        if (exchange->base_version > chunk->version)
            oracle_fail(w,
                        "a gradient of worker/%u was made from version %" PRIu64
                        " of chunk %u, which has %" PRIu64,
                        packet->message.index, exchange->base_version, index, chunk->version);
        w->expected.staleness = chunk->version - exchange->base_version;
        add_gradient(server, chunk, w,
                     &(struct model_update){.version = chunk->version,
                                            .batches = chunk->had,
                                            .staleness = w->expected.staleness,
                                            .examples = exchange->examples,
                                            .gradients = 1,
                                            .first = range->first,
                                            .count = range->count,
                                            .gradient = packet->payload->data,
                                            .base = base_of(w, server, sender, range)});
    }
    bool fresh = exchange->base_version >= chunk->version;
    chunk->staleness[chunk->had] = fresh ? 0 : chunk->version - exchange->base_version;
    count_batch(w, server, index);
    chunk->check = oracle_check_space(w, index, server->state.arrays[0]);
    oracle_learn(w, packet->message.generation, index, chunk->version, chunk->check);
    if (sender < w->process_count && w->processes[sender].worker != NULL) {
        struct oracle_held *held = &w->processes[sender].worker->held[index];
        held->own = chunk->version;
        held->own_batch = exchange->step;
        held->own_generation = packet->message.generation;
    }
    return exchange->skip ? VERDICT_REJECTED : stale ? VERDICT_STALE : VERDICT_APPLIED;
}

/* Of all batches since the chunks were loaded; the sum is what it has to be by common/job/staleness.h: more,
 * where messages overtake each other, by what workers held and were given older values behind. */
static bool is_counted(const struct oracle *w, const struct histogram *seen,
                       const struct staleness *said)
{
    uint64_t sum = said->shape.sum + said->renewed;
    return seen->count == said->shape.count && seen->sum == said->shape.sum &&
           seen->max == said->shape.max && seen->squares == said->shape.squares &&
           memcmp(seen->buckets, said->shape.buckets, sizeof seen->buckets) == 0 &&
           (sum == said->expected || (sum > said->expected && !w->in_order));
}

void oracle_check_staleness(struct oracle *w, const struct oracle_server *server, uint32_t owner,
                            const struct frame *said)
{
    struct staleness_tally tally = {0};
    struct histogram seen = {0};
    for (uint32_t i = 0; i < w->partition->chunk_count; i++) {
        const struct oracle_chunk *chunk = &server->chunks[i];
        bool its =
            w->partition->chunks[i].server == server->index && oracle_owner_of(w, i) == owner;
        for (uint64_t batch = chunk->first; its && batch < chunk->had; batch++)
            histogram_add(&seen, chunk->staleness[batch]);
    }
    if (said == NULL || staleness_tally_read(&tally, said) != STATUS_OK)
        oracle_fail(w, "owner %u of ps/%u says nothing of staleness at its cut", owner,
                    server->index);
    else if (!is_counted(w, &seen, &tally.all))
        oracle_fail(w,
                    "owner %u of ps/%u counts %" PRIu64 " gradients, staleness %" PRIu64
                    " and %" PRIu64 " renewed of %" PRIu64 ", where %" PRIu64 ", %" PRIu64
                    " are right",
                    owner, server->index, tally.all.shape.count, tally.all.shape.sum,
                    tally.all.renewed, tally.all.expected, seen.count, seen.sum);
    w->counts.identities++;
    staleness_tally_free(&tally);
}

static void async_retry(struct oracle *w, const struct oracle_chunk *chunk,
                        const struct message_exchange *exchange)
{
    struct oracle_expected *expected = &w->expected;
    expected->missing = expected->receipt = !chunk->batches[exchange->step];
    expected->verdict = VERDICT_DUPLICATE;
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
    const struct oracle_chunk *chunk = &server->chunks[index];
    oracle_check_updates(w, &server->state);
    if (memcmp(packet->payload->data, server->state.arrays[state->array] + state->first,
               packet->payload->bytes) != 0)
        oracle_fail(w, "array %u of chunk %u is cut with other bits than it has", state->array,
                    index);
    for (uint64_t batch = 0; batch < state->step; batch++)
        if (!chunk->batches[batch])
            oracle_fail(w, "chunk %u is cut at %" PRIu64 " without batch %" PRIu64, index,
                        state->step, batch);
    if (state->array != 0)
        return;
    uint64_t version = job_version(w->job, state->step, state->version);
    check_even(w, packet->message.generation, index, state->step, version);
    oracle_note_snapshot(w, index, state->step, &server->state);
}

/* A worker may be refused by a chunk, and then computes the batch once more. */
static bool computes_again(const struct oracle *w)
{
    return shard_mode_of(w->job)->too_stale(w->job, UINT64_MAX) && !w->job->staleness_loses;
}

static void async_given(struct oracle *w, struct oracle_worker *worker, uint64_t step)
{
    if (worker->given[step] == worker->leases && worker->leases > 0 && !computes_again(w))
        oracle_fail(w, "worker/%u is given batch %" PRIu64 " again", worker->index, step);
    worker->given[step] = worker->leases;
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

static void async_finish(struct oracle *w, const struct oracle_chunk *chunk, uint32_t index,
                         uint64_t step)
{
    for (uint64_t batch = 0; batch < step; batch++)
        if (!chunk->batches[batch])
            oracle_fail(w, "batch %" PRIu64 " is not in chunk %u", batch, index);
}

/* --- server 0 says ------------------------------------------------------------------------- */

/* Another generation, or another server 0: it gives batches from where all chunks stand. */
static void begin(struct oracle *w, uint32_t server_0, const struct message *start)
{
    struct oracle_giving *giving = &w->giving;
    if (giving->begun &&
        (start->generation < giving->generation ||
         (start->generation == giving->generation && giving->server_0 == server_0)))
        return;
    *giving = (struct oracle_giving){
        .begun = true,
        .server_0 = server_0,
        .generation = start->generation,
        .next = start->start.step,
    };
    if (w->begun && start->generation == w->begun_generation && start->start.step != w->begun_step)
        oracle_fail(w,
                    "generation %" PRIu64 " begins at batch %" PRIu64
                    ", and servers have gone back to %" PRIu64,
                    start->generation, start->start.step, w->begun_step);
}

static void async_said(struct oracle *w, uint32_t server_0, const struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    struct oracle_giving *giving = &w->giving;
    if (order_of(&item->packet) != NULL)
        return;
    if (message->kind == MESSAGE_START)
        begin(w, server_0, message);
    if (message->kind != MESSAGE_WORK || message->work.enough || message->work.none ||
        !giving->begun || giving->server_0 != server_0 || giving->generation != message->generation)
        return;
    if (message->work.batch > giving->next)
        oracle_fail(w, "batch %" PRIu64 " is given where %" PRIu64 " is the next",
                    message->work.batch, giving->next);
    if (message->work.batch == giving->next)
        giving->next++;
}

const struct mode_invariants mode_invariants_async = {
    .stale = true,
    .take = async_takes,
    .retry = async_retry,
    .snapshot = async_snapshot,
    .given = async_given,
    .sent = async_sent,
    .said = async_said,
    .finish = async_finish,
};
