#include "deploy/witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/simulated_network.h"

void witness_fail(struct witness *witness, const char *format, ...)
{
    if (witness->failed)
        return;
    witness->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(witness->failure, sizeof witness->failure, format, arguments);
    va_end(arguments);
}

/* --- life ------------------------------------------------------------------------------------ */

static uint64_t check_of(const struct witness *w, uint32_t chunk, const float *space)
{
    const struct chunk_range *range = &w->partition->chunks[chunk];
    return simulated_checksum(space + range->first, range->count * sizeof(float));
}

/* Every chunk's values as they are now in the model are those of `version`. */
static void learn_all(struct witness *w, uint64_t version)
{
    for (uint32_t i = 0; i < w->partition->chunk_count; i++) {
        w->chunks[i].checks[version] = check_of(w, i, w->state.arrays[0]);
        w->chunks[i].known[version] = 1;
    }
}

static enum status train_serially(struct witness *w, uint64_t steps, struct model_state *state,
                                  bool learn)
{
    float *gradient = malloc(w->work->elements * sizeof *gradient);
    enum status status = model_state_init(state, w->job);
    if (gradient == NULL || status != STATUS_OK) {
        free(gradient);
        return STATUS_MEMORY;
    }
    for (uint64_t step = 0; step < steps; step++) {
        if (learn)
            learn_all(w, step);
        model_state_step(state, w->work, step, step, gradient);
    }
    if (learn)
        learn_all(w, steps);
    free(gradient);
    return STATUS_OK;
}

static enum status init_chunk(struct witness *w, struct witness_chunk *chunk)
{
    chunk->version = w->first_step;
    chunk->leaves = calloc(job_leaves_max(w->job), 1);
    chunk->batches = calloc(w->job->steps, 1);
    chunk->checks = calloc(w->job->steps + 1, sizeof *chunk->checks);
    chunk->known = calloc(w->job->steps + 1, 1);
    if (chunk->leaves == NULL || chunk->batches == NULL || chunk->checks == NULL ||
        chunk->known == NULL)
        return STATUS_MEMORY;
    memset(chunk->batches, 1, w->first_step);
    return STATUS_OK;
}

enum status witness_init(struct witness *witness, const struct simulated_work *work,
                         const struct partition *partition, uint32_t owners_a_server,
                         uint64_t first_step, const struct model_state *start)
{
    struct witness *w = witness;
    memset(w, 0, sizeof *w);
    w->job = work->job;
    w->work = work;
    w->partition = partition;
    w->owners_a_server = owners_a_server;
    w->first_step = first_step;
    w->chunks = calloc(partition->chunk_count, sizeof *w->chunks);
    w->held = calloc((size_t)partition->chunk_count * w->job->worker_count, sizeof *w->held);
    w->owners = calloc((size_t)owners_a_server * w->job->server_count, sizeof *w->owners);
    w->cuts_taken = calloc((size_t)owners_a_server * w->job->server_count, sizeof *w->cuts_taken);
    w->given = calloc(w->job->worker_count, w->job->steps);
    if (w->chunks == NULL || w->held == NULL || w->owners == NULL || w->cuts_taken == NULL ||
        w->given == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (init_chunk(w, &w->chunks[i]) != STATUS_OK)
            return STATUS_MEMORY;
    if (w->job->mode == MODE_SYNC)
        return train_serially(w, w->job->steps, &w->state, true);
    enum status status = model_state_copy(&w->state, start);
    if (status == STATUS_OK)
        learn_all(w, first_step);
    return status;
}

void witness_free(struct witness *witness)
{
    for (uint32_t i = 0; witness->chunks != NULL && i < witness->partition->chunk_count; i++) {
        free(witness->chunks[i].leaves);
        free(witness->chunks[i].batches);
        free(witness->chunks[i].checks);
        free(witness->chunks[i].known);
    }
    free(witness->chunks);
    free(witness->held);
    free(witness->owners);
    free(witness->cuts_taken);
    free(witness->given);
    model_state_free(&witness->state);
    memset(witness, 0, sizeof *witness);
}

/* --- into an owner --------------------------------------------------------------------------- */

/* A chunk has got a version more than it had. */
static void advance(struct witness *w, uint32_t chunk)
{
    w->chunks[chunk].version++;
    w->counts.updates++;
    w->expected.committed = true;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++) {
        uint64_t version = w->chunks[i].version;
        least = version < least ? version : least;
        most = version > most ? version : most;
    }
    if (w->job->mode == MODE_SYNC && most > least + 1)
        witness_fail(w, "chunks are %" PRIu64 " versions apart in sync mode", most - least);
}

/* What becomes of a node in sync mode: counted leaf by leaf, which is enough, because nodes of one
 * tree either hold one another or have no leaf in common. */
static enum verdict take_node(struct witness *w, uint32_t index,
                              const struct message_exchange *exchange)
{
    struct witness_chunk *chunk = &w->chunks[index];
    struct node node = exchange->node;
    uint32_t fresh = 0;
    if (exchange->step != chunk->version)
        return exchange->step < chunk->version ? VERDICT_STALE : VERDICT_REJECTED;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        fresh += chunk->leaves[node.first_leaf + i] == 0;
    if (fresh == 0)
        return VERDICT_DUPLICATE;
    memset(chunk->leaves + node.first_leaf, 1, node.leaf_count);
    chunk->leaves_in += fresh;
    if (chunk->leaves_in == job_batch(w->job, chunk->version).leaves) {
        chunk->leaves_in = 0;
        memset(chunk->leaves, 0, job_leaves_max(w->job));
        advance(w, index);
    }
    return VERDICT_APPLIED;
}

static enum verdict take_batch(struct witness *w, uint32_t index, const struct packet *packet)
{
    struct witness_chunk *chunk = &w->chunks[index];
    const struct message_exchange *exchange = &packet->message.exchange;
    const struct chunk_range *range = &w->partition->chunks[index];
    if (chunk->batches[exchange->step])
        return VERDICT_DUPLICATE;
    if (exchange->base_version > chunk->version) {
        witness_fail(w,
                     "a gradient of worker/%u was made from version %" PRIu64
                     " of chunk %u, which has %" PRIu64,
                     packet->message.index, exchange->base_version, index, chunk->version);
        return VERDICT_REJECTED;
    }
    chunk->batches[exchange->step] = 1;
    w->expected.staleness = chunk->version - exchange->base_version;
    model_state_apply(&w->state, w->job, chunk->version, exchange->examples, range->first,
                      range->count, packet->payload->data);
    advance(w, index);
    chunk->checks[chunk->version] = check_of(w, index, w->state.arrays[0]);
    chunk->known[chunk->version] = 1;
    w->held[packet->message.index * w->partition->chunk_count + index].own = chunk->version;
    return VERDICT_APPLIED;
}

static void count(struct verdict_counts *counts, enum verdict verdict)
{
    counts->applied += verdict == VERDICT_APPLIED;
    counts->stale += verdict == VERDICT_STALE;
    counts->duplicate += verdict == VERDICT_DUPLICATE;
    counts->rejected += verdict == VERDICT_REJECTED;
}

static void count_gradient(struct witness *w, uint32_t server, uint32_t owner,
                           const struct witness_expected *expected)
{
    w->counts.gradients++;
    w->counts.applied += expected->verdict == VERDICT_APPLIED;
    w->counts.stale += expected->verdict == VERDICT_STALE;
    w->counts.duplicate += expected->verdict == VERDICT_DUPLICATE;
    w->counts.rejected += expected->verdict == VERDICT_REJECTED;
    count(&w->owners[server * w->owners_a_server + owner], expected->verdict);
    if (expected->verdict == VERDICT_REJECTED)
        witness_fail(w, "a gradient for chunk %u has to be rejected", expected->chunk);
    if (expected->verdict != VERDICT_APPLIED)
        return;
    w->counts.staleness_sum += expected->staleness;
    if (expected->staleness > w->counts.staleness_max)
        w->counts.staleness_max = expected->staleness;
}

void witness_owner_takes(struct witness *witness, uint32_t server, uint32_t owner,
                         const struct packet *packet)
{
    struct witness *w = witness;
    const struct message_exchange *exchange = &packet->message.exchange;
    w->expected = (struct witness_expected){.exchange = packet->message.kind == MESSAGE_EXCHANGE};
    if (!w->expected.exchange || w->failed)
        return;
    struct witness_expected *expected = &w->expected;
    expected->gradient = exchange->gradient;
    expected->chunk = exchange->chunk;
    expected->peer = packet->peer;
    expected->request = packet->message.request;
    expected->want = exchange->want;
    expected->want_version = exchange->want_version;
    if (!exchange->gradient)
        return;
    expected->verdict = w->job->mode == MODE_SYNC ? take_node(w, exchange->chunk, exchange)
                                                  : take_batch(w, exchange->chunk, packet);
    count_gradient(w, server, owner, expected);
}

/* --- out of an owner ------------------------------------------------------------------------- */

static bool is_known(const struct witness *w, uint32_t chunk, uint64_t version, const float *values)
{
    const struct witness_chunk *it = &w->chunks[chunk];
    return version <= w->job->steps && it->known[version] &&
           it->checks[version] ==
               simulated_checksum(values, w->partition->chunks[chunk].count * sizeof(float));
}

static void check_answer(struct witness *w, const struct message_result *result)
{
    struct witness_expected *expected = &w->expected;
    expected->answered = true;
    if (result->verdict != expected->verdict)
        witness_fail(w, "a gradient for chunk %u has the verdict %s and not %s", result->chunk,
                     verdict_name(result->verdict), verdict_name(expected->verdict));
    if (w->job->mode == MODE_ASYNC && expected->gradient &&
        result->staleness != expected->staleness)
        witness_fail(w, "chunk %u reports staleness %" PRIu64 " where it is %" PRIu64,
                     result->chunk, result->staleness, expected->staleness);
    if (expected->want && w->job->mode == MODE_SYNC && result->version != expected->want_version)
        witness_fail(w, "chunk %u is given as version %" PRIu64 " where %" PRIu64 " was wanted",
                     result->chunk, result->version, expected->want_version);
}

static void check_result(struct witness *w, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    const struct witness_expected *expected = &w->expected;
    uint64_t version = w->chunks[result->chunk].version;
    bool own = expected->exchange && expected->peer == packet->peer &&
               expected->request == packet->message.request && result->chunk == expected->chunk;
    if (own)
        check_answer(w, result);
    else if (!expected->committed)
        witness_fail(w, "chunk %u answers a waiting worker without an update", result->chunk);
    /* In sync mode the version before stays readable for a while. */
    bool current = result->version == version ||
                   (w->job->mode == MODE_SYNC && own && result->version + 1 == version);
    if (!current)
        witness_fail(
            w, "chunk %u says it is at version %" PRIu64 ", but it has had %" PRIu64 " updates",
            result->chunk, result->version, version);
    else if (result->parameters &&
             !is_known(w, result->chunk, result->version, packet->payload->data))
        witness_fail(w, "chunk %u gives out values that are not its version %" PRIu64,
                     result->chunk, result->version);
}

static void check_cut(struct witness *w, uint32_t server, const struct message *message)
{
    const struct verdict_counts *seen = &w->owners[server * w->owners_a_server + message->index];
    const struct verdict_counts *said = &message->cut_taken.verdicts;
    uint64_t *taken = &w->cuts_taken[server * w->owners_a_server + message->index];
    if (message->cut_taken.taken)
        *taken = message->cut_taken.step + 1;
    else if (message->cut_taken.step < *taken)
        witness_fail(w, "owner %u of ps/%u takes back its cut at step %" PRIu64, message->index,
                     server, message->cut_taken.step);
    w->counts.cuts++;
    if (seen->applied != said->applied || seen->stale != said->stale ||
        seen->duplicate != said->duplicate || seen->rejected != said->rejected)
        witness_fail(w,
                     "owner %u of ps/%u counts %" PRIu64 " applied, %" PRIu64 " stale, %" PRIu64
                     " duplicate where %" PRIu64 ", %" PRIu64 ", %" PRIu64 " are right",
                     message->index, server, said->applied, said->stale, said->duplicate,
                     seen->applied, seen->stale, seen->duplicate);
}

static void check_state(struct witness *w, const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    uint32_t chunk = 0;
    while (chunk < w->partition->chunk_count && w->partition->chunks[chunk].first != state->first)
        chunk++;
    if (chunk == w->partition->chunk_count ||
        (state->array == 0 && !is_known(w, chunk, state->step, packet->payload->data)))
        witness_fail(w, "chunk %u is cut with values that are not its version %" PRIu64, chunk,
                     state->step);
}

static void check_moved_on(struct witness *w, const struct message *message)
{
    w->counts.moved_on++;
    w->expected.answered = true;
    /* The version before stays until a gradient made from this one proves that all chunks have it.
     */
    const struct witness_chunk *chunk = &w->chunks[message->moved_on.chunk];
    if (w->expected.want_version + 1 == chunk->version && chunk->leaves_in == 0 &&
        chunk->version > w->first_step)
        witness_fail(w, "chunk %u has given up version %" PRIu64 " too early",
                     message->moved_on.chunk, w->expected.want_version);
    if (message->moved_on.version != w->chunks[message->moved_on.chunk].version ||
        w->expected.want_version >= message->moved_on.version)
        witness_fail(w, "chunk %u has not moved on from version %" PRIu64, message->moved_on.chunk,
                     w->expected.want_version);
}

void witness_owner_gave(struct witness *witness, uint32_t server, const struct outgoing *item)
{
    if (witness->failed)
        return;
    switch (item->packet.message.kind) {
    case MESSAGE_RESULT:
        check_result(witness, &item->packet);
        break;
    case MESSAGE_MOVED_ON:
        check_moved_on(witness, &item->packet.message);
        break;
    case MESSAGE_OWNER_CUT:
        check_cut(witness, server, &item->packet.message);
        break;
    case MESSAGE_CHUNK_STATE:
        check_state(witness, &item->packet);
        break;
    case MESSAGE_STOP:
        witness_fail(witness, "an owner gives up: %s", item->packet.message.stop.reason);
        break;
    default:
        break;
    }
}

void witness_owner_done(struct witness *witness)
{
    const struct witness_expected *expected = &witness->expected;
    if (!expected->exchange || expected->answered || witness->failed)
        return;
    uint64_t version = witness->chunks[expected->chunk].version;
    bool may_wait =
        witness->job->mode == MODE_SYNC && expected->want && expected->want_version > version;
    if (!may_wait)
        witness_fail(witness, "a request for chunk %u is not answered", expected->chunk);
}

/* --- workers --------------------------------------------------------------------------------- */

static struct witness_held *held_by(struct witness *w, uint32_t worker)
{
    return &w->held[(size_t)worker * w->partition->chunk_count];
}

/* All elements of a chunk that belong to variables are the same. */
static bool is_uniform(const struct witness *w, const struct chunk_range *range,
                       const float *parameters)
{
    const float *first = NULL;
    for (uint64_t i = range->first; i < range->first + range->count; i++) {
        if (!w->work->used[i])
            continue;
        if (first != NULL && *first != parameters[i])
            return false;
        first = &parameters[i];
    }
    return true;
}

void witness_work(struct witness *witness, uint32_t worker, uint64_t step, bool enough,
                  const float *parameters)
{
    struct witness *w = witness;
    struct witness_held *held = held_by(w, worker);
    w->counts.pulls++;
    if (w->job->mode == MODE_ASYNC && !enough && w->given[worker * w->job->steps + step]++)
        witness_fail(w, "worker/%u is given batch %" PRIu64 " again", worker, step);
    for (uint32_t i = 0; i < w->partition->chunk_count && !w->failed; i++) {
        const struct chunk_range *range = &w->partition->chunks[i];
        held[i].check = check_of(w, i, parameters);
        held[i].any = true;
        if (w->work->kind == WORK_UNIFORM && !is_uniform(w, range, parameters))
            witness_fail(w, "worker/%u is given a torn chunk %u", worker, i);
        if (w->job->mode == MODE_SYNC && !is_known(w, i, step, parameters + range->first))
            witness_fail(
                w, "worker/%u is given a chunk %u for step %" PRIu64 " that is not of that version",
                worker, i, step);
        if (held[i].own > w->chunks[i].version)
            witness_fail(w, "chunk %u lost an update", i);
    }
}

void witness_computed(struct witness *witness, uint32_t worker, const float *parameters)
{
    struct witness_held *held = held_by(witness, worker);
    for (uint32_t i = 0; i < witness->partition->chunk_count; i++)
        if (held[i].check != check_of(witness, i, parameters))
            witness_fail(witness, "the parameters of worker/%u changed while it computed", worker);
}

/* What the session says it holds is what the trainer was given, and no older than it may be. */
static void check_base(struct witness *w, uint32_t worker, uint32_t chunk, uint64_t base)
{
    struct witness_held *held = &held_by(w, worker)[chunk];
    const struct witness_chunk *it = &w->chunks[chunk];
    if (base > w->job->steps || !it->known[base] || it->checks[base] != held->check)
        witness_fail(w,
                     "worker/%u computed from something else than version %" PRIu64 " of chunk %u",
                     worker, base, chunk);
    if (base < held->version)
        witness_fail(w, "worker/%u went back from version %" PRIu64 " of chunk %u to %" PRIu64,
                     worker, held->version, chunk, base);
    held->version = base;
}

void witness_session_asks(struct witness *witness, uint32_t worker, const struct packet *packet)
{
    struct witness *w = witness;
    const struct message_exchange *exchange = &packet->message.exchange;
    if (!exchange->gradient || w->failed || exchange->chunk >= w->partition->chunk_count)
        return;
    struct witness_held *held = held_by(w, worker);
    check_base(w, worker, exchange->chunk, exchange->base_version);
    if (w->job->mode != MODE_ASYNC)
        return;
    if (exchange->base_version < held[exchange->chunk].own)
        witness_fail(w, "worker/%u does not see its own gradient in chunk %u", worker,
                     exchange->chunk);
    if (exchange->chunk + 1 < w->partition->chunk_count)
        return;
    bool skewed = false;
    for (uint32_t i = 1; i < w->partition->chunk_count; i++)
        skewed = skewed || held[i].version != held[0].version;
    w->counts.skewed_pulls += skewed;
}

/* --- the end --------------------------------------------------------------------------------- */

void witness_finish(struct witness *witness, uint64_t step)
{
    struct witness *w = witness;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++) {
        const struct witness_chunk *chunk = &w->chunks[i];
        if (chunk->version != step)
            witness_fail(w, "chunk %u ends at version %" PRIu64 " and the job at step %" PRIu64, i,
                         chunk->version, step);
        if (chunk->leaves_in > 0)
            witness_fail(w, "chunk %u ends within a step", i);
        for (uint64_t batch = 0; w->job->mode == MODE_ASYNC && batch < step; batch++)
            if (!chunk->batches[batch])
                witness_fail(w, "batch %" PRIu64 " is not in chunk %u", batch, i);
    }
}

enum status witness_model(const struct witness *witness, uint64_t step, struct model_state *state)
{
    if (witness->job->mode == MODE_ASYNC)
        return model_state_copy(state, &witness->state);
    struct witness alone = *witness; /* Only read from: nothing is learned. */
    return train_serially(&alone, step, state, false);
}
