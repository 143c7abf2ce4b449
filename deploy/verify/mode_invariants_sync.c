/* mode_invariants_sync.c - one update a step, when all leaves are in; chunks of one generation are at most
 * one version apart; the values are those of the serial training. So it is in all-reduce, where what
 * trainers compute from are versions that their own workers have made. */

#include "deploy/verify/mode_invariants.h"

#include <inttypes.h>
#include <string.h>

static uint32_t fresh_leaves(const struct oracle_chunk *chunk, struct node node)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        fresh += chunk->leaves[node.first_leaf + i] == 0;
    return fresh;
}

/* Counted leaf by leaf, which is enough, because nodes of one tree either hold one another or have
 * no leaf in common. */
static enum verdict sync_take(struct oracle *w, struct oracle_server *server, uint32_t index,
                              const struct packet *packet, uint32_t sender)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    const struct message_exchange *exchange = &packet->message.exchange;
    (void)sender;
    struct node node = exchange->node;
    if (exchange->step != chunk->version)
        return exchange->step < chunk->version ? VERDICT_STALE : VERDICT_REJECTED;
    uint32_t fresh = fresh_leaves(chunk, node);
    if (fresh == 0)
        return VERDICT_DUPLICATE;
    memset(chunk->leaves + node.first_leaf, 1, node.leaf_count);
    chunk->leaves_in += fresh;
    if (chunk->leaves_in == job_batch(w->job, chunk->version).leaves) {
        chunk->leaves_in = 0;
        memset(chunk->leaves, 0, job_leaves_max(w->job));
        oracle_advance(w, server, index);
    }
    return VERDICT_APPLIED;
}

static void sync_retry(struct oracle *w, const struct oracle_chunk *chunk,
                       const struct message_exchange *exchange)
{
    struct oracle_expected *expected = &w->expected;
    bool held = fresh_leaves(chunk, exchange->node) == 0;
    if (exchange->step == chunk->version) {
        expected->missing = !held;
        expected->receipt = !held || !exchange->want || exchange->want_version > chunk->version;
        expected->verdict = VERDICT_DUPLICATE;
    } else if (exchange->step > chunk->version) {
        expected->may_be_silent = true;
    } else {
        expected->verdict = VERDICT_STALE;
    }
}

void mode_invariants_keep_abreast(struct oracle *w, struct oracle_server *server, uint32_t chunk)
{
    uint64_t generation = server->owners[oracle_owner_of(w, chunk)].generation;
    uint64_t version = server->chunks[chunk].version;
    for (uint32_t i = 0; i < w->process_count; i++) {
        const struct oracle_server *other = w->processes[i].server;
        if (other == NULL || !other->alive || !other->current)
            continue;
        for (uint32_t j = 0; j < w->partition->chunk_count; j++) {
            if (w->partition->chunks[j].server != other->index || !other->chunks[j].loaded ||
                other->owners[oracle_owner_of(w, j)].generation != generation)
                continue;
            if (other->chunks[j].version + 1 < version)
                oracle_fail(w,
                            "chunk %u is at version %" PRIu64 " and chunk %u at %" PRIu64
                            " in one generation",
                            chunk, version, j, other->chunks[j].version);
        }
    }
}

const struct mode_invariants mode_invariants_sync = {
    .serial = true,
    .releases = true,
    .take = sync_take,
    .retry = sync_retry,
    .advanced = mode_invariants_keep_abreast,
};

const struct mode_invariants mode_invariants_allreduce = {
    .serial = true,
    .releases = true,
    .replicates = true,
    .take = sync_take,
    .retry = sync_retry,
    .advanced = mode_invariants_keep_abreast,
};
