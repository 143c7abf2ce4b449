/* backup.c - synchronous training with backup workers (Chen et al. 2016, TensorFlow's
 * SyncReplicasOptimizer): one update a step, of the leaves of the first R workers.
 *
 *     node of step t -> kept as it came ------.
 *     coordinator: R have reported -> CLOSE --+--> all leaves of the set are here -> one update by
 *                                                  their sum along the pruned tree, divided by
 *                                                  their examples
 *
 * Versions are as in sync: asked for by number, and released when they are made. The version
 * before stays until a gradient of the newest proves that every chunk has it. A late worker
 * finds its version gone, is answered MOVED_ON, and joins the others two versions on. Values are
 * not lent, because lateness is usual here.
 *
 * The coordinator alone decides which leaves count, and what it has decided is in the record before
 * a checkpoint that has it. After a going back it decides anew. So the bits are those of the record,
 * whatever is killed. */

#include <string.h>

#include "common/base/invariant.h"
#include "ps/mode/sync.h"
#include "ps/shard/pruned.h"

#define SETS_HELD 2 /* At a chunk: no server is more than a step behind the coordinator. */

/* --- one chunk ----------------------------------------------------------------------------- */

struct closed {
    bool there;
    uint64_t number;
    struct pruned_step step;
};

struct backup_shard {
    struct pruned pruned;              /* Of step chunk.version. */
    struct closed closed[SETS_HELD];   /* Place step % SETS_HELD. */
    uint64_t in[JOB_WORKERS_MAX / 64]; /* By worker: something of its is in the last update. */
};

static struct backup_shard *state_of(const struct shard *shard)
{
    return shard->state;
}

static const struct job *job_of(const struct shard *shard)
{
    return &shard->chunk.plan->job;
}

/* The leaf set of the step under way, or NULL while it is not known. */
static const struct closed *closed_of(const struct shard *shard)
{
    const struct closed *closed = &state_of(shard)->closed[shard->chunk.version % SETS_HELD];
    return closed->there && closed->number == shard->chunk.version ? closed : NULL;
}

static void backup_forget(struct shard *shard)
{
    struct backup_shard *state = state_of(shard);
    pruned_reset(&state->pruned);
    memset(state->closed, 0, sizeof state->closed);
}

static void backup_free(struct shard *shard)
{
    pruned_free(&state_of(shard)->pruned);
}

static const char *backup_fault(const struct job *job, const struct message_exchange *exchange)
{
    return sync_node_fault(job, exchange, false);
}

/* Whether the sum over so many examples of a node can be a part of the set's. */
static bool is_of_use(const struct closed *closed, struct node node, uint32_t examples)
{
    const struct pruned_step *step = &closed->step;
    return tree_has(step->batch.leaves, node) &&
           examples == leaf_set_examples(&step->set, step->job, step->batch, node);
}

static enum verdict backup_judge(struct shard *shard, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    const struct closed *closed = closed_of(shard);
    enum verdict verdict = sync_judge(shard, message);
    if (verdict == VERDICT_NONE && closed != NULL &&
        !is_of_use(closed, exchange->node, exchange->examples))
        return VERDICT_STALE; /* The step is closed without it. */
    return verdict;
}

static enum status backup_take(struct shard *shard, const struct message *message,
                               struct frame *gradient, enum verdict *verdict)
{
    const struct message_exchange *exchange = &message->exchange;
    /* The worker of this gradient has seen every chunk reach the version. */
    chunk_drop_previous(&shard->chunk);
    enum pruned_result result = pruned_offer(&state_of(shard)->pruned, exchange->node,
                                             exchange->examples, message->index, gradient);
    *verdict = result == PRUNED_DUPLICATE ? VERDICT_DUPLICATE : VERDICT_APPLIED;
    return result == PRUNED_MEMORY ? STATUS_MEMORY : STATUS_OK;
}

static enum push_status backup_sent_before(const struct shard *shard,
                                           const struct message_exchange *exchange)
{
    const struct closed *closed = closed_of(shard);
    if (exchange->step > shard->chunk.version)
        return PUSH_UNKNOWN;
    if (exchange->step < shard->chunk.version)
        return PUSH_STALE;
    if (closed != NULL && !is_of_use(closed, exchange->node, exchange->examples))
        return PUSH_STALE;
    return pruned_holds(&state_of(shard)->pruned, exchange->node, exchange->examples)
               ? PUSH_HELD
               : PUSH_MISSING;
}

static void backup_close_step(struct shard *shard, const struct message_close *close,
                              const struct leaf_set *set)
{
    struct closed *closed = &state_of(shard)->closed[close->step % SETS_HELD];
    /* It is made, or is repeated and will be again. */
    if (close->step < shard->chunk.version || close->step >= shard->chunk.version + SETS_HELD)
        return;
    *closed = (struct closed){
        .there = true,
        .number = close->step,
        .step = {job_of(shard), job_batch(job_of(shard), close->step), *set},
    };
}

/* The gradients that are in the update, their workers, and the gradients that are not. */
static void note_used(struct shard *shard, const struct closed *closed, struct update *update)
{
    struct backup_shard *state = state_of(shard);
    memset(state->in, 0, sizeof state->in);
    for (uint32_t i = 0; i < state->pruned.part_count; i++) {
        const struct pruned_part *part = &state->pruned.parts[i];
        bool used = is_of_use(closed, part->node, part->examples);
        update->used += used;
        update->left += !used;
        state->in[part->worker / 64] |= (uint64_t)used << part->worker % 64;
    }
}

static bool backup_left_out(const struct shard *shard, uint32_t worker)
{
    return !(state_of(shard)->in[worker / 64] >> worker % 64 & 1);
}

static bool backup_next_update(struct shard *shard, struct update *update)
{
    struct backup_shard *state = state_of(shard);
    const struct closed *closed = closed_of(shard);
    if (closed == NULL || !pruned_is_whole(&state->pruned, &closed->step))
        return false;
    const struct pruned_step *step = &closed->step;
    *update = (struct update){
        .what.examples =
            leaf_set_examples(&step->set, step->job, step->batch, tree_root(step->batch.leaves)),
        .what.keep_previous = true,
    };
    note_used(shard, closed, update);
    update->gradient = pruned_take(&state->pruned, step);
    update->lost = update->gradient == NULL;
    return true;
}

static void backup_applied(struct shard *shard, const struct update *update)
{
    aggregator_recycle(&state_of(shard)->pruned.spare, update->gradient);
}

/* No gradient waits for a step that is made, or that could be made now. */
static void backup_check(const struct shard *shard)
{
    const struct chunk *chunk = &shard->chunk;
    const struct pruned *pruned = &state_of(shard)->pruned;
    const struct closed *closed = closed_of(shard);
    pruned_check(pruned);
    INVARIANT("backup shard", closed == NULL || !pruned_is_whole(pruned, &closed->step),
              "a step whose leaves are all in has been made");
    if (pruned->part_count == 0)
        return;
    INVARIANT("backup shard", chunk->version < job_of(shard)->steps,
              "gradients wait for a step that there is");
    INVARIANT("backup shard", pruned->parts[0].sum->bytes == chunk->values->bytes,
              "sums are as large as the chunk");
    INVARIANT("backup shard", chunk->previous == NULL,
              "with a gradient of this version the one before is dropped");
}

const struct shard_mode shard_backup = {
    SHARD_DEFAULTS,
    .state_bytes = sizeof(struct backup_shard),
    .forget = backup_forget,
    .free = backup_free,
    .fault = backup_fault,
    .judge = backup_judge,
    .take = backup_take,
    .sent_before = backup_sent_before,
    .next_update = backup_next_update,
    .applied = backup_applied,
    .judges_late = true,
    .close_step = backup_close_step,
    .left_out = backup_left_out,
    .answer = sync_answer,
    .taken = "keeps it as it came: whether it counts is known when server 0 closes the step",
    .updated = "server 0 has closed the step, and all its leaves that count are in. Their sum, "
               "left + right along the step's tree where both sides have some, is divided by "
               "their {examples} examples, and makes one update",
    .waits = "until version {version} is made: when enough workers have reported, server 0 closes "
             "the step, and it waits for the others no longer",
    .check = backup_check,
};

/* --- the work ------------------------------------------------------------------------------ */

static struct quorum *backup_quorum(const struct work *work)
{
    return work->state;
}

static enum status backup_init(struct work *work, uint64_t first)
{
    quorum_init(backup_quorum(work), work->job, work->policy, first);
    return STATUS_OK;
}

static void backup_free_work(struct work *work)
{
    quorum_free(backup_quorum(work));
}

static uint64_t backup_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far)
{
    quorum_go_back(backup_quorum(work), step);
    return sync_go_back(work, step, so_far);
}

/* A late worker that waits for a later version holds up no other. */
static bool backup_owes(const struct work *work, uint32_t worker)
{
    const struct member *member = &work->membership.workers[worker];
    if (work->statistics.step >= work->stop_step)
        return !member->dealt.done;
    return member->pace.step <= work->statistics.step &&
           quorum_owes(backup_quorum(work), member->dealt.position);
}

static void backup_figures(const struct work *work, struct mode_figures *figures)
{
    const struct quorum_dropped *dropped = &backup_quorum(work)->dropped;
    mode_figures_add(figures, "examples_dropped", dropped->examples);
    mode_figures_add(figures, "gradients_dropped", dropped->reports);
    mode_figures_add(figures, "worker_ms_dropped", (uint64_t)(1e3 * dropped->seconds));
}

static void backup_check_work(const struct work *work)
{
    const struct quorum *quorum = backup_quorum(work);
    sync_check_work(work);
    quorum_check(quorum);
    INVARIANT("backup work", quorum->step == work->statistics.step,
              "the step that is open is the first that is not counted");
}

const struct work_mode work_backup = {
    SYNC_WORK,
    .state_bytes = sizeof(struct quorum),
    .init = backup_init,
    .free = backup_free_work,
    .go_back = backup_go_back,
    .owes = backup_owes,
    .figures = backup_figures,
    .quorum = backup_quorum,
    .starts =
        "That decides which leaves of every step are yours: no worker asks for work, and who is "
        "late with them is not waited for",
    .check = backup_check_work,
};
