/* coordinator_training.c - training: leases, reports, and DONE or STOP at its end. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/stragglers.h"

/* --- leases -------------------------------------------------------------------------------- */

/* Every answer to a LEASE has the number of its announcement. */
static struct packet *add_work(const struct coordinator *c, uint32_t index, uint64_t request,
                               struct outbox *outbox)
{
    const struct member *worker = &c->work.membership.workers[index];
    struct packet *packet = envelope_to_peer(&c->envelope, worker->peer, MESSAGE_WORK, outbox);
    packet->message.request = request;
    packet->message.work.computation =
        computations_answer(&c->computations, index, worker->ticket, request);
    return packet;
}

/* Tell the worker why it has waited, if it has: only now is it known which worker came to the
 * gate last. */
static void say_waited(const struct coordinator *c, uint32_t index, struct message *work)
{
    struct member *worker = &c->work.membership.workers[index];
    uint32_t whom = worker->waits == WAIT_GATE ? c->gate_last : worker->waits_for;
    work->work.waited = worker->waits;
    work->work.whom = whom != index + 1 ? whom : 0;
}

static void send_work(const struct coordinator *c, uint32_t index, uint64_t request, uint64_t batch,
                      struct outbox *outbox)
{
    struct packet *packet = add_work(c, index, request, outbox);
    packet->message.work.batch = batch;
    say_waited(c, index, &packet->message);
}

/* It got no batch: note why, once it has nothing to do. */
static void note_wait(const struct coordinator *c, uint32_t index)
{
    uint32_t whom;
    struct member *worker = &c->work.membership.workers[index];
    const struct work_mode *rules = c->work.rules;
    worker->waits = WAIT_LEASE;
    worker->waits_for = 0;
    if (rules->is_gated(&c->work)) {
        worker->waits = WAIT_GATE;
    } else if (rules->waits_for(&c->work, index, &whom)) {
        worker->waits = WAIT_BOUND;
        worker->waits_for = whom + 1;
    }
}

bool coordinator_top_up(struct coordinator *c, uint32_t index, uint64_t request,
                        struct outbox *outbox)
{
    uint64_t batch;
    bool sent = false;
    struct member *worker = &c->work.membership.workers[index];
    if (!worker->present || worker->first_assignment == 0)
        return false;
    /* Only workers that have asked get work: others might never do it, and hold up all. */
    for (; worker->asks && c->work.rules->ask(&c->work, index, &batch); sent = true)
        send_work(c, index, request, batch, outbox);
    if (worker->asks)
        note_wait(c, index);
    worker->done = worker->done && !sent;
    /* "Enough" must not overtake a batch, nor DONE the news that one is done. */
    if (!c->work.rules->is_enough(&c->work, index))
        return sent;
    struct packet *packet = add_work(c, index, request, outbox);
    packet->message.work.enough = true;
    packet->message.work.batch = c->work.stop_step;
    say_waited(c, index, &packet->message);
    return true;
}

void coordinator_top_up_all(struct coordinator *c, struct outbox *outbox)
{
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        coordinator_top_up(c, i, 0, outbox);
}

/* Its batches once more: they may never have come. */
static bool repeat_work(const struct coordinator *c, uint32_t index, uint64_t request,
                        struct outbox *outbox)
{
    bool sent = false;
    uint64_t batches[WORK_HELD_MAX];
    unsigned count = c->work.rules->held(&c->work, index, batches);
    for (unsigned i = 0; i < count; i++, sent = true)
        send_work(c, index, request, batches[i], outbox);
    return sent;
}

void coordinator_snapshot_at_gate(struct coordinator *c, uint32_t last, uint64_t now_us,
                                  struct outbox *outbox)
{
    const struct work_mode *rules = c->work.rules;
    if (!rules->is_at_gate(&c->work) || c->snapshot.under_way || c->snapshot.given_up_us != 0 ||
        c->stopping)
        return;
    c->gate_last = last;
    coordinator_begin_snapshot(c, rules->gate(&c->work), false, now_us, outbox);
}

/* Training does not end for it. */
static void end_record(const struct coordinator *c, struct outbox *outbox)
{
    uint64_t recorded = c->last_snapshot != NO_STEP ? c->last_snapshot : c->first_step;
    order_event(outbox, EVENT_RECORD_ENDED, .step = recorded, .count = COMPUTATIONS_MAX);
}

/* A worker's announcement. It gets a number even when the worker has no lease on the batch: a late
 * WORK may have named that batch. Chunks have applied such a batch already, and drop the gradient.
 * Without an answer the worker repeats it. */
static void take_announcement(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox)
{
    const struct message *message = &packet->message;
    const struct message_lease *lease = &message->lease;
    const struct frame *payload = packet->payload;
    uint64_t clock = c->work.rules->clock(&c->work, message->index);
    if (!c->computations.records || lease->bases_of >= c->job->steps)
        return;
    bool over = c->computations.over;
    enum status status = payload == NULL ? computations_announce(&c->computations, message, clock,
                                                                 lease->bases, lease->bases_bytes)
                                         : computations_announce(&c->computations, message, clock,
                                                                 payload->data, payload->bytes);
    if (status == STATUS_MEMORY)
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the record");
    if (!over && c->computations.over)
        end_record(c, outbox);
}

/* Always answered, so that a worker whose question or answer was lost asks again. */
void coordinator_handle_lease(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox)
{
    const struct message *message = &packet->message;
    bool sent = false, frees = false;
    if (c->state == RUNNING) {
        c->work.membership.workers[message->index].asks = true;
        if (message->lease.finished) {
            frees = c->work.rules->finished(&c->work, message->index, message->lease.batch);
            stragglers_moved(&c->work.membership.workers[message->index], now_us);
            coordinator_snapshot_at_gate(c, message->index + 1, now_us, outbox);
        }
        if (message->lease.announces)
            take_announcement(c, packet, now_us, outbox);
        else if (!message->lease.finished)
            sent = repeat_work(c, message->index, message->request, outbox);
        sent = coordinator_top_up(c, message->index, message->request, outbox) || sent;
        if (frees)
            coordinator_top_up_all(c, outbox);
    }
    if (!sent)
        add_work(c, message->index, message->request, outbox)->message.work.none = true;
}

/* --- reports ------------------------------------------------------------------------------- */

/* Shorter windows have no rate: reports come in packs, and the last of them within no time. */
#define RATE_SECONDS_MIN 0.001

static void progress(struct coordinator *c, struct outbox *outbox)
{
    uint64_t wanted = job_progress_steps(c->job);
    /* A rest at the end counts when it is long enough to mean something. */
    if (c->work.statistics.first + c->work.statistics.updates == c->work.stop_step)
        wanted /= 2;
    if (c->work.statistics.window.updates == 0 || c->work.statistics.window.updates < wanted)
        return;
    struct tally window = statistics_take_window(&c->work.statistics);
    struct tally epoch = statistics_epoch_now(&c->work.statistics).tally;
    uint64_t made = statistics_made(&c->work.statistics);
    uint64_t stalest;
    double stale = staleness_totals_mean(&c->staleness, &stalest);
    double seconds = run_phases_take_window(&c->summary.phases);
    order_event(outbox, EVENT_PROGRESS, .step = made,
                .epoch = (double)made / (double)job_steps_per_epoch(c->job),
                .loss = tally_loss(&window, c->job), .accuracy = tally_accuracy(&window, c->job),
                .epoch_loss = tally_loss(&epoch, c->job),
                .epoch_accuracy = tally_accuracy(&epoch, c->job),
                .images_per_second =
                    seconds >= RATE_SECONDS_MIN ? (double)window.examples / seconds : (double)NAN,
                .staleness_mean = stale, .staleness_max = stalest,
                .exchanged_bytes = coordinator_exchanged_bytes(c),
                .training_seconds = run_phases_marked(&c->summary.phases));
}

/* Of epochs that are complete. */
static void tell_epochs(struct coordinator *c, struct outbox *outbox)
{
    struct statistics_epoch epoch;
    while (statistics_take_epoch(&c->work.statistics, &epoch)) {
        struct epoch_range range = job_epoch(c->job, epoch.number);
        order_event(outbox, EVENT_EPOCH, .epoch = epoch.number + 1, .step = range.end,
                    .loss = tally_loss(&epoch.tally, c->job),
                    .accuracy = tally_accuracy(&epoch.tally, c->job),
                    .examples = epoch.tally.examples, .of = range.examples,
                    .training_seconds = run_phases_marked(&c->summary.phases))
            ->payload = staleness_totals_shape(&c->staleness);
    }
}

/* The window of --report-every that the last report has completed. */
static void tell_window(struct coordinator *c, struct outbox *outbox)
{
    struct window window;
    double now = run_phases_marked(&c->summary.phases);
    if (!statistics_take_whole(&c->work.statistics, &window))
        return;
    c->summary.window = run_window_of(c->job, &window, now - c->windows_from);
    c->windows_from = now;
    const struct event event = run_window_event(&c->summary.window, now);
    order_put_event(outbox, &event);
}

void coordinator_take_times(struct coordinator *c, struct member *worker,
                            const struct message *message, const struct message_times *times)
{
    if (message->incarnation != worker->incarnation)
        return;
    double awaited = times_hear(&worker->reported_times, times, &worker->summary);
    if (times->whom > 0 && times->whom <= c->work.membership.worker_count)
        c->work.membership.workers[times->whom - 1].summary.awaited_seconds += awaited;
}

uint64_t coordinator_exchanged_bytes(const struct coordinator *c)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        bytes += c->work.membership.workers[i].summary.exchanged_bytes;
    return bytes;
}

/* Of a step a worker may report several nodes, which are one update. */
void coordinator_add_report(struct member *worker, const struct message_report *report)
{
    struct worker_summary *summary = &worker->summary;
    summary->batches += worker->reported != report->step + 1;
    worker->reported = report->step + 1;
    summary->examples += report->bad ? 0 : report->examples;
    summary->controlled_leaves += report->leaves;
    summary->longer_leaves += report->longer;
    if (report->leaf_ns > 0)
        leaf_times_add(&summary->leaf_times, report->leaf_ns);
}

static void count_bad(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                      struct outbox *outbox)
{
    const struct message *message = &packet->message;
    c->summary.faults.bad_gradients++;
    outbox_warn(outbox, "gradient is not finite: batch %" PRIu64 ", from worker/%u; left out",
                message->report.step, message->index);
    if (c->summary.faults.bad_gradients > c->options.max_bad_gradients)
        coordinator_fail(
            c, EXIT_TRAINING_FAILED, now_us, outbox,
            "%s not finite, the last of batch %" PRIu64 " from worker/%u; at most %u may be",
            wording_counted(c->summary.faults.bad_gradients, "gradient was", "gradients were").text,
            message->report.step, message->index, c->options.max_bad_gradients);
}

/* The score of a gradient that server 0 has taken. It counts even if its sender has been given
 * up meanwhile: a second computation of it will be a duplicate. */
void coordinator_handle_report(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                               struct outbox *outbox)
{
    const struct message_report *report = &packet->message.report;
    struct member *worker = membership_place(&c->work.membership, &packet->message);
    if ((c->state != RUNNING && c->state != CLOSING) || packet->message.role != ROLE_WORKER ||
        worker == NULL || packet->message.run_id != c->envelope.run_id)
        return;
    double before = worker->summary.compute_seconds;
    coordinator_take_times(c, worker, &packet->message, &report->times);
    if (packet->message.generation != c->envelope.generation) {
        c->summary.faults.fenced++;
        return;
    }
    if (membership_find(&c->work.membership, &packet->message) != NULL) {
        membership_hear(worker, now_us);
        stragglers_moved(worker, now_us);
    }
    bool closes = coordinator_quorum(c) != NULL;
    if (report->refused)
        return;
    if (closes ? !coordinator_close_step(c, packet, worker->summary.compute_seconds - before,
                                         now_us, outbox)
               : !statistics_report(&c->work.statistics, report))
        return;
    run_phases_mark(&c->summary.phases, coordinator_wall(c, now_us));
    if (!closes)
        coordinator_add_report(worker, report);
    if (!job_mode(c->job)->steps) {
        histogram_add(&c->summary.spread.pulls, report->spread);
        histogram_add(&c->summary.spread.parts, report->part_spread);
    }
    coordinator_mark_snapshot(c);
    if (report->bad && !job_mode(c->job)->steps)
        count_bad(c, packet, now_us, outbox);
    coordinator_collect_snapshot(c, now_us, outbox);
    progress(c, outbox);
    tell_window(c, outbox);
    tell_epochs(c, outbox);
}

/* --- the end of training ------------------------------------------------------------------- */

/* Whether every worker has said so, by the current assignment, and none with work is waited for;
 * no batch is left anywhere; and the final model is scored. */
static bool is_done(const struct coordinator *c)
{
    bool any = false;
    if (c->deal_due)
        return false;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++) {
        const struct member *worker = &c->work.membership.workers[i];
        if (worker->missed || (worker->present && !worker->done))
            return false;
        any = any || worker->present;
    }
    return any && c->work.rules->is_drained(&c->work) &&
           !evaluation_is_awaited(&c->evaluation, c->work.rules->end(&c->work, false));
}

/* All workers have left, and no further step is wanted: the model is kept. */
static bool is_deserted(const struct coordinator *c)
{
    return c->stopping && membership_is_deserted(&c->work.membership);
}

void coordinator_finish_when_done(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (c->state != RUNNING)
        return;
    c->deserted = is_deserted(c);
    if (!c->deserted && !is_done(c))
        return;
    uint64_t step = c->work.rules->end(&c->work, c->deserted);
    run_phases_close(&c->summary.phases, RUN_PHASE_LAST_CHECKPOINT, coordinator_wall(c, now_us));
    coordinator_enter(c, CLOSING, now_us);
    if (step == c->last_snapshot && !c->snapshot.under_way)
        coordinator_close_run(c, now_us,
                              outbox); /* Resumed where it had ended: nothing new to keep. */
    else
        coordinator_begin_snapshot(c, step, true, now_us, outbox);
}

void coordinator_handle_done(struct coordinator *c, struct member *worker,
                             const struct packet *packet, uint64_t now_us, struct outbox *outbox)
{
    const struct message_done *done = &packet->message.done;
    coordinator_take_times(c, worker, &packet->message, &done->times);
    if (c->state != RUNNING || worker->done || c->deal_due ||
        !assignment_is_followed(&c->work.assignment, worker))
        return;
    if (!c->work.rules->may_be_done(&c->work, packet->message.index, done)) {
        repeat_work(c, packet->message.index, 0, outbox); /* Its batches may have been lost. */
        return;
    }
    worker->done = true;
    stragglers_moved(worker, now_us);
    coordinator_finish_when_done(c, now_us, outbox);
}

void coordinator_stop_training(struct coordinator *c, struct outbox *outbox)
{
    if (!c->stopping)
        return;
    if (c->work.rules->stop(&c->work))
        coordinator_top_up_all(c, outbox);
    else if (!c->stop_named)
        envelope_to_peer(&c->envelope, PEER_LOCAL, MESSAGE_STOP, outbox);
}

/* No step is made. The run says so, too, if it is open: a run that says it is running has lost
 * its server 0. */
static void stop_before_start(struct coordinator *c, int code, uint64_t now_us,
                              struct outbox *outbox)
{
    char text[100] = "stopped before training started";
    if (c->state == GATHERING && c->restore && c->first_step > 0)
        snprintf(text, sizeof text,
                 "stopped before training went on; the checkpoint at step %" PRIu64 " stands",
                 c->first_step);
    if (c->state == GATHERING)
        coordinator_note_stop(c, code, text, now_us, outbox);
    coordinator_finish(c, code, text, now_us, outbox);
}

/* A process was asked to stop (a signal), or failed. */
void coordinator_handle_stop(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox)
{
    const struct message *message = &packet->message;
    int code = (int)message->stop.exit_code;
    /* EXIT_DONE: it has been trained enough. */
    if (code != EXIT_DONE && code != EXIT_INTERRUPTED && code != EXIT_TERMINATED) {
        coordinator_fail(c, code, now_us, outbox, "%s/%u: %s", role_name(message->role),
                         message->index, message->stop.reason);
        return;
    }
    if (c->stopping || c->state >= CLOSING)
        return;
    c->stopping = true;
    c->stop_us = now_us;
    c->exit_code = code;
    if (c->state < RECOVERING) {
        if (code == EXIT_DONE) /* Nothing else says why a job that has not begun is done. */
            outbox_log(outbox, "stopping: %s", message->stop.reason);
        stop_before_start(c, code, now_us, outbox);
        return;
    }
    order_event(outbox, EVENT_STOP, .text = message->stop.reason, .exit_code = (uint64_t)code);
    if (c->state == RUNNING) /* Else as soon as it does. */
        coordinator_stop_training(c, outbox);
}
