/* owner_check.c - the invariants of an owner between two messages, by the numbers that owner.c names. */

#include "common/base/invariant.h"
#include "ps/owner/owner_state.h"

#define RULE(condition, rule) INVARIANT("owner", condition, rule)

static bool is_loaded(const struct owner *owner, const struct owned *owned)
{
    return owned->arrays_loaded == (1u << (1 + owner->plan->slots.count)) - 1;
}

static void check_waiting_read(const struct owner *owner, const struct owned *owned)
{
    struct read_result read;
    RULE((owned->waiting_read == NULL) == (owned->waiting_read_count == 0),
         "O4 places to park in are there or not");
    for (uint32_t i = 0; i < owned->waiting_read_count; i++) {
        if (!owned->waiting_read[i].waiting)
            continue;
        RULE(owner->rules->answer(&owned->shard, &owned->waiting_read[i].wanted, &read) ==
                 RELEASE_LATER,
             "O5 a parked request wants a version that is not there");
        RULE(owner->to_load == 0, "O6 no read waits while chunks are loaded");
    }
}

static void check_owned(const struct owner *owner, const struct owned *owned)
{
    const struct chunk *chunk = &owned->shard.chunk;
    shard_check(&owned->shard);
    EACH_LISTENER(owner, check, state, chunk, (uint32_t)(owned - owner->owned));
    check_waiting_read(owner, owned);
    RULE(chunk->plan == owner->plan && owned->shard.rules == owner->rules,
         "O7 every chunk is of the one plan, and follows its rules");
    RULE(owned->snapshot_step == UINT64_MAX || owned->snapshot_step > chunk->batches,
         "O1 a snapshot is taken as soon as its batches are there");
    RULE(IMPLIES(owned->snapshot_step != UINT64_MAX, owner->to_load == 0),
         "O2 no snapshot is due while chunks are loaded");
    RULE(IMPLIES(owner->records && owner->to_load == 0,
                 owned->log.from + owned->log.count == chunk->batches),
         "O3 every batch that a chunk has had is noted");
    RULE(owned->arrays_loaded < 1u << (1 + owner->plan->slots.count),
         "O8 no array was loaded that chunks do not have");
    RULE(IMPLIES(owner->to_load == 0, owned->arrays_loaded == 0 || is_loaded(owner, owned)),
         "O9 a chunk is loaded whole");
    RULE(owner->filled || (chunk->batches == 0 && owned->snapshot_step == UINT64_MAX),
         "O10 without values there is neither a version nor a snapshot");
}

void owner_check(const struct owner *owner)
{
    uint64_t snapshot_step = UINT64_MAX;
    uint32_t to_load = 0, to_snapshot = 0;
    for (uint32_t i = 0; i < owner->owned_count; i++) {
        const struct owned *owned = &owner->owned[i];
        check_owned(owner, owned);
        RULE(i == 0 || owned[-1].shard.chunk.index < owned->shard.chunk.index,
             "O11 chunks are in the order of their indexes");
        to_load += !is_loaded(owner, owned);
        to_snapshot += owned->snapshot_step != UINT64_MAX;
        RULE(snapshot_step == UINT64_MAX || owned->snapshot_step == UINT64_MAX ||
                 owned->snapshot_step == snapshot_step,
             "O12 one snapshot is under way at a time");
        snapshot_step = owned->snapshot_step != UINT64_MAX ? owned->snapshot_step : snapshot_step;
    }
    RULE(owner->to_load == 0 || owner->to_load == to_load,
         "O13 to_load counts the chunks that are not loaded");
    RULE(owner->to_snapshot == to_snapshot,
         "O14 to_snapshot counts the chunks without their snapshot");
}
