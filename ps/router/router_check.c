/* router_check.c - the invariants of a router between two messages. */

#include "common/base/invariant.h"
#include "ps/router/router_state.h"

#define RULE(condition, rule) INVARIANT("router", condition, rule)

static void check_plan(const struct router *r)
{
    const struct partition *partition = &r->plan->partition;
    RULE(r->plan->server == r->options.self.index, "the plan is this server's");
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        RULE(partition->chunks[i].server != r->plan->server ||
                 r->owner_of[i] < r->options.owner_count,
             "every chunk of this server has an owner");
    RULE(r->stop_step <= r->plan->job.steps, "it stops at the last step at the latest");
    RULE(r->released <= r->stop_step, "no version is given out after the last one");
    sessions_check(&r->sessions);
    descriptions_check(&r->descriptions);
}

static void check_loading(const struct router *r)
{
    bool any = r->owners_loaded > 0 || r->checkpointer_loaded;
    bool all = r->owners_loaded == r->options.owner_count && r->checkpointer_loaded;
    RULE(IMPLIES(r->state == ROUTER_JOINING, !any), "with the job comes the first LOAD");
    RULE(r->owners_loaded <= r->options.owner_count, "no LOAD is answered twice");
    RULE(all == (r->state == ROUTER_SERVING), "it serves when all have answered LOAD");
    RULE(IMPLIES(r->state != ROUTER_JOINING, r->joining.started && r->plan != NULL),
         "who loads knows the job");
    RULE(IMPLIES(r->needs_chunks, r->checkpointer_loaded),
         "the checkpointer says whether chunks have to come");
}

static void check_snapshot(const struct router *r)
{
    const struct router_snapshot *snapshot = &r->snapshot;
    RULE(IMPLIES(snapshot->named, r->state == ROUTER_SERVING),
         "a router that takes a snapshot serves");
    RULE(
        IMPLIES(!snapshot->named, snapshot->owners == 0 && !snapshot->said && !snapshot->part_said),
        "no owner answers for a snapshot that is not named");
    RULE(!snapshot->named || snapshot->said == (snapshot->owners == r->options.owner_count),
         "CUT_TAKEN is said when all owners have answered");
    RULE(IMPLIES(snapshot->part_said, snapshot->part.step == snapshot->cut.step &&
                                          snapshot->part.server == r->options.self.index),
         "the part that was written is of this snapshot");
    RULE(IMPLIES(snapshot->named, snapshot->patience_us > 0),
         "a snapshot that fails is not begun anew at once");
}

void router_check(const struct router *router)
{
    const struct router *r = router;
    joining_check(&r->joining);
    /* What ended it may be half done. */
    if (r->joining.over)
        return;
    RULE((r->plan == NULL) == (r->sessions.all == NULL) &&
             (r->plan == NULL) == (r->owner_of == NULL),
         "sessions and owners come with the plan");
    if (r->plan != NULL)
        check_plan(r);
    check_loading(r);
    check_snapshot(r);
    RULE(r->counts.received >= r->rejected, "what was rejected was received");
    RULE(r->counts_logged.fenced <= r->counts.fenced &&
             r->counts_logged.dropped <= r->counts.dropped &&
             r->counts_logged.refused <= r->counts.refused,
         "no more was reported than was counted");
}
