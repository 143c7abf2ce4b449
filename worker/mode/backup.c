/* backup.c - synchronous training with backup workers, at the worker: step after step, its run
 * of leaves of each, as in sync. A worker that is late for a step finds its values gone. It then
 * leaves out two steps, and goes on in time. */

#include "worker/mode/follow_mode.h"

#define AHEAD 2 /* The step under way will be over before its values are here. */

static void backup_init(struct follow *follow)
{
    (void)follow;
}

static enum next backup_next(struct follow *follow, uint64_t *step)
{
    *step = follow->step;
    if (follow->step >= follow->stop_step)
        return NEXT_ENOUGH;
    bool known = follow->step >= follow->timeline.first && follow->step < follow->known_end;
    return known ? NEXT_COMPUTE : NEXT_WAIT; /* START will say. */
}

static bool backup_expects(const struct follow *follow, uint64_t *step)
{
    *step = follow->step;
    return follow->step < follow->stop_step && follow->step >= follow->timeline.first &&
           follow->step < follow->known_end;
}

static uint32_t backup_nodes(uint32_t leaves, uint32_t members, uint32_t position,
                             struct node nodes[TREE_COVER_MAX])
{
    struct node run = tree_run(leaves, members, position);
    return tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
}

static void backup_push(struct follow *follow, struct message_exchange *what)
{
    what->base_version = what->step;
    what->want_version = what->step + 1;
    if (what->want)
        follow->step = what->step + 1;
}

static void backup_complete(struct follow *follow, uint64_t version, struct envelope *envelope,
                            uint64_t now_us, struct outbox *outbox)
{
    (void)envelope;
    (void)now_us;
    (void)outbox;
    follow->step = version;
}

static bool is_for_all(const struct follow *follow, uint32_t members, uint64_t step)
{
    return timeline_batch(&follow->timeline, follow->job, step).leaves >= members;
}

/* Whether the step can be made without this worker: the set of the step before had as many
 * workers as it takes, and they are still here. That does not hold where the set before was
 * dealt to other workers: then the steps that START speaks of may need this one. Nor does it
 * hold for a step with fewer leaves than workers, which waits for all who have one, nor for the
 * step behind it, nor for a step made of what was dropped. */
static bool may_leave_out(const struct follow *follow, uint32_t members, uint64_t step)
{
    const struct timeline *timeline = &follow->timeline;
    return step < follow->stop_step && step > follow->closed_end && step >= timeline->first &&
           step < follow->known_end && !timeline_is_made_up(timeline, follow->job, step) &&
           is_for_all(follow, members, step) &&
           (step == 0 || (job_requeues(follow->job) && step <= timeline->first) ||
            is_for_all(follow, members, step - 1));
}

static uint64_t backup_catch_up(const struct follow *follow, uint32_t members, uint64_t version)
{
    uint64_t target = version;
    while (target < version + AHEAD && may_leave_out(follow, members, target))
        target++;
    return target;
}

static uint64_t backup_done_step(const struct follow *follow)
{
    return follow->step;
}

const struct follow_mode follow_backup = {
    .init = backup_init,
    .forget = backup_init,
    .next = backup_next,
    .expects = backup_expects,
    .nodes = backup_nodes,
    .push = backup_push,
    .complete = backup_complete,
    .catch_up = backup_catch_up,
    .done_step = backup_done_step,
    .given =
        "All chunks are here, all of version {step}. Now step {step} can be computed from them",
};
