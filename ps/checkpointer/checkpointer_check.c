/* checkpointer_check.c - the invariants of a checkpointer between two messages. */

#include "common/base/invariant.h"
#include "ps/checkpointer/checkpointer_state.h"
#include "ps/checkpointer/kept_model.h"

#define RULE(condition, rule) INVARIANT("checkpointer", condition, rule)

static void check_part(const struct checkpointer *k, uint32_t server)
{
    const struct part *part = &k->parts[server];
    uint32_t arrays = 0, chunks = plan_chunks_of(k->plan, server);
    RULE((part->chunks == NULL) == (part->frames == NULL), "a part has chunks and frames, or none");
    RULE(part->chunks != NULL || (part->chunk_count == 0 && part->arrays_received == 0),
         "nothing has come for a part that has not begun");
    RULE(part->chunk_count <= chunks, "a part has its server's chunks, and no more");
    for (uint32_t i = 0; i < part->chunk_count; i++)
        for (uint32_t array = 0; array <= k->plan->slots.count; array++)
            arrays += part->chunks[i].arrays[array] != NULL;
    for (uint32_t i = 0; i < part->chunk_count; i++)
        arrays += (part->chunks[i].entries != NULL) + (part->chunks[i].descriptions != NULL);
    RULE(arrays == part->arrays_received, "arrays_received counts the arrays that are there");
    RULE(IMPLIES(part->chunks != NULL,
                 arrays < chunks * (1 + k->plan->slots.count + (k->records ? 2 : 0))),
         "a part that is whole has been written");
    for (uint32_t i = 0; i < part->arrays_received; i++)
        RULE(part->frames[i] != NULL, "every array that came is held");
}

void checkpointer_check(const struct checkpointer *checkpointer)
{
    const struct checkpointer *k = checkpointer;
    bool first = k->options.server == 0, any_asked = false;
    for (uint32_t i = 0; i < JOB_SERVERS_MAX; i++)
        any_asked = any_asked || k->asked[i];
    RULE((k->parts == NULL) == (k->part_count == 0), "there are parts or none");
    RULE(IMPLIES(k->part_count > 0, k->plan != NULL && k->part_count == k->plan->job.server_count),
         "there is a part for each server of the job");
    for (uint32_t i = 0; i < k->part_count; i++)
        check_part(k, i);
    kept_model_check(k);
    RULE(IMPLIES(any_asked, k->plan == NULL), "with the plan those who asked have been answered");
    RULE(first || (!k->directory_open && !k->reader_open && !any_asked),
         "only server 0 has the run directory, and a checkpoint open");
    RULE(IMPLIES(k->directory_open, k->job.server_count > 0), "who opens a run knows its job");
    RULE(IMPLIES(k->directory_open && k->plan != NULL, k->claim.run_id != 0),
         "who loads a run has claimed it");
    RULE(IMPLIES(k->directory_open, k->generation <= k->claim.number),
         "no generation counts that is not recorded");
}
