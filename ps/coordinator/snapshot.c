/* snapshot.c - when checkpoints are taken: names the next step or gate, handles the answers of
 * servers and checkpointer, and gives up when none come. */

#include "ps/coordinator/snapshot.h"

#include "common/kernels/kernels.h"
#include "common/store/run_record.h"
#include "ps/shard/update_log.h"

#define REPEAT_US 1000000u

void snapshot_drop(struct snapshot *s, const struct run *run)
{
    s->given_up_us = 0;
    if (!s->under_way)
        return;
    s->under_way = false;
    s->failed++;
    order_event(run->outbox, EVENT_CHECKPOINT_GIVEN_UP, .step = s->step);
}

/* --- questions ----------------------------------------------------------------------------- */

/* The first server without the mark; NULL: all have it. */
static const struct member *find_without(const struct run *run, enum snapshot_mark mark,
                                         uint32_t *index)
{
    for (*index = 0; *index < run->members->server_count; ++*index)
        if ((run->members->servers[*index].kept.snapshot & mark) == 0)
            return &run->members->servers[*index];
    return NULL;
}

static bool all_have(const struct run *run, enum snapshot_mark mark)
{
    uint32_t index;
    return find_without(run, mark, &index) == NULL;
}

bool snapshot_is_taken(const struct run *run)
{
    return all_have(run, SNAPSHOT_TAKEN);
}

static bool has_reached(const struct snapshot *s, const struct run *run)
{
    return run->work.rules->has_reached(&run->work, s->step);
}

bool snapshot_is_reached(const struct snapshot *s, const struct run *run)
{
    return s->under_way && has_reached(s, run);
}

/* Whether training waits at the gate for this snapshot. */
static bool is_gated(const struct snapshot *s, const struct run *run)
{
    return run->work.rules->gate(&run->work) == s->step;
}

bool snapshot_holds(const struct snapshot *s, const struct run *run)
{
    return (s->under_way || s->given_up_us != 0) && is_gated(s, run);
}

bool snapshot_is_beside(const struct snapshot *s, const struct run *run)
{
    return s->under_way && !s->final && s->reached_us != 0 && !is_gated(s, run);
}

/* --- when ---------------------------------------------------------------------------------- */

struct effect snapshot_schedule(struct snapshot *s, struct run *run, bool started)
{
    const struct work_mode *rules = run->work.rules;
    uint64_t every = job_checkpoint_every(run->job);
    uint64_t reached = rules->next_snapshot(&run->work, started);
    /* The record lies in memory until the next snapshot. */
    if ((run_records(run) || run_quorum(run) != NULL) && (every == 0 || every > RECORD_BATCHES_MAX))
        every = RECORD_BATCHES_MAX;
    if (every == 0 || run->stopping || run->state != RUNNING)
        return NO_EFFECT;
    uint64_t due = (s->due == NO_STEP ? run->first_step : s->due) / every * every + every;
    while (due < reached && due < run->job->steps) {
        due += every;
        s->skipped++;
    }
    /* The last one is taken when training has ended, wherever that will be. */
    if (due >= run->job->steps)
        return NO_EFFECT;
    if (rules->set_gate(&run->work, due))
        return NO_EFFECT;
    return (struct effect){.kind = EFFECT_SNAPSHOT_DUE, .step = due};
}

struct effect snapshot_at_gate(const struct snapshot *s, const struct run *run, uint32_t last)
{
    const struct work_mode *rules = run->work.rules;
    if (!rules->is_at_gate(&run->work) || s->under_way || s->given_up_us != 0 || run->stopping)
        return NO_EFFECT;
    return (struct effect){
        .kind = EFFECT_SNAPSHOT_DUE, .step = rules->gate(&run->work), .index = last};
}

/* In place of one that is due later and not begun, which is named again afterwards. */
struct effect snapshot_by_clock(const struct snapshot *s, struct run *run)
{
    const struct work_mode *rules = run->work.rules;
    if (run->state != RUNNING || run->stopping || s->given_up_us != 0 ||
        (s->under_way && s->reached_us != 0) ||
        !job_checkpoint_is_old(run->job, run_since(run, s->over_us)))
        return NO_EFFECT;
    uint64_t step = rules->next_snapshot(&run->work, true);
    uint64_t before = s->due == NO_STEP ? run->first_step : s->due;
    uint64_t due = s->under_way ? s->step : rules->gate(&run->work);
    if (step <= before || step >= due || step >= run->job->steps)
        return NO_EFFECT;
    if (rules->set_gate(&run->work, step))
        return snapshot_at_gate(s, run, 0); /* Perhaps no batch is out. */
    return (struct effect){.kind = EFFECT_SNAPSHOT_DUE, .step = step};
}

/* --- under way ----------------------------------------------------------------------------- */

static void tell(const struct snapshot *s, const struct run *run, const struct member *server)
{
    struct packet *packet = run_send(run, server->peer, MESSAGE_CUT);
    packet->message.cut.step = s->step;
    packet->message.cut.final = s->final;
    packet->message.cut.recorded = s->recorded;
    packet->message.cut.number = s->number;
}

/* To servers that have not answered for a while. */
static void repeat(struct snapshot *s, const struct run *run)
{
    const struct membership *all = run->members;
    unsigned wanted = s->given_up_us != 0 ? SNAPSHOT_ANSWERED : SNAPSHOT_TAKEN | SNAPSHOT_WRITTEN;
    if (run->now_us - s->sent_us < REPEAT_US)
        return;
    s->sent_us = run->now_us;
    for (uint32_t i = 0; i < all->server_count; i++)
        if ((all->servers[i].kept.snapshot & wanted) != wanted)
            tell(s, run, &all->servers[i]);
}

/* From here on it is being written. */
static void reach(struct snapshot *s, const struct run *run)
{
    if (s->reached_us != 0)
        return;
    s->reached_us = s->over_us = run->now_us;
    s->reached_wall_us = run_wall(run);
}

void snapshot_begin(struct snapshot *s, struct run *run, uint64_t step, bool final)
{
    s->under_way = true;
    s->final = final;
    s->collected = false;
    s->step = step;
    s->number++;
    s->recorded = run->whole != NO_STEP ? run->whole : run->first_step;
    s->named_us = s->sent_us = run->now_us;
    s->reached_us = s->given_up_us = 0;
    for (uint32_t i = 0; i < run->members->server_count; i++) {
        struct member *server = &run->members->servers[i];
        server->kept.snapshot = 0;
        tell(s, run, server);
    }
    statistics_mark(&run->work.statistics, step);
    if (has_reached(s, run))
        reach(s, run);
}

bool snapshot_open_gate(const struct snapshot *s, struct run *run)
{
    if (!is_gated(s, run))
        return false;
    run->work.rules->set_gate(&run->work, run->job->steps);
    return true;
}

/* Nothing is in the way of training and of the next checkpoint any more. */
static struct effect leave_snapshot(struct snapshot *s)
{
    s->given_up_us = 0;
    return (struct effect){.kind = EFFECT_SNAPSHOT_OVER};
}

/* Some server may have applied its pending gradients, and another not yet. Computations
 * meanwhile would be in groups that end elsewhere, and no later checkpoint be of one version. */
static bool must_be_had_by_all(const struct snapshot *s, const struct run *run)
{
    return job_accumulates(run->job) && is_gated(s, run) && !all_have(run, SNAPSHOT_ANSWERED);
}

/* Give up the snapshot under way: `failed`, or because training had passed it. */
static struct effect abandon_snapshot(struct snapshot *s, const struct run *run, bool failed,
                                      const char *why)
{
    if (log_once_add(&s->log_once, why))
        outbox_warn(run->outbox, "checkpoint at step %" PRIu64 " not written: %s", s->step, why);
    s->under_way = false;
    s->over_us = run->now_us;
    s->failed += failed;
    s->skipped += !failed;
    order_event(run->outbox, EVENT_CHECKPOINT_FAILED, .step = s->step);
    if (s->final && run->deserted && !failed)
        return (struct effect){.kind = EFFECT_SNAPSHOT_REFUSED};
    if (s->final)
        return effect_failed(EXIT_CANNOT_OPEN, "the last checkpoint was not written: %s", why);
    s->due = s->step;
    if (!must_be_had_by_all(s, run))
        return leave_snapshot(s);
    s->given_up_us = run->now_us;
    return NO_EFFECT;
}

struct effect snapshot_hear_taken(struct snapshot *s, const struct run *run, struct member *server,
                                  const struct packet *packet)
{
    const struct message_cut_taken *taken = &packet->message.cut_taken;
    if (taken->step != s->step)
        return NO_EFFECT;
    server->kept.snapshot |= SNAPSHOT_ANSWERED;
    if (s->given_up_us != 0 && !must_be_had_by_all(s, run))
        return leave_snapshot(s);
    if (!s->under_way || (server->kept.snapshot & SNAPSHOT_TAKEN) != 0)
        return NO_EFFECT;
    if (!taken->taken)
        return abandon_snapshot(s, run, false,
                                s->final ? "a server could not take it, and its log says why"
                                         : "training had passed that step");
    server->kept.snapshot |= SNAPSHOT_TAKEN;
    reach(s, run);
    bool opens = is_gated(s, run) && !s->final && all_have(run, SNAPSHOT_TAKEN);
    return (struct effect){.kind = opens ? EFFECT_GATE_OPEN : EFFECT_NONE};
}

/* --- the manifest -------------------------------------------------------------------------- */

/* The instructions of gradients. All workers' arithmetic gives the same bits where that matters. */
static uint32_t instructions_of(const struct membership *membership)
{
    enum kernels_instructions instructions;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        if (membership->workers[i].ever)
            return kernels_instructions_named(membership->workers[i].arithmetic, &instructions)
                       ? instructions
                       : RUN_RECORD_OTHERS;
    return RUN_RECORD_OTHERS;
}

/* The servers' parts, and behind them the sets of steps since the newest checkpoint. */
static struct frame *gather_parts(const struct run *run, uint64_t step)
{
    const struct membership *all = run->members;
    const struct quorum *quorum = run_quorum(run);
    size_t bytes = all->server_count * sizeof(struct checkpoint_part);
    struct frame *parts =
        quorum != NULL ? quorum_list(quorum, bytes, quorum->first, step) : frame_create(bytes);
    struct checkpoint_part *to = parts != NULL ? parts->data : NULL;
    for (uint32_t i = 0; to != NULL && i < all->server_count; i++)
        to[i] = all->servers[i].kept.part;
    return parts;
}

/* At the end there are no more scores to come. */
struct effect snapshot_collect(struct snapshot *s, const struct run *run)
{
    if (!s->under_way || s->collected || !all_have(run, SNAPSHOT_WRITTEN) ||
        (!s->final && !has_reached(s, run)))
        return NO_EFFECT;
    struct frame *parts = gather_parts(run, s->step);
    if (parts == NULL)
        return abandon_snapshot(s, run, true, "out of memory");
    const struct order manifest = {.kind = ORDER_MANIFEST,
                                   .generation = run->envelope.generation,
                                   .manifest = {s->step,
                                                statistics_so_far(&run->work.statistics, s->step),
                                                instructions_of(run->members)}};
    order_add(run->outbox, TO_CHECKPOINTER, 0, &manifest)->payload = parts;
    s->collected = true;
    return NO_EFFECT;
}

struct effect snapshot_hear_part(struct snapshot *s, const struct run *run,
                                 const struct packet *packet)
{
    const struct message_part_written *written = &packet->message.part_written;
    if (!s->under_way || s->collected || written->step != s->step ||
        written->server >= run->members->server_count)
        return NO_EFFECT;
    if (!written->written)
        return abandon_snapshot(s, run, true, written->text);
    reach(s, run);
    struct member *server = &run->members->servers[written->server];
    server->kept.part = written->part;
    server->kept.snapshot |= SNAPSHOT_WRITTEN;
    return snapshot_collect(s, run);
}

struct effect snapshot_hear_manifest(struct snapshot *s, struct run *run,
                                     const struct order_written *written)
{
    uint64_t bytes = 0;
    const struct membership *all = run->members;
    if (!s->under_way || written->step != s->step)
        return NO_EFFECT;
    if (written->status != STATUS_OK)
        return abandon_snapshot(s, run, true, written->text);
    s->under_way = false;
    run->whole = s->due = s->step;
    uint64_t failed = log_once_end(&s->log_once);
    if (failed > 0)
        outbox_log(run->outbox, "checkpoints are written again; %" PRIu64 " were not", failed);
    for (uint32_t i = 0; i < all->server_count; i++)
        bytes += all->servers[i].kept.part.bytes;
    order_event(run->outbox, EVENT_CHECKPOINT, .step = s->step,
                .seconds = seconds_since(s->reached_wall_us, run_wall(run)), .bytes = bytes);
    return (struct effect){.kind = EFFECT_SNAPSHOT_WHOLE};
}

/* --- time ---------------------------------------------------------------------------------- */

/* A snapshot that was given up is sent until all have answered. A server that is away has its
 * own deadline. */
static struct effect watch_given_up(struct snapshot *s, const struct run *run)
{
    enum role role;
    uint32_t index;
    double seconds = run->options.deadlines.recovery;
    if (membership_awaited(run->members, &role, &index) != NULL)
        s->given_up_us = run->now_us;
    const struct member *server = find_without(run, SNAPSHOT_ANSWERED, &index);
    if (server != NULL && run_since(run, s->given_up_us) > seconds)
        return effect_failed(
            EXIT_CLUSTER_LOST,
            "ps/%u (on %s) is alive, but has not answered for %s what became of the "
            "checkpoint at step %" PRIu64,
            index, server->host, wording_duration(seconds).text, s->step);
    repeat(s, run);
    return NO_EFFECT;
}

struct effect snapshot_tick(struct snapshot *s, const struct run *run)
{
    if (s->given_up_us != 0 && run->state == RUNNING)
        return watch_given_up(s, run);
    if (!s->under_way || (run->state != RUNNING && run->state != CLOSING))
        return NO_EFFECT;
    if (has_reached(s, run))
        reach(s, run);
    if (!s->final && s->reached_us != 0 &&
        run_since(run, s->reached_us) > run->options.deadlines.stop)
        return abandon_snapshot(s, run, true, "it took too long");
    repeat(s, run);
    return NO_EFFECT;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(number, condition, rule) INVARIANT("coordinator", condition, rule " (S" #number ")")

static void check_marks(const struct snapshot *s, const struct run *run)
{
    bool any = false, all_written = all_have(run, SNAPSHOT_WRITTEN);
    for (uint32_t i = 0; i < run->members->server_count; i++)
        any = any ||
              (run->members->servers[i].kept.snapshot & (SNAPSHOT_TAKEN | SNAPSHOT_WRITTEN)) != 0;
    RULE(1, IMPLIES(s->collected, all_written), "no manifest is written before the last part");
    RULE(2, IMPLIES(all_written && (s->final || has_reached(s, run)), s->collected),
         "with the last part, and all scores before it, the manifest is written");
    RULE(3, IMPLIES(any, s->reached_us != 0), "what is taken or written was reached");
    RULE(4,
         s->final || run->work.rules->gate(&run->work) == UINT64_MAX || snapshot_is_taken(run) ||
             is_gated(s, run),
         "the gate is closed until all have taken the snapshot");
}

void snapshot_check(const struct snapshot *s, const struct run *run)
{
    RULE(5, IMPLIES(s->due == NO_STEP, run->whole == NO_STEP), "what is whole was due");
    RULE(6, run->whole == NO_STEP || (run->whole <= s->due && s->due <= run->job->steps),
         "checkpoints are whole or given up in their order");
    RULE(7, IMPLIES(s->under_way, run->state == (s->final ? CLOSING : RUNNING)),
         "a snapshot is under way in training, the last one after it");
    RULE(8, s->given_up_us == 0 || (!s->under_way && job_accumulates(run->job) && is_gated(s, run)),
         "the gate is closed until all servers have had the snapshot of sums that was given up");
    if (!s->under_way)
        return;
    RULE(9, s->step <= run->job->steps, "no snapshot is after the last step");
    RULE(10, s->final || s->due == NO_STEP || s->step > s->due, "snapshots go forward");
    RULE(11, s->named_us <= s->sent_us, "a snapshot is sent when it is named");
    RULE(12, s->reached_us == 0 || s->reached_us >= s->named_us,
         "a snapshot is named before it comes");
    check_marks(s, run);
}
