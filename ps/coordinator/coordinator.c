/* coordinator.c - dispatches messages, and does what time brings in each state.
 *
 *     WAITING --> OPENING --> GATHERING --> RUNNING --> CLOSING --> FINISHING --> OVER
 *      a job      the run     all members    ^   |         |        all members
 *      comes      is ours     are here       |   v         |        know the end
 *                                          RECOVERING <----'
 *     a failure, or a stop before training: any of them --> FINISHING, or OVER without members
 *
 * A message goes through handle: STATUS, JOIN and JOB_PAGE are taken from any peer, the rest
 * from members; others are answered that they are none. The handlers are in the files beside this
 * one:
 *
 *     coordinator_gathering.c   JOIN JOB_PAGE READY   from the first page to START, and again
 *     coordinator_training.c    LEASE REPORT DONE STOP
 *     coordinator_scores.c      EVALUATION, and values that servers have kept for a score
 *     coordinator_snapshots.c   CUT_TAKEN PART_WRITTEN and the manifest
 *     coordinator_losses.c      silence, LEAVE, DISMISS, and stragglers
 *     coordinator_end.c         summary, FINISHED */

#include "ps/coordinator/coordinator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/invariant.h"
#include "common/base/wording.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/stragglers.h"

#define FINISHED_REPEAT_US 500000u
#define WAITING_LINE_US    5000000u /* Between lines that say what is waited for. */
#define LINGER_SECONDS     2.0      /* Others than members ask again within this time. */
#define GIVE_UP_SECONDS    0.6      /* The same when the start timed out, to end soon. */
#define WATCHER_SECONDS    0.5      /* For watchers to hear of the end. */
#define WATCHED_US         1000000u /* A longer gap between two calls was not watched. */
#define DESERTED_SECONDS   2.0      /* For messages of workers that left to arrive. */

/* --- life ---------------------------------------------------------------------------------- */

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us)
{
    struct coordinator *c = calloc(1, sizeof *c);
    *coordinator = c;
    if (c == NULL)
        return STATUS_MEMORY;
    c->options = *options;
    c->envelope = (struct envelope){.role = ROLE_PS, .incarnation = options->incarnation};
    c->job = &c->declaration.job;
    c->driven_us = c->entered_us = c->waited_us = now_us;
    c->began_us = options->began_us != 0 ? options->began_us : now_us;
    c->last_snapshot = c->last_due = NO_STEP;
    run_summary_begin(&c->summary);
    run_phases_begin(&c->summary.phases, RUN_PHASE_WAITING, now_us);
    return STATUS_OK;
}

void coordinator_destroy(struct coordinator **coordinator)
{
    struct coordinator *c = *coordinator;
    if (c == NULL)
        return;
    work_free(&c->work);
    frame_release(c->kept);
    staleness_totals_free(&c->staleness);
    computations_free(&c->computations);
    declaration_free(&c->declaration);
    free(c);
    *coordinator = NULL;
}

void coordinator_abandon(struct coordinator *coordinator)
{
    coordinator->unleashed = true;
}

bool coordinator_holds_run(const struct coordinator *coordinator)
{
    const struct coordinator *c = coordinator;
    return c->state >= GATHERING && c->state < CLOSING && !c->stopping && !c->unleashed;
}

bool coordinator_has_started(const struct coordinator *coordinator)
{
    return coordinator->state >= RECOVERING;
}

bool coordinator_is_over(const struct coordinator *coordinator)
{
    return coordinator->state == OVER;
}

void coordinator_enter(struct coordinator *c, enum state state, uint64_t now_us)
{
    c->state = state;
    c->entered_us = now_us;
}

/* This core's own time, which stands still while it is not driven: if our process is stopped for
 * minutes, no member has been silent that long as far as we know. */
static uint64_t own_time(struct coordinator *c, uint64_t now_us)
{
    uint64_t since_us = now_us > c->driven_us ? now_us - c->driven_us : 0;
    if (since_us > WATCHED_US)
        c->unwatched_us += since_us;
    c->driven_us += since_us;
    return c->driven_us - c->unwatched_us;
}

uint64_t coordinator_wall(const struct coordinator *c, uint64_t now_us)
{
    return now_us + c->unwatched_us;
}

/* --- from members -------------------------------------------------------------------------- */

/* Whether a process that is no member may be about to ask how it ended: a lost worker that is
 * being started again, or one that came too late. */
static bool is_asked_for(const struct coordinator *c)
{
    bool seen_before = coordinator_goes_on(c);
    for (uint32_t i = 0; i < c->work.membership.declared_count; i++) {
        const struct member *worker = &c->work.membership.workers[i];
        bool left = worker->departure == DEPARTURE_LEFT && worker->departed == worker->incarnation;
        if (!worker->present && !worker->bye && !left && (worker->ever || seen_before))
            return true;
    }
    return c->turned_away;
}

static bool has_unknown_peers(const struct member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!members[i].ever && !members[i].bye)
            return true;
    return false;
}

/* Server 0 was killed, and its successor stopped before all members had found it again: they
 * look for it, and cannot know. */
static bool is_looked_for(const struct coordinator *c)
{
    return c->stopping && c->snapshot_us == 0 && c->envelope.run_id != 0 &&
           coordinator_goes_on(c) &&
           (has_unknown_peers(c->work.membership.servers + 1,
                              c->work.membership.server_count - 1) ||
            has_unknown_peers(c->work.membership.workers, c->work.membership.declared_count));
}

/* How long late questions are still answered with the end. */
static double linger_seconds(const struct coordinator *c)
{
    if (c->abandoned)
        return 0;
    if (is_looked_for(c))
        return c->options.deadlines.stop;
    if (!is_asked_for(c))
        return 0;
    return c->exit_code == EXIT_START_TIMEOUT ? GIVE_UP_SECONDS : LINGER_SECONDS;
}

/* Whether there is no process to wait for: there never was a member, and those that wait to join
 * have asked before, and will ask again and hear why. */
static bool has_no_member(const struct coordinator *c)
{
    return c->own_router_left && c->work.membership.servers == NULL &&
           c->declaration.uploader == 0 && !c->known;
}

/* Some members have not confirmed the end. libzmq drops received messages when the connection
 * ends before they are taken, so the last message is lost unless this process stays. */
static bool is_watched(const struct coordinator *c, uint64_t now_us)
{
    bool watched = false;
    if (c->abandoned)
        return false;
    for (unsigned i = 0; i < WATCHERS_MAX && i < c->watcher_count; i++)
        watched = watched || c->watchers[i] != PEER_LOCAL;
    return watched && seconds_since(c->entered_us, now_us) < WATCHER_SECONDS;
}

static void end_when_left(struct coordinator *c, uint64_t now_us)
{
    bool left = membership_has_left(&c->work.membership) &&
                seconds_since(c->entered_us, now_us) >= linger_seconds(c);
    if (c->state == FINISHING && (left || has_no_member(c)) && !is_watched(c, now_us))
        coordinator_enter(c, OVER, now_us);
}

static void handle_bye(struct coordinator *c, struct member *member, uint64_t now_us)
{
    member->bye = true;
    end_when_left(c, now_us);
}

/* Whether a worker must hear how work is dealt. */
static bool is_behind(const struct coordinator *c, const struct message *message)
{
    return (c->state == RUNNING || (c->state == CLOSING && !c->closed)) && !c->deal_due &&
           (message->generation < c->envelope.generation ||
            message->ping.assignment < c->work.assignment.number);
}

/* The slowest worker, which this one must not run ahead of. */
static bool is_bound(const struct coordinator *c, uint32_t worker, uint32_t *whom)
{
    return c->state == RUNNING && c->work.membership.workers[worker].present &&
           c->work.rules->waits_for(&c->work, worker, whom);
}

/* For a worker that waits for nothing else. */
static void describe_bound(const struct coordinator *c, const struct message *message, char *text)
{
    uint32_t whom;
    if (text[0] == '\0' && message->role == ROLE_WORKER && is_bound(c, message->index, &whom))
        snprintf(text, MESSAGE_TEXT_MAX, "waiting for worker/%u (on %s), the slowest, in %s", whom,
                 c->work.membership.workers[whom].host, job_mode_text(c->job).text);
}

/* For an observer: "worker/0 and 2 more wait for worker/3 (on ada), the slowest, in ssp:2". */
static void describe_bounds(const struct coordinator *c, char *text)
{
    uint32_t whom, slowest = 0, first = 0, count = 0;
    char more[32] = "";
    for (uint32_t i = c->work.membership.worker_count; text[0] == '\0' && i-- > 0;)
        if (is_bound(c, i, &whom)) {
            slowest = whom;
            first = i;
            count++;
        }
    if (count == 0)
        return;
    if (count > 1)
        snprintf(more, sizeof more, " and %u more", count - 1);
    snprintf(text, MESSAGE_TEXT_MAX, "worker/%u%s %s for worker/%u (on %s), the slowest, in %s",
             first, more, count > 1 ? "wait" : "waits", slowest,
             c->work.membership.workers[slowest].host, job_mode_text(c->job).text);
}

/* For an observer, when no member is away: the worker that all others wait for. */
static void describe_stragglers(const struct coordinator *c, char *text, uint64_t now_us)
{
    uint32_t whom, count;
    if (text[0] != '\0' || c->state != RUNNING ||
        (count = stragglers_awaited(&c->work.membership, now_us, &whom)) == 0)
        return;
    stragglers_describe(&c->work.membership.workers[whom], whom, c->work.rules->unit,
                        c->work.statistics.step, now_us, text);
    if (count > 1)
        wording_append(text, MESSAGE_TEXT_MAX, ", and for %u more", count - 1);
}

/* A sign of life, from a member of this generation or an older one; and a chance to bring it up
 * to date. */
static void handle_heartbeat(struct coordinator *c, struct member *member,
                             const struct packet *packet, uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    bool current = message->generation == c->envelope.generation;
    member->leash = message->kind == MESSAGE_READY ? message->ready.leash : message->ping.leash;
    if (message->role == ROLE_WORKER) {
        stragglers_heard(member, &message->ping, current, now_us);
        if (is_behind(c, message))
            coordinator_send_start(c, member, outbox);
        else
            coordinator_deal_share(c, message->index, outbox);
    } else if (message->role == ROLE_PS && !current) {
        coordinator_welcome_again(c, member, outbox);
    }
    char text[MESSAGE_TEXT_MAX];
    coordinator_describe_waiting(c, text, now_us);
    describe_bound(c, message, text);
    struct message *pong = &envelope_answer(&c->envelope, packet, MESSAGE_PONG, outbox)->message;
    snprintf(pong->waiting.text, MESSAGE_TEXT_MAX, "%s", text);
    pong->waiting.leave = message->role == ROLE_WORKER && member->dismissed;
    if (message->role == ROLE_PS && current && c->raising == 0)
        pong->waiting.scored = c->evaluation.settled;
    if (message->kind == MESSAGE_READY && current) {
        staleness_totals_hear(&c->staleness, message->index, packet->payload);
        coordinator_handle_ready(c, member, packet, now_us, outbox);
        coordinator_repeat_quorum(c, member, now_us, outbox);
    }
}

/* A chunk of a model to be kept. While the checkpointer has not come to the last chunk of one
 * model, the next model is left out: so they do not pile up on a slow disk. */
static bool can_keep(struct coordinator *c, const struct packet *packet)
{
    uint64_t batches = packet->message.chunk_state.step;
    if (!c->job->keep_scored || packet->payload == NULL || batches < c->kept_at ||
        (batches > c->kept_at && c->kept != NULL && !frame_is_unique(c->kept)))
        return false;
    frame_release(c->kept);
    c->kept = frame_retain(packet->payload);
    c->kept_at = batches;
    return true;
}

/* A chunk of a server that does not see our disk, or of a scored model. */
static void handle_chunk_state(struct coordinator *c, struct packet *packet, struct outbox *outbox)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    if (state->array == CHECKPOINT_SCORED
            ? !can_keep(c, packet)
            : !c->snapshot.under_way || state->step != c->snapshot.step)
        return;
    *outbox_add(outbox, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE) = *packet;
    packet->payload = NULL;
}

static void handle_server(struct coordinator *c, struct member *server, struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    switch (packet->message.kind) {
    case MESSAGE_CUT_TAKEN:
        coordinator_handle_cut_taken(c, server, packet, now_us, outbox);
        break;
    case MESSAGE_PART_WRITTEN:
        coordinator_handle_part_written(c, packet, now_us, outbox);
        break;
    case MESSAGE_CHUNK_STATE:
        handle_chunk_state(c, packet, outbox);
        break;
    default: /* Only workers send it. */
        break;
    }
}

static void handle_worker(struct coordinator *c, struct member *worker, struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    switch (packet->message.kind) {
    case MESSAGE_LEASE:
        coordinator_handle_lease(c, packet, now_us, outbox);
        break;
    case MESSAGE_EVALUATION:
        coordinator_handle_evaluation(c, packet, now_us, outbox);
        break;
    case MESSAGE_DONE:
        coordinator_handle_done(c, worker, packet, now_us, outbox);
        break;
    case MESSAGE_LEAVE:
        coordinator_handle_leave(c, packet, now_us, outbox);
        break;
    default: /* Only servers send it. */
        break;
    }
}

static bool is_from_members(enum message_kind kind)
{
    switch (kind) {
    case MESSAGE_PING:
    case MESSAGE_READY:
    case MESSAGE_STOP:
    case MESSAGE_BYE:
    case MESSAGE_CUT_TAKEN:
    case MESSAGE_PART_WRITTEN:
    case MESSAGE_CHUNK_STATE:
    case MESSAGE_LEASE:
    case MESSAGE_EVALUATION:
    case MESSAGE_DONE:
    case MESSAGE_LEAVE:
        return true;
    default:
        return false;
    }
}

static void handle_member(struct coordinator *c, struct member *member, struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    coordinator_hear(member, packet, now_us, outbox);
    member->has_job = true; /* A member has been welcomed, and had it before that. */
    if (!is_from_members(message->kind))
        envelope_refuse(&c->envelope, packet, REFUSAL_MALFORMED, outbox, "%s is not for a server",
                        message_kind_name(message->kind));
    else if (message->kind == MESSAGE_STOP) /* These three are about the process alone. */
        coordinator_handle_stop(c, packet, now_us, outbox);
    else if (message->kind == MESSAGE_BYE)
        handle_bye(c, member, now_us);
    else if (message->kind == MESSAGE_LEAVE && message->role == ROLE_WORKER)
        coordinator_handle_leave(c, packet, now_us, outbox);
    else if (message->generation > c->envelope.generation)
        c->summary.faults.fenced++;
    else if (message->kind == MESSAGE_PING ||
             (message->kind == MESSAGE_READY && message->role == ROLE_PS))
        handle_heartbeat(c, member, packet, now_us, outbox);
    else if (message->generation < c->envelope.generation)
        c->summary.faults.fenced++;
    else if (message->role == ROLE_PS)
        handle_server(c, member, packet, now_us, outbox);
    else
        handle_worker(c, member, packet, now_us, outbox);
}

/* --- from those who are none --------------------------------------------------------------- */

bool coordinator_is_of_another_run(const struct coordinator *c, const struct message *message)
{
    bool some_run_is_known = c->envelope.run_id != 0 || message->run_id == c->ended_run_id;
    return some_run_is_known && message->run_id != 0 && message->run_id != c->envelope.run_id;
}

/* If server 0 was killed when the run had ended, its successor may serve another run, or find
 * that it cannot. Members of the old run that had not heard of the end hear it here. */
void coordinator_answer_other_run(const struct coordinator *c, const struct packet *packet,
                                  struct outbox *outbox)
{
    if (packet->message.kind == MESSAGE_BYE)
        return;
    if (packet->message.run_id != c->ended_run_id) {
        envelope_refuse(&c->envelope, packet, REFUSAL_RUN, outbox,
                        "not a process of the run served here");
        return;
    }
    struct message *finished =
        &envelope_answer(&c->envelope, packet, MESSAGE_FINISHED, outbox)->message;
    finished->stop.exit_code = c->ended_code;
    snprintf(finished->stop.reason, MESSAGE_TEXT_MAX, "the run had ended");
}

void coordinator_answer_departed(struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox)
{
    if (membership_departure(&c->work.membership, &packet->message) == DEPARTURE_LEFT)
        coordinator_tell_left(c, packet, outbox);
    else
        envelope_refuse(&c->envelope, packet, REFUSAL_MEMBER, outbox, "dropped as stuck");
}

/* A message of a member from a process that is none (any more). */
static void handle_outsider(struct coordinator *c, const struct packet *packet,
                            struct outbox *outbox)
{
    const struct message *message = &packet->message;
    const struct member *place = membership_place(&c->work.membership, message);
    bool same_process = place != NULL && place->incarnation == message->incarnation;
    if (message->kind == MESSAGE_BYE || packet->peer == PEER_LOCAL) {
        return;
    } else if (coordinator_is_of_another_run(c, message)) {
        coordinator_answer_other_run(c, packet, outbox);
    } else if (message->kind == MESSAGE_LEAVE && message->role == ROLE_WORKER) {
        coordinator_tell_left(c, packet, outbox);
    } else if (membership_departure(&c->work.membership, message) != DEPARTURE_NONE) {
        coordinator_answer_departed(c, packet, outbox);
    } else if (same_process && place->present && message->kind != MESSAGE_PING &&
               message->kind != MESSAGE_READY) {
        /* Of an earlier admission: it knows, or will hear with its next sign of life. */
        c->summary.faults.fenced++;
    } else {
        c->summary.faults.fenced += same_process;
        envelope_refuse(&c->envelope, packet, REFUSAL_REJOIN, outbox, "not a member (any more)");
    }
}

/* Before it is welcomed a server knows no run; one that knows another run has no say in this. */
static bool is_server_that_waits(const struct coordinator *c, const struct packet *packet)
{
    return c->state <= GATHERING && packet->message.role == ROLE_PS &&
           (packet->message.run_id == 0 || packet->peer == PEER_LOCAL);
}

/* It was no member, so the job ended before there was one. */
static void own_router_left(struct coordinator *c, uint64_t now_us)
{
    c->own_router_left = true;
    if (has_no_member(c))
        end_when_left(c, now_us);
}

/* --- those who look ------------------------------------------------------------------------- */

static void describe_scores(const struct coordinator *c, struct job_figures *job)
{
    struct statistics_epoch epoch = statistics_epoch_now(&c->work.statistics);
    job->train = (struct train_figures){.epoch = epoch.tally.examples > 0 ? epoch.number + 1 : 0,
                                        .examples = epoch.tally.examples,
                                        .loss = tally_loss(&epoch.tally, c->job),
                                        .accuracy = tally_accuracy(&epoch.tally, c->job)};
    job->test_step = c->summary.test_step;
    job->test = c->summary.test;
    job->window = c->summary.window;
}

static void describe_work(const struct coordinator *c, struct job_figures *job, uint64_t now_us)
{
    uint64_t examples = 0, stalest;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        examples += c->work.membership.workers[i].summary.examples;
    job->seconds = run_phases_trained(&c->summary.phases, coordinator_wall(c, now_us));
    job->images_per_second = job->seconds > 0 ? (double)examples / job->seconds : 0;
    job->staleness_mean = staleness_totals_mean(&c->staleness, &stalest);
    job->staleness_max = isnan(job->staleness_mean) ? FIGURE_UNKNOWN : stalest;
}

static void describe_job(const struct coordinator *c, struct job_figures *job)
{
    job->step = statistics_made(&c->work.statistics);
    job->steps = c->job->steps;
    job->epoch = (double)job->step / (double)job_steps_per_epoch(c->job);
    job->epochs = (double)c->job->steps / (double)job_steps_per_epoch(c->job);
    job->workers = membership_workers(&c->work.membership);
    job->worker_count = c->job->worker_count;
    job->servers = membership_servers(&c->work.membership);
    job->server_count = c->job->server_count;
    job->colocated = c->job->colocated;
    job->checkpoint_step = c->last_snapshot != NO_STEP ? c->last_snapshot : FIGURE_UNKNOWN;
    job->faults = c->summary.faults;
    job->faults.generation = c->envelope.generation;
}

void coordinator_describe(const struct coordinator *c, struct message_status_answer *answer,
                          uint64_t now_us)
{
    _Static_assert((int)OVER == (int)JOB_OVER && (int)RUNNING == (int)JOB_RUNNING, "same order");
    answer->state = (enum job_state)c->state;
    answer->seconds = seconds_since(c->entered_us, now_us);
    snprintf(answer->out, sizeof answer->out, "%s", c->options.out);
    if (c->state >= FINISHING) {
        answer->exit_code = (uint32_t)c->exit_code;
        snprintf(answer->text, sizeof answer->text, "%s", c->reason);
    } else {
        coordinator_describe_waiting(c, answer->text, now_us);
        describe_bounds(c, answer->text);
        describe_stragglers(c, answer->text, now_us);
    }
    if (c->work.membership.servers == NULL) /* No job is declared: there are no facts about it. */
        return;
    snprintf(answer->mode_text, sizeof answer->mode_text, "%s", job_mode_text(c->job).text);
    answer->figures_bytes = sizeof answer->job;
    describe_job(c, &answer->job);
    describe_scores(c, &answer->job);
    describe_work(c, &answer->job, now_us);
}

uint64_t coordinator_time(const struct coordinator *coordinator)
{
    return coordinator->driven_us - coordinator->unwatched_us;
}

struct frame *coordinator_staleness(const struct coordinator *coordinator)
{
    return staleness_totals_shape(&coordinator->staleness);
}

const struct membership *coordinator_members(const struct coordinator *coordinator)
{
    return &coordinator->work.membership;
}

static void note_watcher(struct coordinator *c, uint64_t peer, bool watches)
{
    for (unsigned i = 0; i < WATCHERS_MAX && i < c->watcher_count; i++) {
        bool known = c->watchers[i] == peer;
        if (known && watches)
            return;
        if (known)
            c->watchers[i] = PEER_LOCAL; /* It does not watch. */
    }
    if (watches)
        c->watchers[c->watcher_count++ % WATCHERS_MAX] = peer;
}

static void handle_status(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    note_watcher(c, packet->peer, packet->message.status.watch);
    if (!packet->message.status.watch && (c->work.membership.tickets > 0 || has_no_member(c)))
        end_when_left(c, now_us);
    struct packet *answer = envelope_answer(&c->envelope, packet, MESSAGE_STATUS_ANSWER, outbox);
    coordinator_describe(c, &answer->message.status_answer, now_us);
}

/* --- dispatch ------------------------------------------------------------------------------ */

/* The sender knows that the job has ended, and goes. It need not be a member (any more, or yet). */
static void handle_last_word(struct coordinator *c, const struct packet *packet,
                             struct member *member, uint64_t now_us)
{
    struct member *place = membership_place(&c->work.membership, &packet->message);
    if (member != NULL && membership_has_key(member, packet))
        handle_bye(c, member, now_us);
    else if (packet->peer == PEER_LOCAL && c->state == FINISHING)
        own_router_left(c, now_us);
    else if (member == NULL && place != NULL && !place->present)
        handle_bye(c, place, now_us);
}

static void handle_ended(struct coordinator *c, const struct packet *packet, struct member *member,
                         uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    bool bye = message->kind == MESSAGE_BYE;
    /* A worker that was never welcomed does not wait for an answer. */
    bool last_word = bye || (message->kind == MESSAGE_STOP && message->run_id == 0);
    /* Its peer is another's. */
    if (message->kind == MESSAGE_REPORT)
        return;
    /* This server goes alone, and the job goes on. */
    if (c->state == OVER && c->unleashed && !c->abandoned)
        return;
    if (coordinator_is_of_another_run(c, message)) {
        coordinator_answer_other_run(c, packet, outbox);
        return;
    }
    if (!bye)
        coordinator_answer_finished(c, packet, outbox);
    if (last_word)
        handle_last_word(c, packet, member, now_us);
}

/* The member that the message is from, or NULL. A message about the process alone may come
 * before it has heard of its admission. */
static struct member *find_sender(const struct coordinator *c, const struct packet *packet)
{
    const struct message *message = &packet->message;
    bool alone = message->kind == MESSAGE_STOP || message->kind == MESSAGE_LEAVE ||
                 message->kind == MESSAGE_BYE;
    struct member *place = membership_place(&c->work.membership, message);
    if (c->envelope.run_id == 0 || coordinator_is_of_another_run(c, message) ||
        (place != NULL && place->peer == PEER_LOCAL && packet->peer != PEER_LOCAL))
        return NULL;
    if (alone && place != NULL && place->present && place->incarnation == message->incarnation)
        return place;
    return message->run_id == 0 ? NULL : membership_find(&c->work.membership, message);
}

static void refuse_wrong_key_peer(const struct coordinator *c, const struct packet *packet,
                                  struct outbox *outbox)
{
    envelope_refuse(&c->envelope, packet, REFUSAL_KEY, outbox, "%s/%u has another key",
                    role_name(packet->message.role), packet->message.index);
}

static void handle(struct coordinator *c, struct packet *packet, uint64_t now_us,
                   struct outbox *outbox)
{
    enum message_kind kind = packet->message.kind;
    struct member *member = find_sender(c, packet);
    packet->member = member != NULL && membership_has_key(member, packet);
    c->known = c->known || (packet->message.run_id != 0 && packet->peer != PEER_LOCAL);
    if (kind == MESSAGE_STATUS)
        handle_status(c, packet, now_us, outbox);
    else if (kind == MESSAGE_DISMISS)
        coordinator_evict(c, packet, outbox);
    else if (kind == MESSAGE_JOIN && coordinator_refuses_join(c, packet, outbox))
        ; /* In every state: it has nothing to do with this job. */
    else if (c->state >= FINISHING)
        handle_ended(c, packet, member, now_us, outbox);
    else if (kind == MESSAGE_JOIN)
        coordinator_handle_join(c, packet, now_us, outbox);
    else if (kind == MESSAGE_JOB_PAGE)
        coordinator_handle_job_page(c, packet, now_us, outbox);
    else if (kind == MESSAGE_REPORT)
        coordinator_handle_report(c, packet, now_us, outbox);
    else if (member != NULL && !membership_has_key(member, packet))
        refuse_wrong_key_peer(c, packet, outbox);
    else if (member != NULL)
        handle_member(c, member, packet, now_us, outbox);
    else if (kind == MESSAGE_STOP && is_server_that_waits(c, packet))
        coordinator_handle_stop(c, packet, now_us, outbox);
    else
        handle_outsider(c, packet, outbox);
}

void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    handle(coordinator, packet, own_time(coordinator, now_us), outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !coordinator->options.unchecked)
        coordinator_check(coordinator);
}

/* --- from inside --------------------------------------------------------------------------- */

static void handle_summary_written(struct coordinator *c, const struct order_written *written,
                                   uint64_t now_us, struct outbox *outbox)
{
    if (c->state != CLOSING || !c->closed)
        return;
    if (written->status != STATUS_OK)
        coordinator_finish(c, EXIT_CANNOT_OPEN, written->text, now_us, outbox);
    else
        coordinator_finish(c, c->exit_code, coordinator_is_done(c) ? "" : "stopped", now_us,
                           outbox);
}

/* Out of a checkpoint, for another server. */
static void pass_on_chunk(struct coordinator *c, struct packet *packet, struct outbox *outbox)
{
    uint32_t server = packet->message.chunk_state.server;
    if (server >= c->work.membership.server_count || !c->work.membership.servers[server].present)
        return;
    struct packet *out = envelope_to_peer(&c->envelope, c->work.membership.servers[server].peer,
                                          MESSAGE_CHUNK_STATE, outbox);
    out->message.chunk_state = packet->message.chunk_state;
    out->payload = packet->payload;
    packet->payload = NULL;
}

/* Only the router here knows the versions it has let out. */
static void handle_stop_at(struct coordinator *c, uint64_t step)
{
    /* A late worker may wait for a version that there will not be. */
    c->deal_due = c->deal_due || (c->state == RUNNING && coordinator_quorum(c) != NULL);
    if (c->state >= FINISHING)
        return;
    c->stop_named = true;
    if (step < c->work.stop_step)
        c->work.stop_step = step;
}

static void obey(struct coordinator *c, const struct order *order, const struct frame *payload,
                 uint64_t now_us, struct outbox *outbox)
{
    if (order->kind == ORDER_RUN_OPENED)
        coordinator_handle_run_opened(c, &order->run_opened, payload, now_us, outbox);
    else if (order->kind == ORDER_SUMMARY_WRITTEN)
        handle_summary_written(c, &order->written, now_us, outbox);
    else if (order->generation != c->envelope.generation)
        ; /* It was in flight when the generation was raised. */
    else if (order->kind == ORDER_MANIFEST_WRITTEN)
        coordinator_handle_manifest_written(c, &order->written, now_us, outbox);
    else if (order->kind == ORDER_SETS_WRITTEN)
        coordinator_handle_sets_written(c, &order->written, now_us, outbox);
    else if (order->kind == ORDER_STOP_AT)
        handle_stop_at(c, order->stop_at.step);
}

static void handle_checkpointer(struct coordinator *c, struct packet *packet, uint64_t now_us,
                                struct outbox *outbox)
{
    const struct message *message = &packet->message;
    /* It was in flight when the generation was raised. */
    if (message->generation != c->envelope.generation)
        return;
    if (message->kind == MESSAGE_PART_WRITTEN)
        coordinator_handle_part_written(c, packet, now_us, outbox);
    else if (message->kind == MESSAGE_CHUNK_STATE)
        pass_on_chunk(c, packet, outbox);
}

void coordinator_handle_inside(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    uint64_t own_us = own_time(coordinator, now_us);
    if (order != NULL)
        obey(coordinator, order, packet->payload, own_us, outbox);
    else
        handle_checkpointer(coordinator, packet, own_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !coordinator->options.unchecked)
        coordinator_check(coordinator);
}

/* --- time ---------------------------------------------------------------------------------- */

/* Until training starts there is one deadline, for all reasons of waiting. */
static bool start_timed_out(const struct coordinator *c, uint64_t now_us)
{
    return seconds_since(c->began_us, now_us) > c->options.deadlines.start;
}

static void tick_waiting(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    double waited = seconds_since(c->entered_us, now_us);
    if (start_timed_out(c, now_us)) {
        coordinator_fail(c, EXIT_START_TIMEOUT, now_us, outbox,
                         "start timed out after %s: no worker has declared a job",
                         wording_duration(c->options.deadlines.start).text);
    } else if (now_us - c->waited_us >= WAITING_LINE_US) {
        c->waited_us = now_us;
        outbox_log(outbox, "waiting %s for a worker to declare a job", wording_waited(waited).text);
    }
}

static void tick_gathering(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char missing[MESSAGE_TEXT_MAX / 2];
    if (start_timed_out(c, now_us)) {
        membership_list_missing(&c->work.membership, true, missing, sizeof missing);
        coordinator_fail(c, EXIT_START_TIMEOUT, now_us, outbox,
                         "start timed out after %s waiting for %s",
                         wording_duration(c->options.deadlines.start).text, missing);
        return;
    }
    coordinator_repeat_welcomes(c, now_us, outbox);
    coordinator_start_when_gathered(c, now_us, outbox);
}

/* Loading may take as long as at the start; a lost member has a deadline of its own. */
static void tick_recovering(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char missing[MESSAGE_TEXT_MAX / 2];
    double waited = seconds_since(c->entered_us, now_us);
    if (waited > c->options.deadlines.recovery && waited > c->options.deadlines.start) {
        membership_list_missing(&c->work.membership, false, missing, sizeof missing);
        coordinator_fail(c, EXIT_CLUSTER_LOST, now_us, outbox,
                         "going back to the last checkpoint took longer than %s: %s",
                         wording_duration(waited).text,
                         c->raising != 0 ? "the run directory does not answer" : missing);
        return;
    }
    coordinator_repeat_welcomes(c, now_us, outbox);
    coordinator_start_when_gathered(c, now_us, outbox);
}

/* The checkpoint to go on from when a stop makes none. */
static const char *what_stands(const struct coordinator *c, char text[64])
{
    snprintf(text, 64, "there is no checkpoint");
    if (c->last_snapshot != NO_STEP)
        snprintf(text, 64, "the checkpoint at step %" PRIu64 " stands", c->last_snapshot);
    return text;
}

/* Of a stop that did not finish: one with code 0 is not done. */
static int code_of_stop(const struct coordinator *c)
{
    return c->exit_code == EXIT_DONE ? EXIT_TERMINATED : c->exit_code;
}

/* A clean stop takes too long. */
static void check_stopping(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char text[64];
    if (!c->stopping || (c->state != RECOVERING && c->state != RUNNING) ||
        seconds_since(c->stop_us, now_us) <= c->options.deadlines.stop)
        return;
    coordinator_fail(c, code_of_stop(c), now_us, outbox, "stopping took longer than %s; %s",
                     wording_duration(c->options.deadlines.stop).text, what_stands(c, text));
}

void coordinator_end_deserted(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char text[64];
    coordinator_fail(c, code_of_stop(c), now_us, outbox,
                     "stopped when all workers had left, in the middle of a step; %s",
                     what_stands(c, text));
}

/* While a server is away its own deadline counts. */
static void tick_closing(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (!c->closed && !membership_is_served(&c->work.membership))
        c->entered_us = now_us;
    double waited = seconds_since(c->entered_us, now_us);
    if (c->deserted && waited > DESERTED_SECONDS && !c->closed &&
        !snapshot_is_taken(&c->work.membership))
        coordinator_end_deserted(c, now_us, outbox);
    else if (waited > c->options.deadlines.stop)
        coordinator_fail(c, EXIT_CANNOT_OPEN, now_us, outbox, "%s was not written within %s",
                         c->closed ? "the model file" : "the last checkpoint",
                         wording_duration(c->options.deadlines.stop).text);
}

static void tick_finishing(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    double most = c->own_router_left ? LINGER_SECONDS : c->options.deadlines.silence;
    if (c->exit_code == EXIT_START_TIMEOUT)
        most = fmin(most, GIVE_UP_SECONDS);
    if (seconds_since(c->entered_us, now_us) > fmax(most, linger_seconds(c)))
        coordinator_enter(c, OVER, now_us);
    else if (now_us - c->sent_us >= FINISHED_REPEAT_US)
        coordinator_tell_everybody(c, now_us, outbox);
    if (c->work.membership.tickets > 0 || has_no_member(c))
        end_when_left(c, now_us);
}

static void tick(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    coordinator_watch_leashes(c, now_us, outbox);
    coordinator_watch_members(c, now_us, outbox);
    coordinator_watch_awaited(c, now_us, outbox);
    coordinator_watch_snapshot(c, now_us, outbox);
    check_stopping(c, now_us, outbox);
    switch (c->state) {
    case WAITING:
        tick_waiting(c, now_us, outbox);
        break;
    case OPENING:
        if (start_timed_out(c, now_us))
            coordinator_fail(c, EXIT_START_TIMEOUT, now_us, outbox,
                             "the run directory %s does not open", c->options.out);
        break;
    case GATHERING:
        tick_gathering(c, now_us, outbox);
        break;
    case RECOVERING:
        tick_recovering(c, now_us, outbox);
        break;
    case RUNNING:
        coordinator_deal_when_due(c, now_us, outbox);
        coordinator_score(c, outbox);
        coordinator_finish_when_done(c, now_us, outbox);
        break;
    case CLOSING:
        tick_closing(c, now_us, outbox);
        break;
    case FINISHING:
        tick_finishing(c, now_us, outbox);
        break;
    case OVER:
        break;
    }
    coordinator_say_who_is_missing(c, now_us, outbox);
    coordinator_note_faults(c, now_us, outbox);
}

void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox)
{
    tick(coordinator, own_time(coordinator, now_us), outbox);
    if (CHECKED && !coordinator->options.unchecked)
        coordinator_check(coordinator);
}
