/* coordinator_losses.c - lost, leaving, stuck and awaited members, and what becomes of their
 * work. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/stragglers.h"

#define WAITING_LINE_US 5000000u /* Between lines that name awaited members. */
#define HELD_US         2000000u /* How long the last worker to leave stays. */

/* --- losing -------------------------------------------------------------------------------- */

static void say_lost(enum role role, uint32_t index, const char *why, const char *line,
                     struct outbox *outbox)
{
    order_event(outbox, role == ROLE_PS ? EVENT_LOST_SERVER : EVENT_LOST_WORKER, .text = line,
                .role = role_name(role), .index = index, .why = why);
}

/* Its batches and leaves are for others. */
static void deal_without(struct coordinator *c, uint32_t index)
{
    c->work.rules->lost(&c->work, index);
    c->deal_due = true;
}

void coordinator_lose_worker(struct coordinator *c, uint32_t index, enum departure departure,
                             const char *why, const char *line, uint64_t now_us,
                             struct outbox *outbox)
{
    struct member *worker = &c->work.membership.workers[index];
    say_lost(ROLE_WORKER, index, why, line, outbox);
    c->summary.faults.workers_lost++;
    membership_free_place(worker, departure);
    evaluation_lost(&c->evaluation, index);
    worker->gone_us = now_us;
    /* All its work is done. */
    if (c->state == CLOSING)
        return;
    if (computations_gone(&c->computations, index) != STATUS_OK)
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the record");
    if (c->options.on_worker_loss == LOSS_FAIL)
        coordinator_fail(c, EXIT_CLUSTER_LOST, now_us, outbox, "%s", line);
    else if (c->options.on_worker_loss == LOSS_WAIT && c->state != GATHERING)
        worker->missed = true;
    else
        deal_without(c, index);
}

void coordinator_lose_server(struct coordinator *c, uint32_t index, const char *why,
                             const char *line, uint64_t now_us, struct outbox *outbox)
{
    struct member *server = &c->work.membership.servers[index];
    say_lost(ROLE_PS, index, why, line, outbox);
    c->summary.faults.servers_lost++;
    server->lost = true;
    server->gone_us = now_us;
}

void coordinator_hear(struct member *member, const struct packet *packet, uint64_t now_us,
                      struct outbox *outbox)
{
    membership_hear(member, now_us);
    member->peer = packet->peer;
    if (!member->lost)
        return;
    member->lost = false;
    order_event(outbox, EVENT_BACK, .role = role_name(packet->message.role),
                .index = packet->message.index);
}

/* --- leaving ------------------------------------------------------------------------------- */

void coordinator_tell_left(const struct coordinator *c, const struct packet *packet,
                           struct outbox *outbox)
{
    struct packet *out = envelope_answer(&c->envelope, packet, MESSAGE_FINISHED, outbox);
    out->message.stop.left = true;
    snprintf(out->message.stop.reason, MESSAGE_TEXT_MAX, "left the job");
}

/* Whether it has to wait and ask again. Where whole jobs are evicted all processes get the
 * signal in any order. So the last worker stays a little, in case a stop comes as well; and once
 * it has, all workers here stay, for a clean stop. They hear how it ends. */
static bool is_held(const struct coordinator *c, struct member *worker, uint64_t now_us)
{
    if (c->stopping)
        return c->state == RECOVERING || c->state == RUNNING;
    if (worker->leaving_us == 0)
        worker->leaving_us = now_us;
    return c->state == RUNNING && !c->abandoned && membership_workers(&c->work.membership) == 1 &&
           now_us - worker->leaving_us < HELD_US;
}

/* As asked: no loss, and no policy. */
void coordinator_handle_leave(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox)
{
    uint32_t index = packet->message.index;
    struct member *worker = &c->work.membership.workers[index];
    if (job_place_owns(c->job, index)) {
        envelope_refuse(
            &c->envelope, packet, REFUSAL_OWNER, outbox,
            "the place of worker/%" PRIu32 " owns chunks of the model, and cannot leave", index);
        return;
    }
    if (is_held(c, worker, now_us))
        return;
    order_event(outbox, EVENT_LEFT, .role = "worker", .index = index);
    membership_free_place(worker, DEPARTURE_LEFT);
    evaluation_lost(&c->evaluation, index);
    worker->gone_us = now_us;
    if (c->state != CLOSING)
        deal_without(c, index);
    coordinator_tell_left(c, packet, outbox);
}

/* --- being sent away ----------------------------------------------------------------------- */

/* The answer for the place; a worker that is here is marked. */
static enum eviction dismiss(const struct coordinator *c, struct member *worker, uint32_t index,
                             bool again, char *text)
{
    if (c->state >= FINISHING) {
        snprintf(text, MESSAGE_TEXT_MAX, "the job ends for all%s%.200s",
                 c->reason[0] != '\0' ? ": " : "", c->reason);
        return EVICTION_OVER;
    }
    if (c->work.membership.servers == NULL) {
        snprintf(text, MESSAGE_TEXT_MAX, "no worker has declared a job yet");
        return EVICTION_EARLY;
    }
    if (worker == NULL || !worker->present) {
        snprintf(text, MESSAGE_TEXT_MAX, "worker/%" PRIu32 " is not there%s", index,
                 worker == NULL || !worker->ever ? ": it never was"
                 : worker->departure == DEPARTURE_LEFT && worker->departed == worker->incarnation
                     ? ": it has left"
                     : ": it was lost");
        return EVICTION_GONE;
    }
    if (job_place_owns(c->job, index)) {
        snprintf(text, MESSAGE_TEXT_MAX,
                 "the place of worker/%" PRIu32 " owns chunks of the model, and cannot leave",
                 index);
        return EVICTION_OWNER;
    }
    if (again && !worker->dismissed) {
        snprintf(text, MESSAGE_TEXT_MAX,
                 "worker/%" PRIu32 " (on %s) has come since, or ps/0 was started again", index,
                 worker->host);
        return EVICTION_ANOTHER;
    }
    worker->dismissed = true;
    snprintf(text, MESSAGE_TEXT_MAX, "worker/%" PRIu32 " (on %s) is to leave", index, worker->host);
    return EVICTION_DONE;
}

/* Any process that may be that worker may ask: the transport has checked the key. It is not a
 * member's message, and the worker leaves by its own LEAVE. */
void coordinator_evict(struct coordinator *c, const struct packet *packet, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    struct member *worker =
        message->role == ROLE_WORKER ? membership_place(&c->work.membership, message) : NULL;
    bool before = worker != NULL && worker->dismissed;
    struct message_dismissed *answer =
        &envelope_answer(&c->envelope, packet, MESSAGE_DISMISSED, outbox)->message.dismissed;
    answer->outcome = dismiss(c, worker, message->index, message->dismiss.again, answer->text);
    if (worker != NULL && worker->dismissed && !before)
        outbox_log(outbox, "worker/%" PRIu32 " has to leave: it was asked of ps/0", message->index);
}

/* --- the silent ---------------------------------------------------------------------------- */

static void watch_silence(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char line[MESSAGE_TEXT_MAX];
    enum role role;
    uint32_t index;
    const struct member *silent;
    while (c->state < FINISHING &&
           (silent = membership_silent(&c->work.membership, c->options.deadlines.silence, now_us,
                                       &role, &index)) != NULL) {
        snprintf(line, sizeof line, "lost %s/%u (on %s): nothing heard for %s", role_name(role),
                 index, silent->host,
                 wording_duration(seconds_since(silent->heard_us, now_us)).text);
        if (role == ROLE_WORKER)
            coordinator_lose_worker(c, index, DEPARTURE_NONE, "silent", line, now_us, outbox);
        else
            coordinator_lose_server(c, index, "silent", line, now_us, outbox);
    }
}

/* --- the slow and the stuck ---------------------------------------------------------------- */

static bool owes(const struct coordinator *c, uint32_t index)
{
    const struct member *worker = &c->work.membership.workers[index];
    return worker->present && worker->first_assignment != 0 &&
           (c->work.rules->owes(&c->work, index) || evaluation_holds(&c->evaluation, index));
}

static void watch_stragglers(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char line[MESSAGE_TEXT_MAX];
    enum role role;
    uint32_t away;
    if (c->state != RUNNING || c->deal_due)
        return;
    bool hindered =
        membership_awaited(&c->work.membership, &role, &away) != NULL && role == ROLE_PS;
    for (uint32_t i = 0; i < c->work.membership.worker_count && c->state == RUNNING; i++) {
        struct member *worker = &c->work.membership.workers[i];
        if (!stragglers_is_stuck(worker, i, !hindered && owes(c, i), c->work.rules->unit,
                                 c->work.statistics.step, c->options.deadlines.progress, now_us,
                                 outbox))
            continue;
        snprintf(line, sizeof line,
                 "worker/%u is stuck (on %s): alive, but no progress at step %" PRIu64 " for %s", i,
                 worker->host, c->work.statistics.step,
                 wording_duration(seconds_since(worker->moved_us, now_us)).text);
        coordinator_lose_worker(c, i, DEPARTURE_STUCK, "stuck", line, now_us, outbox);
    }
}

void coordinator_watch_members(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (c->state < GATHERING || c->state > CLOSING)
        return;
    watch_silence(c, now_us, outbox);
    watch_stragglers(c, now_us, outbox);
}

/* --- those who are waited for -------------------------------------------------------------- */

static void watch_loneliness(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (c->state != RUNNING || membership_workers(&c->work.membership) > 0) {
        c->lonely_us = 0;
        return;
    }
    if (c->lonely_us == 0) {
        c->lonely_us = now_us;
        if (membership_is_deserted(&c->work.membership) && !c->stopping)
            outbox_warn(outbox, "no worker is left; waiting %s for one to join",
                        wording_duration(c->options.deadlines.recovery).text);
    } else if (seconds_since(c->lonely_us, now_us) > c->options.deadlines.recovery)
        coordinator_fail(c, EXIT_CLUSTER_LOST, now_us, outbox,
                         "no worker is left, and none came within %s",
                         wording_duration(c->options.deadlines.recovery).text);
}

void coordinator_watch_awaited(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    enum role role;
    uint32_t index;
    if (c->state < RECOVERING || c->state > CLOSING || c->closed)
        return;
    watch_loneliness(c, now_us, outbox);
    const struct member *awaited = membership_awaited(&c->work.membership, &role, &index);
    if (awaited == NULL || seconds_since(awaited->gone_us, now_us) <= c->options.deadlines.recovery)
        return;
    char away[48] = "nothing starts it again";
    if (!c->abandoned)
        snprintf(away, sizeof away, "not back within %s",
                 wording_duration(c->options.deadlines.recovery).text);
    coordinator_fail(c, EXIT_CLUSTER_LOST, now_us, outbox, "lost %s/%u (on %s): %s",
                     role_name(role), index, awaited->host, away);
}

void coordinator_describe_waiting(const struct coordinator *c, char *text, uint64_t now_us)
{
    char missing[MESSAGE_TEXT_MAX / 2] = "";
    double waited = seconds_since(c->entered_us, now_us);
    text[0] = '\0';
    if (c->raising != 0) {
        snprintf(text, MESSAGE_TEXT_MAX, "waiting %s for the last checkpoint to be found",
                 wording_waited(waited).text);
        return;
    }
    if (c->state < GATHERING || c->state > CLOSING)
        return;
    membership_list_missing(&c->work.membership, c->state == GATHERING, missing, sizeof missing);
    if (missing[0] == '\0' && c->lonely_us != 0)
        snprintf(missing, sizeof missing, "any worker");
    if (missing[0] == '\0')
        return;
    enum role role;
    uint32_t index;
    const struct member *awaited = membership_awaited(&c->work.membership, &role, &index);
    if (c->state == RUNNING || c->state == CLOSING)
        waited = seconds_since(awaited != NULL ? awaited->gone_us : c->lonely_us, now_us);
    snprintf(text, MESSAGE_TEXT_MAX, "waiting %s for %s", wording_waited(waited).text, missing);
}

/* The members that are here wait, too, and say so. */
static void tell_members(const struct coordinator *c, const char *text, struct outbox *outbox)
{
    const struct membership *all = &c->work.membership;
    for (uint32_t i = 0; i < all->server_count + all->worker_count; i++) {
        const struct member *member =
            i < all->server_count ? &all->servers[i] : &all->workers[i - all->server_count];
        if (member->present && member->peer != PEER_LOCAL)
            snprintf(envelope_to_peer(&c->envelope, member->peer, MESSAGE_WAITING, outbox)
                         ->message.waiting.text,
                     MESSAGE_TEXT_MAX, "%s", text);
    }
}

void coordinator_say_who_is_missing(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    if (c->state < GATHERING || c->state > CLOSING)
        return;
    coordinator_describe_waiting(c, text, now_us);
    if (text[0] == '\0') {
        c->waited_us = now_us;
        return;
    }
    if (now_us - c->waited_us < WAITING_LINE_US)
        return;
    c->waited_us = now_us;
    tell_members(c, text, outbox);
    order_event(outbox, EVENT_WAITING, .text = text);
}
