/* sync.c - synchronous training at the worker: step after step, its run of leaves of each, from
 * the version that the step before has made everywhere. With backup workers the values of a step
 * may be gone when a late worker asks for them; it then leaves out two steps. */

#include "worker/mode/follow_mode.h"

#define AHEAD 2 /* The step under way will be over before its values are here. */

static enum next sync_next(struct follow *follow, uint64_t *step)
{
    *step = follow->step;
    return follow->step >= follow->stop_step ? NEXT_ENOUGH : NEXT_COMPUTE;
}

static bool sync_expects(const struct follow *follow, uint64_t *step)
{
    *step = follow->step;
    return follow->step < follow->stop_step;
}

static uint32_t sync_nodes(uint32_t leaves, uint32_t members, uint32_t position,
                           struct node nodes[TREE_COVER_MAX])
{
    struct node run = tree_run(leaves, members, position);
    return tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
}

static void sync_push(struct follow *follow, struct message_exchange *what)
{
    what->base_version = what->step;
    what->want_version = what->step + 1;
    if (what->want)
        follow->step = what->step + 1;
}

static void sync_complete(struct follow *follow, uint64_t version, struct envelope *envelope)
{
    (void)envelope;
    follow->step = version;
}

#define SYNC_FOLLOW                                                                                \
    FOLLOW_DEFAULTS, .next = sync_next, .expects = sync_expects, .nodes = sync_nodes,              \
                     .push = sync_push, .complete = sync_complete,                                 \
                     .given = "All chunks are here, all of version {step}. Now step {step} can "   \
                              "be computed from them"

const struct follow_mode follow_sync = {SYNC_FOLLOW};

/* --- backup workers ------------------------------------------------------------------------ */

static bool is_for_all(const struct follow *follow, uint32_t members, uint64_t step)
{
    return job_batch(follow->job, step).leaves >= members;
}

/* Whether the step can be made without this worker: the set of the step before had as many
 * workers as it takes, and they are still here. That does not hold where the set before was
 * dealt to other workers: then the steps that START speaks of may need this one. Nor does it
 * hold for a step with fewer leaves than workers, which waits for all who have one, nor for the
 * step behind it. */
static bool may_leave_out(const struct follow *follow, uint32_t members, uint64_t step)
{
    return step < follow->stop_step && step > follow->closed_end &&
           is_for_all(follow, members, step) && is_for_all(follow, members, step - 1);
}

static bool backup_catch_up(const struct follow *follow, uint32_t members, uint64_t *version)
{
    for (int ahead = 0; ahead < AHEAD && may_leave_out(follow, members, *version); ahead++)
        ++*version;
    return true;
}

const struct follow_mode follow_backup = {SYNC_FOLLOW, .catch_up = backup_catch_up};
