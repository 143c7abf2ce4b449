/* mode_invariants_sync.c - one update a step, when all leaves are in; the values are those of the serial
 * training. So it is in all-reduce, where what trainers compute from are versions that their own workers
 * have made. */

#include "deploy/verify/mode_invariants.h"

#include <string.h>

/* Counted leaf by leaf, which is enough, because nodes of one tree either hold one another or have
 * no leaf in common. */
static enum verdict sync_judge(const struct oracle *w, const struct oracle_chunk *chunk,
                               const struct message_exchange *exchange)
{
    (void)w;
    if (exchange->step != chunk->version)
        return exchange->step < chunk->version ? VERDICT_STALE : VERDICT_REJECTED;
    bool fresh =
        memchr(chunk->leaves + exchange->node.first_leaf, 0, exchange->node.leaf_count) != NULL;
    return fresh ? VERDICT_APPLIED : VERDICT_DUPLICATE;
}

static void sync_take(struct oracle *w, struct oracle_server *server, const struct packet *packet,
                      uint32_t sender)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    struct oracle_chunk *chunk = &server->chunks[exchange->chunk];
    uint8_t *leaves = chunk->leaves + exchange->node.first_leaf;
    (void)sender;
    if (w->expected.verdict != VERDICT_APPLIED)
        return;
    for (uint32_t i = 0; i < exchange->node.leaf_count; i++) {
        chunk->leaves_in += leaves[i] == 0;
        leaves[i] = 1;
    }
    if (chunk->leaves_in < job_batch(w->job, exchange->step).leaves)
        return;
    chunk->leaves_in = 0;
    memset(chunk->leaves, 0, job_leaves_max(w->job));
    oracle_advance(w, server, exchange->chunk);
}

const struct mode_invariants mode_invariants_sync = {
    .serial = true,
    .releases = true,
    .judge = sync_judge,
    .take = sync_take,
};

const struct mode_invariants mode_invariants_allreduce = {
    .serial = true,
    .releases = true,
    .judge = sync_judge,
    .take = sync_take,
};
