/* coordinator_snapshots.c - when checkpoints are taken: names the next step or gate, handles the
 * answers of servers and checkpointer, and gives up when none come. */

#include <inttypes.h>

#include "common/base/wording.h"
#include "ps/coordinator/coordinator_state.h"

/* The computations up to the snapshot, for the record. At a gate, and at the end, none is under
 * way. */
static void tell_computations(struct coordinator *c, uint64_t step, uint64_t now_us,
                              struct outbox *outbox)
{
    struct frame *frame = computations_pack(&c->computations);
    c->snapshot_computations = computations_mark(&c->computations);
    if (frame == NULL) {
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the record");
        return;
    }
    const struct order order = {
        .kind = ORDER_COMPUTATIONS,
        .generation = c->envelope.generation,
        .computations = {step, c->snapshot_computations.next, c->computations.over}};
    order_add(outbox, TO_CHECKPOINTER, 0, &order)->payload = frame;
}

/* Whether training waits at the gate for this snapshot. */
static bool is_gated(const struct coordinator *c)
{
    return c->work.rules->gate(&c->work) == c->snapshot.step;
}

/* From here on it is being written: beside training, unless that stands still for it. */
static void reach(struct coordinator *c, uint64_t now_us)
{
    if (c->snapshot.reached_us != 0)
        return;
    snapshot_reached(&c->snapshot, now_us);
    c->snapshot_us = now_us;
    c->reached_unwatched_us = c->unwatched_us;
    if (!c->snapshot.final && !is_gated(c))
        run_phases_beside(&c->summary.phases, true, coordinator_wall(c, now_us));
}

void coordinator_begin_snapshot(struct coordinator *c, uint64_t step, bool final, uint64_t now_us,
                                struct outbox *outbox)
{
    uint64_t recorded = c->last_snapshot != NO_STEP ? c->last_snapshot : c->first_step;
    if (c->computations.records)
        tell_computations(c, step, now_us, outbox);
    if (c->state >= FINISHING)
        return;
    run_phases_beside(&c->summary.phases, false, coordinator_wall(c, now_us));
    snapshot_begin(&c->snapshot, &c->work.membership, &c->envelope, step, final, recorded, now_us,
                   outbox);
    c->work.rules->cutting(&c->work, step, c->last_snapshot);
    c->marked = false;
    coordinator_mark_snapshot(c);
    if (c->work.rules->has_reached(&c->work, step))
        reach(c, now_us);
    if (is_gated(c))
        run_phases_enter(&c->summary.phases, RUN_PHASE_CHECKPOINTS, coordinator_wall(c, now_us));
}

void coordinator_mark_snapshot(struct coordinator *c)
{
    if (c->marked || !c->snapshot.under_way ||
        !c->work.rules->has_reached(&c->work, c->snapshot.step))
        return;
    c->marked = true;
    membership_mark_snapshot(&c->work.membership);
    c->spread_snapshot = c->summary.spread;
}

void coordinator_schedule_snapshot(struct coordinator *c, uint64_t reached, uint64_t now_us,
                                   struct outbox *outbox)
{
    uint64_t every = job_checkpoint_every(c->job);
    /* The record lies in memory until the next snapshot. */
    if (c->computations.records && (every == 0 || every > RECORD_BATCHES_MAX))
        every = RECORD_BATCHES_MAX;
    if (every == 0 || c->stopping || c->state != RUNNING)
        return;
    uint64_t due = (c->last_due == NO_STEP ? c->first_step : c->last_due) / every * every + every;
    while (due < reached && due < c->job->steps) {
        due += every;
        c->summary.faults.checkpoints_skipped++;
    }
    /* The last one is taken when training has ended, wherever that will be. */
    if (due >= c->job->steps)
        return;
    if (!c->work.rules->set_gate(&c->work, due))
        coordinator_begin_snapshot(c, due, false, now_us, outbox);
}

/* Training goes on. */
static void open_gate(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    run_phases_train(&c->summary.phases, coordinator_wall(c, now_us));
    run_phases_beside(&c->summary.phases, c->snapshot.under_way, coordinator_wall(c, now_us));
    c->work.rules->set_gate(&c->work, c->job->steps);
    coordinator_top_up_all(c, outbox);
}

/* Nothing is in the way of training and of the next checkpoint any more. */
static void leave_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->snapshot.given_up_us = 0;
    if (is_gated(c))
        open_gate(c, now_us,
                  outbox); /* Some server has not taken its snapshot, so nothing else would. */
    coordinator_schedule_snapshot(c, c->work.rules->next_snapshot(&c->work, true), now_us, outbox);
}

/* Some server may have applied its pending gradients, and another not yet. Computations
 * meanwhile would be in groups that end elsewhere, and no later checkpoint be of one version. */
static bool must_be_had_by_all(const struct coordinator *c)
{
    uint32_t server;
    return job_accumulates(c->job) && is_gated(c) &&
           snapshot_unanswered(&c->work.membership, &server) != NULL;
}

/* Give up the snapshot under way: `failed`, or because training had passed it. */
static void abandon_snapshot(struct coordinator *c, bool failed, const char *why, uint64_t now_us,
                             struct outbox *outbox)
{
    if (log_once_add(&c->log_once, why))
        outbox_warn(outbox, "checkpoint at step %" PRIu64 " not written: %s", c->snapshot.step,
                    why);
    c->snapshot.under_way = false;
    c->snapshot_us = now_us;
    run_phases_beside(&c->summary.phases, false, coordinator_wall(c, now_us));
    if (failed)
        c->summary.faults.checkpoints_failed++;
    else
        c->summary.faults.checkpoints_skipped++;
    order_event(outbox, EVENT_CHECKPOINT_FAILED, .step = c->snapshot.step);
    if (c->snapshot.final && c->deserted && !failed) {
        coordinator_end_deserted(c, now_us, outbox);
        return;
    }
    if (c->snapshot.final) {
        coordinator_fail(c, EXIT_CANNOT_OPEN, now_us, outbox,
                         "the last checkpoint was not written: %s", why);
        return;
    }
    c->last_due = c->snapshot.step;
    if (must_be_had_by_all(c))
        c->snapshot.given_up_us = now_us;
    else
        leave_snapshot(c, now_us, outbox);
}

/* A snapshot that was given up is sent until all have answered. A server that is away has its
 * own deadline. */
static void watch_given_up(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    enum role role;
    uint32_t index;
    if (membership_awaited(&c->work.membership, &role, &index) != NULL)
        c->snapshot.given_up_us = now_us;
    const struct member *server = snapshot_unanswered(&c->work.membership, &index);
    if (server != NULL &&
        seconds_since(c->snapshot.given_up_us, now_us) > c->options.deadlines.recovery)
        coordinator_fail(c, EXIT_CLUSTER_LOST, now_us, outbox,
                         "ps/%u (on %s) is alive, but has not answered for %s what became of the "
                         "checkpoint at step %" PRIu64,
                         index, server->host, wording_duration(c->options.deadlines.recovery).text,
                         c->snapshot.step);
    else
        snapshot_repeat(&c->snapshot, &c->work.membership, &c->envelope, now_us, outbox);
}

void coordinator_handle_cut_taken(struct coordinator *c, struct member *server,
                                  const struct packet *packet, uint64_t now_us,
                                  struct outbox *outbox)
{
    const struct message_cut_taken *taken = &packet->message.cut_taken;
    server->verdicts = taken->verdicts;
    staleness_totals_hear(&c->staleness, packet->message.index, packet->payload);
    if (taken->step != c->snapshot.step)
        return;
    server->snapshot_answered = true;
    if (c->snapshot.given_up_us != 0 && !must_be_had_by_all(c))
        leave_snapshot(c, now_us, outbox);
    if (!c->snapshot.under_way || server->cut_taken)
        return;
    if (!taken->taken) {
        abandon_snapshot(c, false,
                         c->snapshot.final ? "a server could not take it, and its log says why"
                                           : "training had passed that step",
                         now_us, outbox);
        return;
    }
    server->cut_taken = true;
    staleness_totals_snapshot(&c->staleness, packet->message.index);
    reach(c, now_us);
    if (snapshot_is_taken(&c->work.membership) && is_gated(c) && !c->snapshot.final)
        open_gate(c, now_us, outbox);
}

/* At the end there are no more scores to come. */
void coordinator_collect_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (!c->snapshot.under_way ||
        (!c->snapshot.final && !c->work.rules->has_reached(&c->work, c->snapshot.step)))
        return;
    struct tally_so_far so_far = statistics_so_far(&c->work.statistics, c->snapshot.step);
    if (snapshot_collect(&c->snapshot, &c->work.membership, &c->envelope, &so_far, outbox) ==
        STATUS_MEMORY)
        abandon_snapshot(c, true, "out of memory", now_us, outbox);
}

void coordinator_handle_part_written(struct coordinator *c, const struct packet *packet,
                                     uint64_t now_us, struct outbox *outbox)
{
    const struct message_part_written *written = &packet->message.part_written;
    if (!c->snapshot.under_way || c->snapshot.collected || written->step != c->snapshot.step ||
        written->server >= c->work.membership.server_count)
        return;
    if (!written->written) {
        abandon_snapshot(c, true, written->text, now_us, outbox);
        return;
    }
    reach(c, now_us);
    c->work.membership.servers[written->server].part = written->part;
    c->work.membership.servers[written->server].part_written = true;
    coordinator_collect_snapshot(c, now_us, outbox);
}

/* Since it was reached. */
static double cut_seconds(const struct coordinator *c, uint64_t now_us)
{
    return seconds_since(c->snapshot.reached_us + c->reached_unwatched_us,
                         coordinator_wall(c, now_us));
}

void coordinator_handle_manifest_written(struct coordinator *c, const struct order_written *written,
                                         uint64_t now_us, struct outbox *outbox)
{
    if (!c->snapshot.under_way || written->step != c->snapshot.step)
        return;
    if (written->status != STATUS_OK) {
        abandon_snapshot(c, true, written->text, now_us, outbox);
        return;
    }
    c->snapshot.under_way = false;
    run_phases_beside(&c->summary.phases, false, coordinator_wall(c, now_us));
    computations_drop(&c->computations, c->snapshot_computations);
    c->snapshot_computations = (struct computations_mark){0};
    c->last_snapshot = c->last_due = c->snapshot.step;
    if (coordinator_quorum(c) != NULL)
        quorum_forget(coordinator_quorum(c), c->snapshot.step);
    coordinator_mark_snapshot(c); /* A report may have been lost with its worker. */
    membership_mark_whole(&c->work.membership);
    c->spread_whole = c->spread_snapshot;
    c->whole_step = c->snapshot.step;
    staleness_totals_keep(&c->staleness, c->snapshot.step);
    uint64_t failed = log_once_end(&c->log_once);
    if (failed > 0)
        outbox_log(outbox, "checkpoints are written again; %" PRIu64 " were not", failed);
    order_event(outbox, EVENT_CHECKPOINT, .step = c->snapshot.step,
                .seconds = cut_seconds(c, now_us), .bytes = snapshot_bytes(&c->work.membership));
    if (c->snapshot.final) {
        coordinator_close_run(c, now_us, outbox);
        return;
    }
    if (is_gated(c))
        open_gate(c, now_us,
                  outbox); /* A written one was taken, though the answer is not here yet. */
    coordinator_schedule_snapshot(c, c->work.rules->next_snapshot(&c->work, true), now_us, outbox);
}

/* The last one is old: take one at the first possible step, in place of one that is due later
 * and not begun, which is named again afterwards. */
static void snapshot_by_clock(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    const struct work_mode *rules = c->work.rules;
    if (c->state != RUNNING || c->stopping || c->snapshot.given_up_us != 0 ||
        (c->snapshot.under_way && c->snapshot.reached_us != 0) ||
        !job_checkpoint_is_old(c->job, seconds_since(c->snapshot_us, now_us)))
        return;
    uint64_t step = rules->next_snapshot(&c->work, true);
    uint64_t before = c->last_due == NO_STEP ? c->first_step : c->last_due;
    uint64_t due = c->snapshot.under_way ? c->snapshot.step : rules->gate(&c->work);
    if (step <= before || step >= due || step >= c->job->steps)
        return;
    if (rules->set_gate(&c->work, step))
        coordinator_snapshot_at_gate(c, 0, now_us, outbox); /* Perhaps no batch is out. */
    else
        coordinator_begin_snapshot(c, step, false, now_us, outbox);
}

void coordinator_watch_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    snapshot_by_clock(c, now_us, outbox);
    if (c->snapshot.given_up_us != 0 && c->state == RUNNING) {
        watch_given_up(c, now_us, outbox);
        return;
    }
    if (!c->snapshot.under_way || (c->state != RUNNING && c->state != CLOSING))
        return;
    if (c->work.rules->has_reached(&c->work, c->snapshot.step))
        reach(c, now_us);
    if (!c->snapshot.final && c->snapshot.reached_us != 0 &&
        seconds_since(c->snapshot.reached_us, now_us) > c->options.deadlines.stop)
        abandon_snapshot(c, true, "it took too long", now_us, outbox);
    else
        snapshot_repeat(&c->snapshot, &c->work.membership, &c->envelope, now_us, outbox);
}
