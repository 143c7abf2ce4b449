/* sync.c - synchronous training at the worker: step after step, its run of leaves of each, from
 * the version that the step before has made everywhere. */

#include "worker/mode/follow_mode.h"

static void sync_init(struct follow *follow)
{
    (void)follow;
}

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

static void sync_complete(struct follow *follow, uint64_t version, struct envelope *envelope,
                          uint64_t now_us, struct outbox *outbox)
{
    (void)envelope;
    (void)now_us;
    (void)outbox;
    follow->step = version;
}

static uint64_t sync_done_step(const struct follow *follow)
{
    return follow->step;
}

const struct follow_mode follow_sync = {
    .init = sync_init,
    .forget = sync_init,
    .next = sync_next,
    .expects = sync_expects,
    .nodes = sync_nodes,
    .push = sync_push,
    .complete = sync_complete,
    .done_step = sync_done_step,
    .given =
        "All chunks are here, all of version {step}. Now step {step} can be computed from them",
};
