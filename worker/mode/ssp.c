/* ssp.c - stale synchronous parallel at the worker. As async, but a batch's values must be as
 * fresh as the bound promises. The coordinator gives a batch when the slowest is near enough.
 * Values that were asked for before may lack the updates that it waited for:
 *
 *     WORK came while the batch before was computed    its exchange brings new enough values
 *     WORK came after that exchange had left           the newest are pulled first */

#include "common/base/invariant.h"
#include "worker/mode/async.h"

struct ssp_follow {
    struct lease_book book; /* First: async's functions take the block for this. */
    bool computing;         /* The exchange of the current batch has not left. */
    bool late;              /* A held batch came too late for the values that are here. */
};

static struct ssp_follow *state_of(const struct follow *follow)
{
    return follow->state;
}

static void ssp_forget(struct follow *follow)
{
    follow_async_forget(follow);
    state_of(follow)->computing = false;
    state_of(follow)->late = false;
}

/* Values pulled for a late batch are new enough for those before it. */
static void ssp_work(struct follow *follow, struct envelope *envelope,
                     const struct message *message, uint64_t now_us)
{
    struct ssp_follow *state = state_of(follow);
    uint32_t held = state->book.held_count;
    follow_async_work(follow, envelope, message, now_us);
    if (state->book.held_count > held && !state->computing &&
        follow->job->staleness_bound != MODE_UNBOUNDED)
        state->late = true;
}

static enum next ssp_next(struct follow *follow, uint64_t *step)
{
    struct ssp_follow *state = state_of(follow);
    if (state->late) {
        state->late = false;
        return NEXT_PULL;
    }
    enum next next = follow_async_next(follow, step);
    state->computing = next == NEXT_COMPUTE;
    follow->computation.clock = state->book.clock;
    return next;
}

static bool ssp_expects(const struct follow *follow, uint64_t *step)
{
    return !state_of(follow)->late && follow_async_expects(follow, step);
}

static void ssp_push(struct follow *follow, struct message_exchange *what)
{
    if (what->want)
        state_of(follow)->computing = false;
}

static void ssp_check(const struct follow *follow)
{
    const struct ssp_follow *state = state_of(follow);
    follow_async_check(follow);
    INVARIANT("ssp follow", IMPLIES(state->computing, state->book.current != UINT64_MAX),
              "what is computed is a batch");
    INVARIANT("ssp follow", IMPLIES(state->late, state->book.held_count > 0),
              "only a batch that is held came late");
    INVARIANT("ssp follow", IMPLIES(state->late, follow->job->staleness_bound != MODE_UNBOUNDED),
              "without a bound nothing comes late");
}

const struct follow_mode follow_ssp = {
    ASYNC_FOLLOW,
    .state_bytes = sizeof(struct ssp_follow),
    .forget = ssp_forget,
    .next = ssp_next,
    .expects = ssp_expects,
    .push = ssp_push,
    .work = ssp_work,
    .given = "All chunks are here, and new enough for batch {step}: values that were asked for "
             "before the batch was given would have been pulled anew. It is computed from them",
    .check = ssp_check,
};
