/* scored.c - one reference, to the values of the last scored count. */

#include "ps/shard/scored.h"

#include "common/base/invariant.h"

static void drop(struct scored *scored)
{
    frame_release(scored->values);
    scored->values = NULL;
}

bool scored_pass(struct scored *scored, const struct chunk *chunk)
{
    uint64_t batches = chunk->batches;
    if (batches == scored->batches || !job_scores_at(&chunk->plan->job, batches))
        return false;
    drop(scored);
    scored->batches = batches;
    if (batches > scored->settled)
        scored->values = chunk_keep(chunk);
    return true;
}

void scored_let_go(struct scored *scored, uint64_t batches)
{
    if (batches > scored->settled)
        scored->settled = batches;
    if (scored->batches <= scored->settled)
        drop(scored);
}

void scored_forget(struct scored *scored)
{
    drop(scored);
    *scored = (struct scored){0};
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("scored", condition, rule)

void scored_check(const struct scored *scored, const struct chunk *chunk)
{
    RULE(scored->batches <= chunk->batches, "no count was passed that is not reached");
    RULE(scored->batches == 0 || job_scores_at(&chunk->plan->job, scored->batches),
         "only values that are scored are kept");
    RULE(IMPLIES(scored->values != NULL, scored->batches > scored->settled),
         "nothing is kept that will not be asked for");
    RULE(scored->values == NULL || scored->values->bytes == chunk->count * sizeof(float),
         "they are as many as the chunk's");
}
