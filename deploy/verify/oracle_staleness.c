/* oracle_staleness.c - what an owner says of staleness at its cut, held against every gradient that it
 * was given: each update is remembered here with its worker and base, and all is counted anew, as the
 * formula of common/job/staleness.h has it. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/staleness.h"
#include "deploy/verify/mode_invariants.h"
#include "ps/extension/staleness_counters.h"

void oracle_note_update(const struct oracle *w, struct oracle_chunk *chunk, uint32_t worker,
                        uint64_t base)
{
    if (chunk->had < w->job->steps)
        chunk->updates[chunk->had] =
            (struct oracle_update){.worker = worker, .base = base, .from = chunk->version};
}

/* Of one worker in one chunk: how many updates its gradients made, how many there were after its last
 * one, how many it was given otherwise than by its own, and by how many it was behind its own. */
static bool count_worker(const struct oracle_chunk *chunk, uint32_t worker, uint64_t *made,
                         uint64_t *after, uint64_t *renewed, uint64_t *behind)
{
    uint64_t held = chunk->first_version, last = 0;
    bool any = false;
    for (uint64_t batch = chunk->first; batch < chunk->had; batch++) {
        const struct oracle_update *update = &chunk->updates[batch];
        if (update->worker != worker)
            continue;
        *renewed += update->base > held ? update->base - held : 0;
        *behind += update->base < held ? held - update->base : 0;
        held = last = update->from + !update->waits;
        *made += !update->waits;
        any = true;
    }
    *after += any ? chunk->version - last : 0;
    return any;
}

static void count_chunk(struct oracle *w, uint32_t index, const struct oracle_chunk *chunk,
                        struct staleness *all)
{
    uint64_t workers = 0, made = 0, after = 0, renewed = 0, behind = 0, sum = 0;
    for (uint64_t batch = chunk->first; batch < chunk->had; batch++) {
        uint64_t base = chunk->updates[batch].base, version = chunk->updates[batch].from;
        uint64_t staleness = version > base ? version - base : 0;
        histogram_add(&all->shape, staleness);
        sum += staleness;
    }
    for (uint32_t worker = 0; worker < ORACLE_WORKERS_MAX; worker++)
        workers += count_worker(chunk, worker, &made, &after, &renewed, &behind);
    uint64_t updates = chunk->version - chunk->first_version;
    uint64_t expected = workers > 0 ? updates * workers - made - after : 0;
    /* Who comes back asks for values behind its last gradient; only where messages overtake each other
     * is it given what does not hold that. */
    if (sum + renewed != expected + behind || (behind > 0 && w->in_order))
        oracle_fail(w,
                    "chunk %u: staleness sums up to %" PRIu64 ", and with %" PRIu64
                    " renewed it has to be %" PRIu64,
                    index, sum, renewed, expected);
    all->expected += expected;
    all->renewed += renewed;
}

static bool are_equal(const struct staleness *a, const struct staleness *b)
{
    return a->shape.count == b->shape.count && a->shape.sum == b->shape.sum &&
           a->shape.max == b->shape.max && a->shape.squares == b->shape.squares &&
           memcmp(a->shape.buckets, b->shape.buckets, sizeof a->shape.buckets) == 0 &&
           a->expected == b->expected && a->renewed == b->renewed;
}

static void compare(struct oracle *w, const struct oracle_server *server, uint32_t owner,
                    const struct staleness *seen, const struct frame *said)
{
    struct staleness_tally tally = {0};
    if (said == NULL || staleness_tally_read(&tally, said) != STATUS_OK)
        oracle_fail(w, "owner %u of ps/%u says nothing of staleness at its cut", owner,
                    server->index);
    else if (!are_equal(&tally.all, seen))
        oracle_fail(w,
                    "owner %u of ps/%u counts %" PRIu64 " gradients, staleness %" PRIu64
                    ", expected %" PRIu64 ", renewed %" PRIu64 " where %" PRIu64 ", %" PRIu64
                    ", %" PRIu64 ", %" PRIu64 " are right",
                    owner, server->index, tally.all.shape.count, tally.all.shape.sum,
                    tally.all.expected, tally.all.renewed, seen->shape.count, seen->shape.sum,
                    seen->expected, seen->renewed);
    w->counts.identities++;
    w->counts.renewed += seen->renewed;
    staleness_tally_free(&tally);
}

void oracle_check_staleness(struct oracle *w, const struct oracle_server *server, uint32_t owner,
                            const struct frame *said)
{
    struct staleness *seen = calloc(1, sizeof *seen);
    if (seen == NULL) {
        oracle_fail(w, "out of memory for the witness");
        return;
    }
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (w->partition->chunks[i].server == server->index && oracle_owner_of(w, i) == owner)
            count_chunk(w, i, &server->chunks[i], seen);
    compare(w, server, owner, seen, said);
    free(seen);
}
