/* owner_check.c - what is true of an owner between two messages. */

#include "common/base/invariant.h"
#include "ps/owner/owner_state.h"

#define RULE(condition, rule) INVARIANT("owner", condition, rule)

static bool is_loaded(const struct owner *owner, const struct owned *owned)
{
    return owned->arrays_loaded == (1u << (1 + owner->plan->slots.count)) - 1;
}

static void check_parked(const struct owner *owner, const struct owned *owned)
{
    struct reply reply;
    RULE((owned->parked == NULL) == (owned->parked_count == 0),
         "places to park in are there or not");
    for (uint32_t i = 0; i < owned->parked_count; i++) {
        if (!owned->parked[i].waiting)
            continue;
        RULE(owner->rules->answer(&owned->shard, &owned->parked[i].wish, &reply) == WHEN_LATER,
             "a parked request wants a version that is not there");
        RULE(owner->to_load == 0, "nobody waits for a version while chunks are loaded");
    }
}

static void check_owned(const struct owner *owner, const struct owned *owned)
{
    const struct chunk *chunk = &owned->shard.chunk;
    shard_check(&owned->shard);
    scored_check(&owned->scored, chunk);
    check_parked(owner, owned);
    RULE(chunk->plan == owner->plan && owned->shard.rules == owner->rules,
         "every chunk is of the one plan, and follows its rules");
    RULE(owned->cut_step == UINT64_MAX || owned->cut_step > chunk->batches,
         "a cut is made as soon as its batches are there");
    RULE(IMPLIES(owned->cut_step != UINT64_MAX, owner->to_load == 0),
         "nothing is cut while chunks are loaded");
    RULE(IMPLIES(owner->records && owner->to_load == 0,
                 owned->entries.from + owned->entries.count == chunk->batches),
         "every batch that a chunk has had is noted");
    RULE(owned->arrays_loaded < 1u << (1 + owner->plan->slots.count),
         "no array was loaded that chunks do not have");
    RULE(IMPLIES(owner->to_load == 0, owned->arrays_loaded == 0 || is_loaded(owner, owned)),
         "a chunk is loaded whole");
    RULE(owner->filled || (chunk->batches == 0 && owned->cut_step == UINT64_MAX),
         "without values there is neither a version nor a cut");
}

void owner_check(const struct owner *owner)
{
    uint64_t cut_step = UINT64_MAX;
    uint32_t to_load = 0, to_cut = 0;
    for (uint32_t i = 0; i < owner->owned_count; i++) {
        const struct owned *owned = &owner->owned[i];
        check_owned(owner, owned);
        RULE(i == 0 || owned[-1].shard.chunk.index < owned->shard.chunk.index,
             "chunks are in the order of their indexes");
        to_load += !is_loaded(owner, owned);
        to_cut += owned->cut_step != UINT64_MAX;
        RULE(cut_step == UINT64_MAX || owned->cut_step == UINT64_MAX || owned->cut_step == cut_step,
             "one cut is under way at a time");
        cut_step = owned->cut_step != UINT64_MAX ? owned->cut_step : cut_step;
    }
    RULE(owner->to_load == 0 || owner->to_load == to_load,
         "to_load counts the chunks that are not loaded");
    RULE(owner->to_cut == to_cut, "to_cut counts the chunks that are not cut");
}
