/* async.c - asynchronous training, one update a batch:
 *
 *     gradient of batch b -> had it? a duplicate : one update, whatever others have made meanwhile
 *
 * Reads are answered at once with the newest values. A chunk remembers the batches that it has
 * had (batch_set.h), so that each counts once, however often it is leased. leases.h gives
 * batches to workers. */

#include "ps/mode/async.h"

#include "common/base/invariant.h"
#include "ps/shard/group.h"

/* --- one chunk ----------------------------------------------------------------------------- */

static struct async_shard *state_of(const struct shard *shard)
{
    return shard->state;
}

void async_open(struct shard *shard)
{
    batch_set_init(&state_of(shard)->batches, shard->chunk.batches);
}

const char *async_fault(const struct job *job, const struct message_exchange *exchange)
{
    struct batch_range batch = job_batch(job, exchange->step);
    if (exchange->skip)
        return NULL;
    if (!tree_has(batch.leaves, exchange->node))
        return "not a node of the step's tree";
    if (exchange->node.leaf_count != batch.leaves)
        return "a part of a batch, where batches come whole";
    if (!exchange->retry && exchange->examples != batch.examples)
        return "a wrong number of examples";
    return NULL;
}

/* What becomes of a gradient that the chunk can take: by the policy, or by its staleness. */
static struct policy_answer decide(const struct shard *shard, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    const struct chunk *chunk = &shard->chunk;
    const struct job *job = &chunk->plan->job;
    uint64_t staleness = chunk_staleness(chunk, exchange->base_version);
    if (exchange->skip)
        return (struct policy_answer){.verdict = POLICY_APPLY};
    if (shard->policy != NULL)
        return shard->policy->judge(shard->policy->context,
                                    &(struct policy_gradient){.ticket = exchange->named,
                                                              .count = exchange->count,
                                                              .worker = message->index,
                                                              .base = exchange->base_version,
                                                              .now = chunk->version,
                                                              .step = exchange->step,
                                                              .node = exchange->node,
                                                              .leaves = exchange->node.leaf_count,
                                                              .held = chunk->pending.gradients});
    return (struct policy_answer){.verdict = !shard->rules->too_stale(job, staleness) ? POLICY_APPLY
                                             : job->staleness_loses ? POLICY_IGNORE
                                                                    : POLICY_AGAIN};
}

/* A gradient may be refused and computed again; else `take` acts on what is decided. */
enum verdict async_judge(struct shard *shard, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    struct async_shard *state = state_of(shard);
    if (batch_set_has(&state->batches, exchange->step))
        return VERDICT_DUPLICATE;
    /* Its base does not exist yet: after a going back its worker pulls anew. */
    if (!exchange->skip && exchange->base_version > shard->chunk.version)
        return VERDICT_REJECTED;
    if (!batch_set_can_add(&state->batches, exchange->step))
        return VERDICT_REJECTED;
    /* Its worker has read others since, as after a WELCOME: it computes the batch from these. */
    uint64_t staleness = chunk_staleness(&shard->chunk, exchange->base_version);
    if (!exchange->skip && group_needs_base(&shard->chunk, staleness) &&
        base_versions_find(&state->bases, exchange->base_version) == NULL)
        return VERDICT_STALE;
    state->decided = decide(shard, message);
    return state->decided.verdict == POLICY_AGAIN ? VERDICT_STALE : VERDICT_NONE;
}

enum status async_take(struct shard *shard, const struct message *message, struct frame *gradient,
                       enum verdict *verdict)
{
    const struct message_exchange *exchange = &message->exchange;
    struct async_shard *state = state_of(shard);
    state->taken = true;
    state->batch = exchange->step;
    state->update = (struct update){
        .gradient = gradient,
        .what.examples = exchange->examples,
        .what.staleness = chunk_staleness(&shard->chunk, exchange->base_version),
    };
    bool lost = state->decided.verdict == POLICY_IGNORE;
    bool moves = gradient != NULL && group_needs_base(&shard->chunk, state->update.what.staleness);
    const struct frame *base =
        moves ? base_versions_find(&state->bases, exchange->base_version) : NULL;
    state->update.what.base = base != NULL ? base->data : NULL;
    if (shard->policy != NULL)
        shard->chunk.pending.closes = state->decided.verdict == POLICY_APPLY;
    if (shard->policy != NULL && !lost)
        shard->chunk.pending.rate = state->decided.rate;
    if (lost) {
        frame_release(gradient);
        gradient = state->update.gradient = NULL;
    }
    *verdict = gradient != NULL                ? VERDICT_APPLIED
               : lost && shard->policy == NULL ? VERDICT_STALE
                                               : VERDICT_REJECTED;
    return STATUS_OK;
}

enum push_status async_sent_before(const struct shard *shard,
                                   const struct message_exchange *exchange)
{
    return batch_set_has(&state_of(shard)->batches, exchange->step) ? PUSH_HAD : PUSH_MISSING;
}

bool async_next_update(struct shard *shard, struct update *update)
{
    struct async_shard *state = state_of(shard);
    if (!state->taken)
        return false;
    state->taken = false;
    *update = state->update;
    return true;
}

void async_applied(struct shard *shard, const struct update *update)
{
    struct async_shard *state = state_of(shard);
    batch_set_add(&state->batches, state->batch);
    frame_release(update->gradient);
}

enum release async_answer(const struct shard *shard, const struct read_request *wanted,
                          struct read_result *read)
{
    (void)wanted;
    *read = (struct read_result){.values = shard->chunk.values, .version = shard->chunk.version};
    return RELEASE_NOW;
}

/* Where gradients are compensated a worker gets only values that can be kept as its base. */
bool async_gives(struct shard *shard, const struct message *message, const struct read_result *read)
{
    const struct base_request to = {message->index, message->ticket, message->request};
    struct frame *replaced;
    if (shard->chunk.plan->job.delay_compensation == 0.0f)
        return true;
    enum status status =
        base_versions_keep(&state_of(shard)->bases, to, read->values, read->version, &replaced);
    chunk_recycle(&shard->chunk, replaced);
    return status == STATUS_OK;
}

void async_forget(struct shard *shard)
{
    base_versions_forget(&state_of(shard)->bases);
}

void async_free(struct shard *shard)
{
    base_versions_free(&state_of(shard)->bases);
}

void async_check(const struct shard *shard)
{
    const struct batch_set *batches = &state_of(shard)->batches;
    const struct chunk *chunk = &shard->chunk;
    batch_set_check(batches);
    INVARIANT("async shard", !state_of(shard)->taken, "a gradient that was taken is applied");
    INVARIANT("async shard", batches->low + batch_set_above(batches) == chunk->batches,
              "all batches that the chunk has had are counted");
    INVARIANT("async shard", chunk->previous == NULL, "no version before is kept");
    base_versions_check(&state_of(shard)->bases, chunk->values->bytes, chunk->version);
}

const struct shard_mode shard_async = {ASYNC_SHARD};

/* --- the work ------------------------------------------------------------------------------ */

_Static_assert(LEASES_A_WORKER <= WORK_HELD_MAX, "all batches of a worker fit");

static struct leases *leases_of(const struct work *work)
{
    return &((struct async_work *)work->state)->leases;
}

enum status async_init(struct work *work, uint64_t first)
{
    return leases_init(leases_of(work), work->membership.worker_count, first, work->job->steps);
}

void async_free_work(struct work *work)
{
    leases_free(leases_of(work));
}

enum status async_grow(struct work *work, uint32_t worker_count)
{
    return leases_grow(leases_of(work), worker_count);
}

uint64_t async_step(const struct work *work)
{
    return leases_of(work)->done.low;
}

uint64_t async_end(const struct work *work, bool deserted)
{
    (void)deserted;
    return leases_of(work)->done.low;
}

uint64_t async_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far)
{
    leases_go_back(leases_of(work), step);
    leases_of(work)->gate = work->job->steps;
    return statistics_go_back(&work->statistics, step, so_far);
}

bool async_stop(struct work *work)
{
    leases_stop(leases_of(work));
    work->stop_step = leases_of(work)->limit;
    return true;
}

bool async_owes(const struct work *work, uint32_t worker)
{
    return !leases_idle(leases_of(work), worker) ||
           (leases_exhausted(leases_of(work)) && !work->membership.workers[worker].dealt.done);
}

/* Else it has batches that were another's. */
bool async_may_be_done(const struct work *work, uint32_t worker, const struct message_done *done)
{
    (void)done;
    return leases_idle(leases_of(work), worker);
}

bool async_is_drained(const struct work *work)
{
    return leases_exhausted(leases_of(work)) && leases_drained(leases_of(work));
}

uint64_t async_next_snapshot(const struct work *work, bool started)
{
    (void)started;
    return leases_of(work)->next;
}

/* Every batch before it is done. */
bool async_has_reached(const struct work *work, uint64_t step)
{
    (void)work;
    (void)step;
    return true;
}

bool async_set_gate(struct work *work, uint64_t step)
{
    leases_of(work)->gate = step;
    return true;
}

uint64_t async_gate(const struct work *work)
{
    return leases_of(work)->gate;
}

bool async_is_gated(const struct work *work)
{
    const struct leases *leases = leases_of(work);
    return leases->next == leases->gate && leases->gate < work->job->steps &&
           leases->returned_count == 0;
}

bool async_is_at_gate(const struct work *work)
{
    return async_is_gated(work) && leases_drained(leases_of(work));
}

bool async_ask(struct work *work, uint32_t worker, uint64_t *batch)
{
    return leases_take(leases_of(work), worker, batch);
}

unsigned async_held(const struct work *work, uint32_t worker, uint64_t batches[WORK_HELD_MAX])
{
    return leases_held(leases_of(work), worker, batches);
}

bool async_finished(struct work *work, uint32_t worker, uint64_t batch)
{
    leases_finish(leases_of(work), worker, batch);
    return false; /* In async no worker waits for another. */
}

bool async_is_enough(const struct work *work, uint32_t worker)
{
    return leases_exhausted(leases_of(work)) && leases_idle(leases_of(work), worker);
}

void async_lost(struct work *work, uint32_t worker)
{
    leases_return(leases_of(work), worker);
}

bool async_has_spare(const struct work *work)
{
    return leases_of(work)->returned_count > 0;
}

void async_check_work(const struct work *work)
{
    const struct leases *leases = leases_of(work);
    const struct statistics *statistics = &work->statistics;
    leases_check(leases);
    batch_set_check(&statistics->batches);
    INVARIANT("async work", leases->worker_count >= work->membership.worker_count,
              "every worker has places for leases");
    INVARIANT("async work", leases->limit <= work->job->steps && work->stop_step <= leases->limit,
              "no batch is given out after the last step");
    INVARIANT("async work", leases->gate <= work->job->steps, "no gate is after the last step");
    INVARIANT("async work",
              statistics->first + statistics->updates ==
                  statistics->batches.low + batch_set_above(&statistics->batches),
              "every batch that was reported is one update");
}

const struct work_mode work_async = {ASYNC_WORK};
