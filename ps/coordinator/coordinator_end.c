/* coordinator_end.c - the end: the run's results, FINISHED to all members, and its exit code. */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ps/coordinator/coordinator_state.h"

#define NOTE_US 1000000u /* Between writes of faults. */

/* --- the summary --------------------------------------------------------------------------- */

/* The number of workers on this host. */
static uint32_t count_beside(const struct membership *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        count += membership->workers[i].ever &&
                 strcmp(membership->workers[i].host, membership->servers[0].host) == 0;
    return count;
}

static void sum_up_members(struct coordinator *c)
{
    struct run_summary *summary = &c->summary;
    uint64_t examples = 0;
    summary->verdicts = (struct verdict_counts){0};
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        verdict_counts_add(&summary->verdicts, &c->work.membership.servers[i].earlier);
        verdict_counts_add(&summary->verdicts, &c->work.membership.servers[i].verdicts);
    }
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        examples += c->work.membership.workers[i].summary.examples;
    summary->worker_count = c->work.membership.worker_count;
    summary->processors = c->options.processors;
    summary->workers_beside = count_beside(&c->work.membership);
    double seconds = summary->seconds - c->counted_seconds;
    summary->images_per_second = seconds > 0 ? (double)examples / seconds : 0;
}

/* The counts of the owners, in all and of each worker. */
static void sum_up_staleness(struct coordinator *c)
{
    struct staleness_tally tally = {0};
    staleness_totals_sum(&c->staleness, &tally);
    c->summary.staleness = tally.all;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        c->work.membership.workers[i].summary.staleness =
            i < tally.worker_count ? tally.workers[i] : (struct staleness_share){0};
    staleness_tally_free(&tally);
}

/* False: without memory for it. */
static bool write_summary(struct coordinator *c, enum run_state state, int exit_code,
                          uint64_t now_us, struct outbox *outbox)
{
    struct run_summary *summary = &c->summary;
    struct statistics_epoch epoch = statistics_epoch_now(&c->work.statistics);
    summary->state = state;
    summary->exit_code = (uint32_t)exit_code;
    snprintf(summary->reason, sizeof summary->reason, "%s", c->reason);
    run_summary_take_times(summary, coordinator_wall(c, now_us));
    if (state == RUN_FAILED)
        summary->step = statistics_made(&c->work.statistics);
    summary->session_step = c->work.statistics.first;
    summary->train.loss = tally_loss(&epoch.tally, c->job);
    summary->train.accuracy = tally_accuracy(&epoch.tally, c->job);
    summary->train.examples = epoch.tally.examples;
    summary->train.epoch = epoch.tally.examples > 0 ? epoch.number + 1 : 0;
    summary->faults.generation = c->envelope.generation;
    summary->exchanged_bytes = coordinator_exchanged_bytes(c);
    sum_up_members(c);
    sum_up_staleness(c);
    summary->mode_figures = (struct mode_figures){0};
    if (c->work.rules != NULL)
        c->work.rules->figures(&c->work, &summary->mode_figures);

    size_t worker_bytes = summary->worker_count * sizeof(struct worker_summary);
    struct frame *frame = frame_create(sizeof *summary + worker_bytes);
    if (frame == NULL)
        return false;
    memcpy(frame->data, summary, sizeof *summary);
    struct worker_summary *workers =
        (struct worker_summary *)(void *)((char *)frame->data + sizeof *summary);
    for (uint32_t i = 0; i < summary->worker_count; i++)
        workers[i] = c->work.membership.workers[i].summary;
    order_add(outbox, TO_CHECKPOINTER, 0, &(struct order){.kind = ORDER_SUMMARY})->payload = frame;
    return true;
}

void coordinator_note_faults(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct run_faults faults = c->summary.faults;
    faults.generation = c->envelope.generation;
    struct run_faults news = faults;
    news.fenced = 0; /* Too many, for too little. */
    if (c->state < GATHERING || c->state > CLOSING || c->closed || now_us - c->noted_us < NOTE_US ||
        memcmp(&news, &c->noted, sizeof news) == 0)
        return;
    c->noted = news;
    c->noted_us = now_us;
    struct frame *frame = frame_create(sizeof(struct run_summary));
    if (frame == NULL)
        return;
    *(struct run_summary *)frame->data =
        (struct run_summary){.state = RUN_RUNNING, .faults = faults};
    order_add(outbox, TO_CHECKPOINTER, 0, &(struct order){.kind = ORDER_SUMMARY})->payload = frame;
}

bool coordinator_is_done(const struct coordinator *c)
{
    return c->last_snapshot == c->job->steps;
}

void coordinator_close_run(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->closed = true;
    c->entered_us = now_us; /* The model file has a deadline of its own. */
    run_phases_close(&c->summary.phases, RUN_PHASE_MODEL_FILE, coordinator_wall(c, now_us));
    c->summary.step = c->last_snapshot;
    bool done = coordinator_is_done(c);
    if (done) /* The stop came too late. */
        c->exit_code = EXIT_DONE;
    if (!write_summary(c, done ? RUN_DONE : RUN_STOPPED, c->exit_code, now_us, outbox))
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox,
                         "out of memory for the run's summary; its last checkpoint is written");
}

void coordinator_note_stop(struct coordinator *c, int code, const char *reason, uint64_t now_us,
                           struct outbox *outbox)
{
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    c->summary.step = c->first_step;
    run_phases_enter(&c->summary.phases, RUN_PHASE_MODEL_FILE, coordinator_wall(c, now_us));
    if (!write_summary(c, RUN_STOPPED, code, now_us, outbox))
        outbox_warn(outbox, "out of memory: run.json does not say that the run was stopped");
}

/* --- announcing ------------------------------------------------------------------------------- */

static void say_finished(const struct coordinator *c, struct packet *packet)
{
    packet->message.stop.exit_code = (uint32_t)c->exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", c->reason);
}

void coordinator_answer_finished(const struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox)
{
    say_finished(
        c, packet->member
               ? envelope_to_peer(&c->envelope, packet->peer, MESSAGE_FINISHED, outbox)
               : envelope_to_unknown_peer(&c->envelope, packet->peer, MESSAGE_FINISHED, outbox));
}

static void tell_finished(const struct coordinator *c, uint64_t peer, struct outbox *outbox)
{
    say_finished(c, envelope_to_peer(&c->envelope, peer, MESSAGE_FINISHED, outbox));
}

void coordinator_tell_everybody(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->sent_us = now_us;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        if (c->work.membership.workers[i].present && !c->work.membership.workers[i].bye)
            tell_finished(c, c->work.membership.workers[i].peer, outbox);
    for (uint32_t i = 0; i < c->work.membership.server_count; i++)
        if (c->work.membership.servers[i].present && !c->work.membership.servers[i].bye)
            tell_finished(c, c->work.membership.servers[i].peer, outbox);
    if (c->work.membership.servers == NULL) /* No job yet: only our own router. */
        tell_finished(c, PEER_LOCAL, outbox);
}

/* Once: observers hear no more. */
static void tell_watchers(const struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    for (unsigned i = 0; i < WATCHERS_MAX && i < c->watcher_count; i++) {
        if (c->watchers[i] == PEER_LOCAL)
            continue;
        struct packet *packet =
            envelope_to_unknown_peer(&c->envelope, c->watchers[i], MESSAGE_STATUS_ANSWER, outbox);
        coordinator_describe(c, &packet->message.status_answer, now_us);
    }
}

void coordinator_finish(struct coordinator *c, int exit_code, const char *reason, uint64_t now_us,
                        struct outbox *outbox)
{
    if (c->state >= FINISHING)
        return;
    c->exit_code = exit_code;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    bool clean =
        exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED;
    if (clean) /* Else each process has its own reason. */
        outbox_log(outbox, "job finished exit=%d%s%s", exit_code,
                   reason[0] != '\0' ? " reason: " : "", reason);
    coordinator_enter(c, FINISHING, now_us);
    coordinator_tell_everybody(c, now_us, outbox);
    tell_watchers(c, now_us, outbox);
}

void coordinator_fail(struct coordinator *c, int exit_code, uint64_t now_us, struct outbox *outbox,
                      const char *format, ...)
{
    char text[MESSAGE_TEXT_MAX];
    if (c->state >= FINISHING)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(c->reason, sizeof c->reason, "%s", text);
    if (c->state >= GATHERING)
        write_summary(c, RUN_FAILED, exit_code, now_us, outbox);
    coordinator_finish(c, exit_code, text, now_us, outbox);
}
