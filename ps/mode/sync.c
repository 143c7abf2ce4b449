/* sync.c - synchronous training, one update a step:
 *
 *     node of step t -> aggregator -> root complete -> one update by the sum, divided once
 *
 * Values are asked for by version, and released to all when they are made. The version before
 * stays until a gradient of the newest proves that every chunk has it. A chunk commits on its
 * own, in the order apply, version + 1, release. The sum's bits depend on the tree alone, see
 * proto/CONTRACT.md. */

#include "ps/mode/sync.h"

#include "common/base/invariant.h"

#define SNAPSHOT_MARGIN 2 /* Versions between naming a snapshot and reaching it. */

/* --- one chunk ----------------------------------------------------------------------------- */

static struct sync_shard *state_of(const struct shard *shard)
{
    return shard->state;
}

void sync_open(struct shard *shard)
{
    const struct job *job = &shard->chunk.plan->job;
    if (shard->chunk.version < job->steps)
        aggregator_open(&state_of(shard)->aggregator, job_batch(job, shard->chunk.version).leaves);
}

void sync_forget(struct shard *shard)
{
    aggregator_reset(&state_of(shard)->aggregator);
}

void sync_free(struct shard *shard)
{
    aggregator_free(&state_of(shard)->aggregator);
}

const char *sync_fault(const struct job *job, const struct message_exchange *exchange)
{
    return sync_node_fault(job, exchange, true);
}

const char *sync_node_fault(const struct job *job, const struct message_exchange *exchange,
                            bool whole)
{
    struct batch_range batch = job_batch(job, exchange->step);
    if (exchange->skip)
        return "a step to be skipped, where every leaf counts";
    if (!tree_has(batch.leaves, exchange->node))
        return "not a node of the step's tree";
    if (exchange->retry)
        return NULL;
    uint32_t all =
        job_node_examples(job, batch, exchange->node.first_leaf, exchange->node.leaf_count);
    if (exchange->examples > all || exchange->examples < (whole ? all : 1))
        return "a wrong number of examples";
    if (exchange->base_version != exchange->step)
        return "a gradient of one step made from another version";
    return NULL;
}

enum verdict sync_judge(struct shard *shard, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    if (exchange->step < shard->chunk.version)
        return VERDICT_STALE;
    /* Its base does not exist yet. */
    return exchange->step > shard->chunk.version ? VERDICT_REJECTED : VERDICT_NONE;
}

enum status sync_take(struct shard *shard, const struct message *message, struct frame *gradient,
                      enum verdict *verdict)
{
    const struct message_exchange *exchange = &message->exchange;
    struct sync_shard *state = state_of(shard);
    /* The worker of this gradient has seen every chunk reach the version. */
    chunk_drop_previous(&shard->chunk);
    enum aggregator_result result = aggregator_offer(&state->aggregator, exchange->node, gradient);
    state->complete = result == AGGREGATOR_COMPLETE;
    *verdict = result == AGGREGATOR_DUPLICATE ? VERDICT_DUPLICATE : VERDICT_APPLIED;
    return result == AGGREGATOR_MEMORY ? STATUS_MEMORY : STATUS_OK;
}

enum push_status sync_sent_before(const struct shard *shard,
                                  const struct message_exchange *exchange)
{
    if (exchange->step > shard->chunk.version)
        return PUSH_UNKNOWN;
    if (exchange->step < shard->chunk.version)
        return PUSH_STALE;
    return aggregator_holds(&state_of(shard)->aggregator, exchange->node) ? PUSH_HELD
                                                                          : PUSH_MISSING;
}

bool sync_next_update(struct shard *shard, struct update *update)
{
    struct sync_shard *state = state_of(shard);
    if (!state->complete)
        return false;
    state->complete = false;
    *update = (struct update){
        .gradient = aggregator_take_root(&state->aggregator),
        .what.examples = job_batch(&shard->chunk.plan->job, shard->chunk.version).examples,
        .what.keep_previous = true,
    };
    return true;
}

void sync_applied(struct shard *shard, const struct update *update)
{
    aggregator_recycle(&state_of(shard)->aggregator.spare, update->gradient);
    sync_open(shard);
}

enum release sync_answer(const struct shard *shard, const struct read_request *wanted,
                         struct read_result *read)
{
    const struct chunk *chunk = &shard->chunk;
    uint64_t want = wanted->newest ? chunk->version : wanted->version;
    if (want > chunk->version)
        return RELEASE_LATER;
    if (want < chunk->version && (want + 1 < chunk->version || chunk->previous == NULL))
        return RELEASE_NEVER;
    *read = (struct read_result){.values = want == chunk->version ? chunk->values : chunk->previous,
                                 .version = want};
    return RELEASE_NOW;
}

/* No gradient waits for a step that is made, and none keeps the version before once all have
 * left it. */
void sync_check(const struct shard *shard)
{
    const struct chunk *chunk = &shard->chunk;
    const struct aggregator *aggregator = &state_of(shard)->aggregator;
    const struct job *job = &chunk->plan->job;
    aggregator_check(aggregator);
    INVARIANT("sync shard", !state_of(shard)->complete, "a step that is complete has been made");
    if (aggregator->part_count == 0)
        return;
    INVARIANT("sync shard",
              chunk->version < job->steps &&
                  aggregator->leaf_count == job_batch(job, chunk->version).leaves,
              "gradients wait for the step of the version that there is");
    INVARIANT("sync shard", aggregator->parts[0].node.leaf_count < aggregator->leaf_count,
              "a whole step does not wait");
    INVARIANT("sync shard", aggregator->parts[0].sum->bytes == chunk->values->bytes,
              "sums are as large as the chunk");
    INVARIANT("sync shard", chunk->previous == NULL,
              "with a gradient of this version the one before is dropped");
}

const struct shard_mode shard_sync = {SYNC_SHARD, .published = 2};

/* --- the work ------------------------------------------------------------------------------ */

enum status sync_init(struct work *work, uint64_t first)
{
    (void)work;
    (void)first;
    return STATUS_OK;
}

uint64_t sync_step(const struct work *work)
{
    return work->statistics.step;
}

/* After a worker left in the middle a server may be past it, and will say so. */
uint64_t sync_end(const struct work *work, bool deserted)
{
    return deserted ? work->statistics.step : work->stop_step;
}

uint64_t sync_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far)
{
    return statistics_go_back(&work->statistics, step, so_far);
}

/* Steps are faster than the coordinator hears of them: its router knows the last that it let
 * out. */
bool sync_stop(struct work *work)
{
    (void)work;
    return false;
}

bool sync_owes(const struct work *work, uint32_t worker)
{
    const struct member *member = &work->membership.workers[worker];
    if (work->statistics.step >= work->stop_step)
        return !member->dealt.done;
    struct node run = tree_run(job_batch(work->job, work->statistics.step).leaves,
                               work->assignment.members, member->dealt.position);
    return statistics_lacks(&work->statistics, run);
}

bool sync_may_be_done(const struct work *work, uint32_t worker, const struct message_done *done)
{
    (void)worker;
    return done->step >= work->stop_step; /* Else its DONE is from before it had more work. */
}

bool sync_is_drained(const struct work *work)
{
    (void)work;
    return true;
}

uint64_t sync_next_snapshot(const struct work *work, bool started)
{
    return work->statistics.step + (started ? SNAPSHOT_MARGIN : 1);
}

bool sync_has_reached(const struct work *work, uint64_t step)
{
    return work->statistics.step >= step;
}

/* Steps are counted in order, and none beyond the last. */
void sync_check_work(const struct work *work)
{
    const struct statistics *statistics = &work->statistics;
    INVARIANT("sync work", statistics->first + statistics->updates <= statistics->step,
              "no more updates are counted than steps were made");
    INVARIANT("sync work", statistics->step <= work->job->steps,
              "no step is counted after the last one");
    INVARIANT("sync work", batch_set_above(&statistics->batches) == 0, "steps are no batches");
}

const struct work_mode work_sync = {SYNC_WORK};
