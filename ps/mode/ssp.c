/* ssp.c - stale synchronous parallel (Ho et al. 2013), with batches leased as in async: a worker
 * may be S batches ahead of the slowest, and then waits.
 *
 * A worker's clock counts the batches that it has finished in this generation. It gets batch k
 * while  finished + held - minimum <= S,  over the workers that are here and have asked. A
 * worker that joins starts at the minimum, or at the greatest clock there was if none is here: so
 * the minimum never falls in a generation. Other than in the paper, batches are not dealt
 * beforehand: within the bound a slow worker leases fewer. There is no deadlock: the worker at
 * the minimum may always take a batch, and workers that never ask do not count.
 *
 * Chunks are as in async: gradients are applied as they come. */

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "ps/mode/async.h"

struct ssp_clock {
    uint64_t ticket; /* Of its worker; 0: none. */
    uint64_t finished;
    bool waits; /* For the slowest, since it asked last. */
    bool kept;  /* By the policy, when it asked last. */
};

struct ssp_work {
    struct async_work async;  /* First: async's functions take the block for this. */
    struct ssp_clock *clocks; /* [clock_count] by worker. Owned. */
    uint32_t clock_count;
    /* Most batches that a worker was ahead of the slowest, with those it held. */
    uint64_t apart_max;
    uint64_t waits; /* How often a worker had nothing to do because of that. */
};

static struct ssp_work *state_of(const struct work *work)
{
    return work->state;
}

static enum status ssp_grow(struct work *work, uint32_t worker_count)
{
    struct ssp_work *state = state_of(work);
    if (worker_count > state->clock_count) {
        struct ssp_clock *clocks = realloc(state->clocks, worker_count * sizeof *clocks);
        if (clocks == NULL)
            return STATUS_MEMORY;
        memset(clocks + state->clock_count, 0,
               (worker_count - state->clock_count) * sizeof *clocks);
        state->clocks = clocks;
        state->clock_count = worker_count;
    }
    return async_grow(work, worker_count);
}

static enum status ssp_init(struct work *work, uint64_t first)
{
    enum status status = async_init(work, first);
    return status == STATUS_OK ? ssp_grow(work, work->membership.worker_count) : status;
}

static void ssp_free(struct work *work)
{
    free(state_of(work)->clocks);
    async_free_work(work);
}

static bool counts(const struct work *work, uint32_t worker)
{
    const struct member *member = &work->membership.workers[worker];
    const struct ssp_clock *clock = &state_of(work)->clocks[worker];
    return member->present && member->dealt.asks && clock->ticket == member->ticket;
}

/* The least clock of those that count; NULL when none does. */
static const struct ssp_clock *least_clock(const struct work *work)
{
    const struct ssp_clock *clocks = state_of(work)->clocks, *least = NULL;
    for (uint32_t i = 0; i < work->membership.worker_count; i++)
        if (counts(work, i) && (least == NULL || clocks[i].finished < least->finished))
            least = &clocks[i];
    return least;
}

/* If no worker counts: the greatest clock of those that did. */
static uint64_t minimum(const struct work *work)
{
    const struct ssp_clock *clocks = state_of(work)->clocks, *least = least_clock(work);
    uint64_t most = 0;
    if (least != NULL)
        return least->finished;
    for (uint32_t i = 0; i < state_of(work)->clock_count; i++)
        most = clocks[i].finished > most ? clocks[i].finished : most;
    return most;
}

/* A worker's clock, set to the minimum when it asks first. */
static struct ssp_clock *clock_of(struct work *work, uint32_t worker)
{
    struct ssp_clock *clock = &state_of(work)->clocks[worker];
    uint64_t ticket = work->membership.workers[worker].ticket;
    if (clock->ticket == ticket)
        return clock;
    clock->finished = minimum(work);
    clock->ticket = ticket;
    return clock;
}

/* Whether there is a bound: else all is as in async. */
static bool binds(const struct work *work)
{
    return work->job->staleness_bound != MODE_UNBOUNDED;
}

/* Batches that a worker is ahead of the slowest, with those that it holds. */
static uint64_t ahead(const struct work *work, uint32_t worker)
{
    uint64_t batches[WORK_HELD_MAX];
    return state_of(work)->clocks[worker].finished + async_held(work, worker, batches) -
           minimum(work);
}

static bool is_bound(const struct work *work, uint32_t worker)
{
    if (!counts(work, worker))
        return false;
    return work->policy != NULL ? state_of(work)->clocks[worker].kept
                                : ahead(work, worker) > work->job->staleness_bound;
}

/* Whether the policy keeps the worker's next batch from it. */
static bool is_kept(const struct work *work, uint32_t worker)
{
    uint64_t batches[WORK_HELD_MAX], clocks[JOB_WORKERS_MAX];
    const struct ssp_work *state = state_of(work);
    uint32_t count = work->membership.worker_count;
    unsigned held = async_held(work, worker, batches);
    if (held == WORK_HELD_MAX || !leases_has_more(&state->async.leases))
        return false; /* There is none for it now. */
    for (uint32_t i = 0; i < count; i++)
        clocks[i] = counts(work, i) ? state->clocks[i].finished : POLICY_ABSENT;
    return !work->policy->gives(work->policy->context,
                                &(struct policy_work){worker, held, clocks, count});
}

/* A worker with a batch to do gets no further one, but does not wait. Neither does any wait for
 * the slowest when there is no batch to have: at a gate, and at the end. */
static bool waits(const struct work *work, uint32_t worker)
{
    const struct leases *leases = &state_of(work)->async.leases;
    return is_bound(work, worker) && leases_idle(leases, worker) && leases_has_more(leases);
}

static bool ssp_ask(struct work *work, uint32_t worker, uint64_t *batch)
{
    struct ssp_work *state = state_of(work);
    struct ssp_clock *clock = clock_of(work, worker);
    bool waited = clock->waits;
    clock->kept = work->policy != NULL && is_kept(work, worker);
    clock->waits = waits(work, worker);
    state->waits += clock->waits && !waited;
    if (is_bound(work, worker) || !async_ask(work, worker, batch))
        return false;
    uint64_t apart = ahead(work, worker) - 1; /* When it got the batch. */
    state->apart_max = apart > state->apart_max ? apart : state->apart_max;
    return true;
}

/* Others may go on when the minimum has moved. */
static bool ssp_finished(struct work *work, uint32_t worker, uint64_t batch)
{
    uint64_t batches[WORK_HELD_MAX], before = minimum(work);
    unsigned held = async_held(work, worker, batches);
    struct ssp_clock *clock = clock_of(work, worker);
    async_finished(work, worker, batch);
    if (async_held(work, worker, batches) < held) /* Else it was counted before. */
        clock->finished++;
    return binds(work) && (work->policy != NULL || minimum(work) > before);
}

static uint64_t ssp_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far)
{
    memset(state_of(work)->clocks, 0, state_of(work)->clock_count * sizeof(struct ssp_clock));
    return async_go_back(work, step, so_far);
}

/* The lost worker may have been the slowest. */
static bool ssp_has_spare(const struct work *work)
{
    return async_has_spare(work) || (binds(work) && least_clock(work) != NULL);
}

static bool ssp_waits_for(const struct work *work, uint32_t worker, uint32_t *whom)
{
    if (!waits(work, worker))
        return false;
    *whom = (uint32_t)(least_clock(work) - state_of(work)->clocks); /* Its own counts. */
    return true;
}

/* Also of one that has just gone. */
static uint64_t ssp_clock(struct work *work, uint32_t worker)
{
    const struct member *member = &work->membership.workers[worker];
    const struct ssp_clock *clock = &state_of(work)->clocks[worker];
    if (member->present && member->dealt.asks)
        clock = clock_of(work, worker);
    return clock->ticket == member->ticket ? clock->finished : 0;
}

static void ssp_figures(const struct work *work, struct mode_figures *figures)
{
    mode_figures_add(figures, "batches_apart_max", state_of(work)->apart_max);
    mode_figures_add(figures, "waits", state_of(work)->waits);
}

/* No worker that counts is ahead of the slowest by more than the bound and one: it gets that
 * batch when it is just within the bound. */
static void ssp_check(const struct work *work)
{
    const struct ssp_work *state = state_of(work);
    uint64_t batches[WORK_HELD_MAX], least = minimum(work);
    async_check_work(work);
    INVARIANT("ssp", state->clock_count >= work->membership.worker_count,
              "every worker has a clock");
    for (uint32_t i = 0; i < work->membership.worker_count; i++) {
        const struct ssp_clock *clock = &state->clocks[i];
        INVARIANT("ssp", clock->ticket <= work->membership.tickets,
                  "no clock is of a worker that was never admitted");
        INVARIANT("ssp", clock->ticket != 0 || clock->finished == 0,
                  "a clock of no worker stands at 0");
        INVARIANT("ssp",
                  work->job->staleness_bound == MODE_UNBOUNDED || !counts(work, i) ||
                      clock->finished + async_held(work, i, batches) <=
                          least + work->job->staleness_bound + 1,
                  "no worker is further ahead of the slowest than the bound lets it");
    }
}

const struct work_mode work_ssp = {
    ASYNC_WORK,
    .state_bytes = sizeof(struct ssp_work),
    .init = ssp_init,
    .free = ssp_free,
    .grow = ssp_grow,
    .go_back = ssp_go_back,
    .ask = ssp_ask,
    .finished = ssp_finished,
    .has_spare = ssp_has_spare,
    .waits_for = ssp_waits_for,
    .clock = ssp_clock,
    .figures = ssp_figures,
    .gives = "It is leased to you, for it brings you no more than {@bound} batches ahead of the "
             "slowest",
    .check = ssp_check,
};
