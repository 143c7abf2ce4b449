/* session.c - both conversations, and the deadlines of each state.
 *
 *     with server 0                                        with the trainer
 *
 *     JOINING --WELCOME--> GATHERED --START--> STARTED     IDLE --WORK--> BUSY
 *        ^                    |                   |         ^ ^             |
 *        '--REFUSED(REJOIN)---+-------------------'         | '-- the last -'
 *                                                           |    EXCHANGE
 *     any of them --FINISHED, a refusal, a deadline--> OVER |
 *                                                           '--START-- DONE, said when IDLE
 *
 * JOINING and OVER are joining.h's; GATHERED has no START of its generation. A newer START makes
 * the trainer IDLE at once, or, if it is BUSY, after its last EXCHANGE. WORK is given (go_on)
 * when the trainer is IDLE, START has come and every chunk is here. */

#include "worker/client/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/invariant.h"
#include "common/base/wording.h"
#include "common/steps/leaf_set.h"
#include "common/wire/pages.h"
#include "worker/client/session_state.h"

#define ROUNDS_AT_ONCE 3        /* Of asking for the newest; later ones are delayed. */
#define ROUND_US       20000u   /* Between the later ones. */
#define GRACE_SECONDS  5        /* For server 0, whose reasons are better, to be first. */
#define SAY_WHY_US     5000000u /* A wait of this length is worth a line. */
#define FINISH_US      1000000u /* To have pushes answered before it leaves. */

/* --- life ---------------------------------------------------------------------------------- */

enum status session_create(struct session **session, const struct session_options *options,
                           uint64_t now_us)
{
    uint8_t digest[DIGEST_BYTES] = {0};
    struct session *s = calloc(1, sizeof *s);
    *session = s;
    if (s == NULL)
        return STATUS_MEMORY;
    s->envelope = &s->joining.envelope;
    s->options = *options;
    s->times.worker = options->self.index;
    s->times.listener = options->listener;
    s->waiting_us = now_us;
    enum status status = follow_init(&s->follow, options->job, options->partition->chunk_count);
    if (status == STATUS_OK)
        status = exchange_init(&s->exchange, options->job, options->partition, options->parameters);
    s->exchange.computation = &s->follow.computation;
    if (status == STATUS_OK && job_mode(options->job)->replicates) {
        status = replica_init(&s->replica, options->job, options->partition, options->parameters);
        s->exchange.replica = &s->replica;
    }
    if (status == STATUS_OK)
        status = scoring_init(&s->scoring, options->job, options->partition);
    if (status == STATUS_OK)
        status = job_digest(options->job, digest);
    joining_init(&s->joining, ROLE_WORKER, &options->self, digest, now_us);
    if (status == STATUS_OK)
        return STATUS_OK;
    session_destroy(session);
    return STATUS_MEMORY;
}

void session_destroy(struct session **session)
{
    if (*session == NULL)
        return;
    if ((*session)->exchange.chunks != NULL)
        exchange_free(&(*session)->exchange);
    replica_free(&(*session)->replica);
    scoring_free(&(*session)->scoring);
    frame_release((*session)->sets);
    follow_free(&(*session)->follow);
    free(*session);
    *session = NULL;
}

const float *session_parameters(const struct session *session)
{
    return session->exchange.view;
}

const float *session_scored(const struct session *session)
{
    return session->scoring.pull.view;
}

uint32_t session_refusals(const struct session *session)
{
    return session->follow.refusals;
}

bool session_apart(const struct session *session)
{
    return session->exchange.apart;
}

struct joining *session_joining(struct session *session)
{
    return &session->joining;
}

static bool is_member(const struct session *s)
{
    return !s->joining.over && !s->joining.joining;
}

static bool is_started(const struct session *s)
{
    return is_member(s) && s->start.assignment != 0;
}

/* It computes a gradient, or scores. */
static bool is_busy(const struct session *s)
{
    return s->trainer == BUSY || s->scoring.given;
}

const char *session_waiting(const struct session *session, double *seconds, uint64_t now_us)
{
    const struct session *s = session;
    const char *what = s->joining.waiting;
    uint64_t since_us = s->joining.started ? s->waiting_us : s->joining.began_us;
    *seconds = (double)(now_us - since_us) * 1e-6;
    if (!s->joining.over && !is_started(s))
        return what;
    bool waits = !s->joining.over && !is_busy(s) && now_us - since_us >= SAY_WHY_US;
    return waits && what[0] != '\0' ? what : NULL;
}

/* Over for this worker: the trainer hears it and lets go. */
static void tell_end(struct session *s, struct outbox *outbox)
{
    if (!s->joining.over || s->end_passed)
        return;
    s->end_passed = true;
    exchange_forget(&s->exchange);
    scoring_forget(&s->scoring);
    struct packet *packet = outbox_add(outbox, TO_TRAINER, MESSAGE_FINISHED);
    packet->message.stop.exit_code = (uint32_t)s->joining.exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", s->joining.reason);
}

static void end(struct session *s, int exit_code, const char *reason, struct outbox *outbox)
{
    joining_end(&s->joining, exit_code, reason);
    tell_end(s, outbox);
}

/* This worker failed as others would: end the job with the reason. */
static void fail(struct session *s, int exit_code, const char *reason, struct outbox *outbox)
{
    if (s->joining.over)
        return;
    struct message *message = joining_say(&s->joining, MESSAGE_STOP, outbox);
    message->stop.exit_code = (uint32_t)exit_code;
    snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    end(s, exit_code, reason, outbox);
}

static void end_left(struct session *s, const char *reason, struct outbox *outbox)
{
    end(s, s->leave_code, reason, outbox);
}

/* A message that the coordinator must receive. A leaving worker finishes what is under way
 * first: so nothing is computed twice, and the last to leave leaves all chunks at one version. */
static void announce(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    s->announcements.leave_held = exchange_pushed_end(&s->exchange) > 0 &&
                                  s->exchange.under_way > 0 && now_us - s->leave_us < FINISH_US;
    announcements_tick(&s->announcements, s->envelope, now_us, outbox);
}

/* --- giving work --------------------------------------------------------------------------- */

/* There is work. The trainer has waited for it since all parameters were here, less what it
 * scored meanwhile, for any reason of the mode. Waits are measured here only. */
static void note_wait(struct session *s, uint64_t now_us)
{
    uint64_t took_us = now_us - s->complete_us - scoring_us(&s->scoring, s->complete_us, now_us);
    if (s->have_parameters)
        times_wait(&s->times, s->waited, s->whom, s->complete_us, took_us);
    s->complete_us = now_us;
    s->waited = WAIT_LEASE;
    s->whom = 0;
}

static void hand_to_trainer(struct session *s, uint64_t step, bool enough, uint64_t now_us,
                            struct outbox *outbox)
{
    if (!s->start_passed) {
        struct packet *start = outbox_add(outbox, TO_TRAINER, MESSAGE_START);
        start->message.generation = s->envelope->generation;
        start->message.start = s->start;
        start->payload = s->sets != NULL ? frame_retain(s->sets) : NULL;
        s->start_passed = true;
    }
    struct packet *packet = outbox_add(outbox, TO_TRAINER, MESSAGE_WORK);
    packet->message.work.enough = enough;
    packet->message.work.batch = step;
    s->exchange.apart = step < s->apart_below;
    s->all_at_once = false;
    s->trainer = BUSY;
    s->busy_us = now_us;
    note_wait(s, now_us);
    if (enough)
        return;
    s->follow.step = s->times.step = step;
}

static bool trainer_waits(const struct session *s)
{
    return s->trainer == IDLE || (s->trainer == DONE && s->follow.rules->has_more(&s->follow));
}

/* Send what the mode has noted, in as few messages as possible. A worker that was welcomed again
 * waits for its START first, which takes its work back. */
static void speak(struct session *s, bool idle, uint64_t now_us, struct outbox *outbox)
{
    if (is_started(s) && !s->rejoined)
        s->follow.rules->speak(&s->follow, s->envelope, idle, now_us, outbox);
}

static void ask_newest(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    const struct message_exchange what = {.want = true, .newest = true};
    s->ask_at_us = 0;
    exchange_ask(&s->exchange, s->envelope, &what, now_us, outbox);
}

/* Give a share of a score, if its values are here and the trainer is free: between two steps,
 * while it waits for parameters or work, or when it is done. */
static void give_score(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    if (s->joining.over || s->trainer == BUSY || !scoring_give(&s->scoring, now_us))
        return;
    struct message *message = &outbox_add(outbox, TO_TRAINER, MESSAGE_WORK)->message;
    message->generation = s->envelope->generation;
    message->work = s->scoring.work;
    s->busy_us = now_us;
    times_scores(&s->times);
    /* Where the trainer is not done, its next batch says what it waited for: a gate, perhaps,
     * and a worker. */
    if (s->trainer == DONE && s->exchange.under_way == 0)
        note_wait(s, now_us);
}

/* All parameters are here: go on with the next step or batch, if there is one. */
static void go_on(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    uint64_t step;
    give_score(s, now_us, outbox);
    if (!s->have_parameters || !trainer_waits(s) || s->exchange.under_way > 0 || s->scoring.given)
        return;
    announcements_forget_done(&s->announcements);
    enum next next = s->follow.rules->next(&s->follow, &step);
    if (next == NEXT_PULL) {
        note_wait(s, now_us);
        s->have_parameters = false;
        ask_newest(s, now_us, outbox);
    } else if (next != NEXT_WAIT) {
        if (next == NEXT_COMPUTE) /* A ticket after START has a clock of its own. */
            computation_begin(&s->follow.computation, step, s->start_ticket,
                              s->exchange.skew.versions);
        hand_to_trainer(s, step, next == NEXT_ENOUGH, now_us, outbox);
    }
}

/* The trainer waits and holds nothing of use: begin from the newest values. This worker did not
 * owe what the others have made meanwhile. */
static void join_flow(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    exchange_forget(&s->exchange);
    s->have_parameters = false;
    s->waiting_us = s->rounds == 0 ? now_us : s->waiting_us;
    if (++s->rounds <= ROUNDS_AT_ONCE)
        ask_newest(s, now_us, outbox);
    else
        s->ask_at_us = now_us + ROUND_US;
}

/* This worker was late, and cannot help with the next step any more. It goes on with the others
 * from a version that they have yet to reach. */
static void catch_up(struct session *s, uint64_t version, uint64_t now_us, struct outbox *outbox)
{
    const struct message_exchange what = {.want = true, .want_version = version};
    s->have_parameters = false;
    s->follow.step = version;
    exchange_ask(&s->exchange, s->envelope, &what, now_us, outbox);
}

/* The trainer waits, with nothing that counts: as after its first START, or until that comes. */
static void begin_anew(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    s->rounds = 0;
    s->trainer = IDLE;
    s->abandoned = NOT_ABANDONED;
    s->busy_us = s->waiting_us = now_us;
    if (s->start.assignment == 0)
        return;
    s->follow.rules->begin(&s->follow, s->envelope);
    join_flow(s, now_us, outbox);
}

/* What the exchange has taken since its begin, or since the last report. */
static void account_exchange(struct session *s, uint64_t now_us)
{
    struct exchange *x = &s->exchange;
    uint64_t took = now_us - x->began_us - scoring_us(&s->scoring, x->began_us, now_us);
    uint64_t held =
        x->held_us - x->held_reported_us < took ? x->held_us - x->held_reported_us : took;
    times_exchange(&s->times, x->began_us, took, held, x->let_go_us, x->held_for);
    x->held_reported_us += (uint32_t)held;
    x->began_us = now_us;
}

static void exchange_complete(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    struct exchange *x = &s->exchange;
    if (x->read_to == 0) /* Else the trainer computes, and reports that. */
        account_exchange(s, now_us);
    s->have_parameters = true;
    s->complete_us = now_us;
    s->rounds = 0;
    s->waiting_us = now_us;
    s->follow.refused = x->refused;
    s->follow.rules->complete(&s->follow, x->version, s->envelope);
    go_on(s, now_us, outbox);
}

/* --- joining ------------------------------------------------------------------------------- */

/* Without memory for it server 0 asks again. */
static void send_declaration(struct session *s, struct outbox *outbox)
{
    struct message_job_page page;
    uint8_t *bytes;
    uint32_t size;
    if (job_encode(s->options.job, &bytes, &size) != STATUS_OK)
        return;
    for (uint32_t i = 0; pages_cut(bytes, size, i, &page); i++)
        joining_say(&s->joining, MESSAGE_JOB_PAGE, outbox)->job_page = page;
    free(bytes);
}

/* What was pushed may stay in a server's hands when it is forgotten here. */
static void note_pushed(struct session *s)
{
    uint64_t end = exchange_pushed_end(&s->exchange);
    if (end > s->apart_below)
        s->apart_below = end;
}

/* What is under way is void. A trainer that computes finishes that, for others or in vain. */
static void stand_down(struct session *s, enum abandoned abandoned)
{
    note_pushed(s);
    exchange_forget(&s->exchange);
    s->follow.rules->forget(&s->follow);
    announcements_forget_done(&s->announcements);
    s->ask_at_us = 0;
    s->have_parameters = false;
    if (s->trainer != BUSY)
        s->trainer = IDLE;
    else if (s->abandoned < abandoned)
        s->abandoned = abandoned;
}

/* Nothing of the generation before counts any more. */
static void leave_generation(struct session *s, uint64_t now_us)
{
    stand_down(s, IN_VAIN);
    s->start.assignment = 0;
    s->follow.stop_step = s->options.job->steps; /* A new server 0 knows of no stop. */
    s->apart_below = 0;
    s->waiting_us = now_us;
    if (s->exchange.replica != NULL)
        replica_forget(&s->replica);
    scoring_forget(&s->scoring);
    announcements_forget_scores(&s->announcements);
}

static void handle_welcome(struct session *s, const struct message *message, uint64_t now_us)
{
    enum welcome welcome = joining_welcome(&s->joining, message);
    if (welcome != WELCOME_GENERATION && welcome != WELCOME_AGAIN)
        return;
    if (welcome == WELCOME_GENERATION)
        leave_generation(s, now_us);
    s->rejoined = true;
    s->waiting_us = now_us;
    s->joining.beat_us = 0; /* A beat at once shows which START is missing. */
    joining_wait(&s->joining, "waiting for others to join");
}

/* Whether a START changes only the members: then the worker keeps its leased batches and goes
 * on. */
static bool only_members_change(const struct session *s, const struct message *message)
{
    return !job_mode(s->options.job)->steps && is_started(s) && !s->rejoined &&
           s->trainer != DONE && message->generation == s->envelope->generation;
}

/* The first step that START says nothing of. */
static uint64_t end_of_sets(const struct frame *sets)
{
    struct leaf_sets list;
    bool any = sets != NULL && leaf_sets_open(&list, sets->data, sets->bytes);
    return any ? list.step + list.left : 0;
}

/* One before its WELCOME is useless without the ticket: it is repeated when a PING shows that it
 * is missing. */
static void handle_start(struct session *s, const struct message *message, struct frame *sets,
                         uint64_t now_us, struct outbox *outbox)
{
    const struct message_start *start = &message->start;
    bool same = message->generation == s->envelope->generation;
    if (s->joining.joining || start->assignment == 0 ||
        message->generation < s->envelope->generation ||
        (same && start->assignment < s->start.assignment + !s->rejoined))
        return;
    bool light = only_members_change(s, message);
    if (!light && s->trainer != BUSY && s->exchange.under_way == 0)
        note_wait(s, now_us);
    if (!same)
        leave_generation(s, now_us);
    else if (!light)
        stand_down(s, FOR_OTHERS);
    s->envelope->generation = message->generation;
    /* In one generation it only falls, and a RESULT of server 0 may have been faster. */
    if (!same || !s->joining.started || start->stop_step < s->follow.stop_step)
        s->follow.stop_step = start->stop_step;
    s->start = *start;
    frame_release(s->sets);
    s->sets = sets != NULL ? frame_retain(sets) : NULL;
    s->follow.closed_end = end_of_sets(sets);
    s->follow.computation.records = start->records;
    s->start_passed = false;
    s->start_ticket = s->envelope->ticket;
    s->rejoined = false;
    s->waiting_us = now_us;
    s->joining.started = true;
    times_begin(&s->times, message->incarnation, now_us);
    s->joining.beat_us = 0; /* A beat at once shows that it is followed. */
    joining_wait(&s->joining, "");
    if (!light && s->trainer != BUSY)
        begin_anew(s, now_us, outbox);
}

/* --- answers ------------------------------------------------------------------------------- */

/* The early part was too late. The trainer still reads parameters, so nothing is asked for now:
 * the whole gradient leaves when it is there, and is found too late again. */
static void miss_early(struct session *s)
{
    exchange_forget(&s->exchange);
    s->all_at_once = true;
}

static void take_outcome(struct session *s, enum exchange_outcome outcome, uint64_t now_us,
                         struct outbox *outbox)
{
    uint64_t version = s->exchange.missed_at;
    switch (outcome) {
    case EXCHANGE_COMPLETE:
        exchange_complete(s, now_us, outbox);
        break;
    case EXCHANGE_MISSED:
        if (s->trainer == BUSY)
            miss_early(s);
        else if (s->ask_at_us == 0 && !s->exchange.pushed[0].what.newest &&
                 s->follow.rules->catch_up(&s->follow, s->start.members, &version))
            catch_up(s, version, now_us, outbox);
        else
            join_flow(s, now_us, outbox);
        break;
    case EXCHANGE_REJECTED:
        fail(s, EXIT_TRAINING_FAILED, "a server rejected a gradient as not finite or out of place",
             outbox);
        break;
    case EXCHANGE_MEMORY:
        fail(s, EXIT_TRAINING_FAILED, "out of memory for a gradient", outbox);
        break;
    default:
        break;
    }
}

/* RESULT, RECEIPT or MOVED_ON. */
static void handle_answer(struct session *s, uint32_t server, const struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    if (message->generation != s->envelope->generation)
        return;
    if (scoring_take(&s->scoring, s->envelope, server, packet, now_us, outbox)) {
        give_score(s, now_us, outbox);
        return;
    }
    /* What other servers say of the end is not for workers. */
    if (message->kind == MESSAGE_RESULT && server == 0 &&
        message->result.stop_step < s->follow.stop_step)
        s->follow.stop_step = message->result.stop_step;
    take_outcome(s, exchange_take(&s->exchange, s->envelope, server, packet, now_us, outbox),
                 now_us, outbox);
}

/* The trainer's gradient goes out; the last of its step asks for values. */
static void push(struct session *s, struct message_exchange *what, struct frame *gradient,
                 uint64_t now_us, struct outbox *outbox)
{
    s->follow.rules->push(&s->follow, what);
    if (exchange_push(&s->exchange, s->envelope, what, gradient, now_us, outbox) != STATUS_OK)
        take_outcome(s, EXCHANGE_MEMORY, now_us, outbox);
}

static void handle_work(struct session *s, const struct message *message, uint64_t now_us,
                        struct outbox *outbox)
{
    if (message->generation != s->envelope->generation || !is_member(s))
        return;
    if (message->work.scored > 0) {
        scoring_take_work(&s->scoring, s->envelope, &message->work, now_us, outbox);
        give_score(s, now_us, outbox);
        return;
    }
    if (!message->work.none) {
        s->waited = message->work.waited;
        s->whom = message->work.whom;
    }
    s->follow.rules->work(&s->follow, s->envelope, message, now_us);
    go_on(s, now_us, outbox);
}

static void handle_refused(struct session *s, uint32_t server, const struct message *message,
                           uint64_t now_us, struct outbox *outbox)
{
    enum refusal reason = message->refused.reason;
    bool unknown = joining_is_unknown(&s->joining, message);
    int exit_code = joining_exit_code(&s->joining, reason);
    /* A worker that was dropped while it did not progress failed because of that. */
    if (reason == REFUSAL_MEMBER && is_busy(s) &&
        seconds_since(s->busy_us, now_us) > s->joining.deadlines.progress / 2)
        exit_code = EXIT_TRAINING_FAILED;
    if (server == 0 && unknown && s->announcements.leave) { /* It would join only to leave. */
        joining_say(&s->joining, MESSAGE_LEAVE, outbox);
        end_left(s, "left the job", outbox);
    } else if (server ==
               0) { /* Server 0 knows why it refused; another server's reasons are unknown to it. */
        s->waiting_us = unknown ? now_us : s->waiting_us;
        joining_refused(&s->joining, message, exit_code, now_us, outbox);
        tell_end(s, outbox);
    } else if (reason != REFUSAL_RUN && reason != REFUSAL_MEMBER && reason != REFUSAL_REJOIN) {
        fail(s, exit_code, message->refused.text, outbox);
    }
    /* Else server 0 decides who is a member. */
}

static void handle_finished(struct session *s, const struct message *message, struct outbox *outbox)
{
    if (!joining_finished(&s->joining, message, outbox))
        return;
    if (message->stop.left && s->announcements.leave)
        end_left(s, message->stop.reason, outbox);
    else
        end(s, (int)message->stop.exit_code, message->stop.reason, outbox);
}

/* The end of a call that found so many packets in the outbox: count what was sent to servers. */
static void count_sent(struct session *s, const struct outbox *outbox, size_t before)
{
    times_move(&s->times, outbox_payload_bytes(outbox, before, TO_SERVER));
    if (CHECKED && !s->options.unchecked)
        session_check(s);
}

/* A message has been handled. */
static void finish_message(struct session *s, struct packet *packet, uint64_t now_us,
                           struct outbox *outbox, size_t before)
{
    if (is_member(s))
        announce(s, now_us, outbox);
    speak(s, false, now_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    count_sent(s, outbox, before);
}

/* A worker that has been asked to leave goes with the code of that request. */
static void begin_leaving(struct session *s, int exit_code, const char *why, uint64_t now_us,
                          struct outbox *outbox)
{
    s->leave_us = now_us;
    s->leave_code = exit_code;
    outbox_log(outbox, "leaving, exit=%d%s; the job goes on without this worker", s->leave_code,
               why);
    announcements_leave(&s->announcements);
}

static void handle_pong(struct session *s, const struct message *message, uint64_t now_us,
                        struct outbox *outbox)
{
    announcements_heard(&s->announcements, message->request);
    if (is_started(s))
        joining_wait(&s->joining, message->waiting.text);
    if (message->waiting.leave && is_member(s) && !s->announcements.leave &&
        !job_place_owns(s->options.job, s->envelope->index))
        begin_leaving(s, EXIT_DONE, ", as ps/0 was asked", now_us, outbox);
}

static void handle_from_0(struct session *s, const struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    const struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_WANT_JOB:
        if (s->joining.joining)
            send_declaration(s, outbox);
        break;
    case MESSAGE_WELCOME:
        handle_welcome(s, message, now_us);
        break;
    case MESSAGE_START:
        handle_start(s, message, packet->payload, now_us, outbox);
        break;
    case MESSAGE_WORK:
        handle_work(s, message, now_us, outbox);
        break;
    case MESSAGE_PONG:
        handle_pong(s, message, now_us, outbox);
        break;
    case MESSAGE_FINISHED:
        handle_finished(s, message, outbox);
        break;
    default:
        break;
    }
}

/* This process was stopped, or had no processor: no server was slow meanwhile. */
static void leave_out(struct session *s, uint64_t gap_us, uint64_t now_us)
{
    if (gap_us == 0)
        return;
    s->waiting_us += gap_us;
    s->busy_us += gap_us;
    s->complete_us = times_later(s->complete_us, gap_us, now_us);
    s->stopped_us += is_busy(s) || s->exchange.read_to > 0 ? gap_us : 0;
    s->scoring.given_us = times_later(s->scoring.given_us, gap_us, now_us);
    times_resume(&s->times, gap_us, now_us);
    exchange_resume(&s->exchange, gap_us, now_us);
    exchange_resume(&s->scoring.pull, gap_us, now_us);
}

/* Before all accounting: an account is never more than what has passed without the gap. */
static void look(struct session *s, uint64_t now_us)
{
    if (!s->joining.over)
        leave_out(s, joining_look(&s->joining, now_us), now_us);
}

void session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                           uint64_t now_us, struct outbox *outbox)
{
    struct session *s = session;
    const struct message *message = &packet->message;
    size_t before = outbox->count;
    look(s, now_us);
    if (packet->payload != NULL)
        times_move(&s->times, packet->payload->bytes);
    if (server == 0)
        joining_hear(&s->joining, message, now_us, outbox);
    if (s->joining.over) {
        frame_release(packet->payload);
        packet->payload = NULL;
        return;
    }
    switch (message->kind) {
    case MESSAGE_RESULT:
    case MESSAGE_RECEIPT:
    case MESSAGE_MOVED_ON:
        handle_answer(s, server, packet, now_us, outbox);
        break;
    case MESSAGE_REFUSED:
        handle_refused(s, server, message, now_us, outbox);
        break;
    default:
        if (server == 0)
            handle_from_0(s, packet, now_us, outbox);
        break;
    }
    finish_message(s, packet, now_us, outbox, before);
}

/* --- from the trainer ---------------------------------------------------------------------- */

/* Of the trainer's time, that in which this process was not stopped. */
static uint64_t take_stopped(struct session *s, uint64_t took_us)
{
    uint64_t stopped_us = s->stopped_us < took_us ? s->stopped_us : took_us;
    s->stopped_us = 0;
    return took_us - stopped_us;
}

static void tell_times(struct session *s, struct message_times *report, uint64_t now_us)
{
    times_tell(&s->times, report, now_us);
    if (CHECKED && s->times.began_us != 0)
        INVARIANT("session",
                  report->exchange_us + report->barrier_us + report->bound_us + report->gate_us +
                          report->lease_us <=
                      report->wall_us,
                  "no span of time has two names");
}

static void complete_report(struct session *s, struct message_report *report, uint64_t now_us)
{
    times_compute(&s->times, take_stopped(s, report->times.compute_us));
    tell_times(s, &report->times, now_us);
    if (job_mode(s->options.job)->steps)
        return;
    report->spread = version_skew_of_read(&s->exchange.skew);
    report->part_spread = version_skew_within_variables(&s->exchange.skew);
}

/* A START has come since WORK was given. In the same generation others may need the gradient; in
 * another one it is useless. It must not leave, either, where it would have to be compensated:
 * new values are asked for at once, and once they are sent the server no longer has the old
 * base. */
static void finish_abandoned(struct session *s, struct message_exchange *what, bool last,
                             struct frame *gradient, uint64_t now_us, struct outbox *outbox)
{
    s->exchange.apart = true; /* Earlier pushes may still lie where this gradient would go. */
    if (s->abandoned == FOR_OTHERS && s->options.job->delay_compensation <= 0 &&
        (what->gradient || what->skip))
        push(s, what, gradient, now_us, outbox);
    if (!last || s->joining.over)
        return;
    note_pushed(s);
    begin_anew(s, now_us, outbox);
}

static void trainer_exchange(struct session *s, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox)
{
    struct message_exchange what = packet->message.exchange;
    assert(s->trainer == BUSY);
    s->busy_us = now_us;
    if (what.has_report)
        complete_report(s, &what.report, now_us);
    s->stopped_us = 0;
    bool last = what.want;
    what.want = last && !s->abandoned;
    what.count = s->follow.computation.records && (what.gradient || what.skip)
                     ? s->follow.computation.count
                     : 0;
    if (s->abandoned) {
        finish_abandoned(s, &what, last, packet->payload, now_us, outbox);
        return;
    }
    if (last) {
        s->trainer = IDLE;
        s->waiting_us = now_us;
        joining_wait(&s->joining, "");
    }
    push(s, &what, packet->payload, now_us, outbox);
    give_score(s, now_us, outbox);
}

/* Early values go where the trainer has read. Where servers write them no copy is saved, and
 * what it reads must stay. A leaving worker begins nothing. */
static bool may_leave_early(const struct session *s)
{
    return s->trainer == BUSY && !s->abandoned && !s->all_at_once && !s->joining.over &&
           is_started(s) && job_mode(s->options.job)->steps && !s->announcements.leave &&
           s->exchange.view == s->options.parameters;
}

void session_take_ready(struct session *session, const struct message_exchange *exchange,
                        struct frame *gradient, uint64_t first, uint64_t now_us,
                        struct outbox *outbox)
{
    struct session *s = session;
    struct message_exchange what = *exchange;
    size_t before = outbox->count;
    assert(what.want && what.gradient);
    look(s, now_us);
    if (!may_leave_early(s))
        return;
    what.want = false; /* The step goes on with the last EXCHANGE: only its versions count here. */
    s->follow.rules->push(&s->follow, &what);
    what.want = true;
    if (exchange_push_ready(&s->exchange, s->envelope, &what, gradient, first, now_us, outbox) !=
        STATUS_OK)
        take_outcome(s, EXCHANGE_MEMORY, now_us, outbox);
    count_sent(s, outbox, before);
}

uint64_t session_serial(const struct session *session)
{
    return session->exchange.serial;
}

uint64_t session_paced(const struct session *session)
{
    return session->exchange.paced;
}

bool session_moves(const struct session *session)
{
    const struct session *s = session;
    return !s->joining.over && (s->exchange.under_way > 0 || s->exchange.open);
}

uint64_t session_front(struct session *session, uint64_t *step, uint64_t *serial)
{
    struct session *s = session;
    if (!is_started(s) || !s->start_passed || s->trainer != IDLE || s->scoring.given ||
        s->announcements.leave)
        return 0;
    uint64_t front = exchange_front(&s->exchange);
    bool aligned = !job_mode(s->options.job)->steps || s->exchange.version == s->follow.step;
    if (front == 0 || !aligned || !s->follow.rules->expects(&s->follow, step))
        return 0;
    *serial = s->exchange.serial;
    return front;
}

void session_read(struct session *session, uint64_t end, uint64_t now_us)
{
    struct session *s = session;
    struct exchange *x = &s->exchange;
    look(s, now_us);
    if (x->read_to == 0 && end > 0)
        account_exchange(s, now_us);
    else if (x->read_to > 0 && end == 0)
        x->began_us = now_us;
    exchange_read(x, end);
}

/* The score's time is neither exchange nor wait. */
static void leave_out_scoring(struct session *s, uint64_t now_us)
{
    if (s->exchange.under_way > 0)
        s->exchange.began_us += scoring_us(&s->scoring, s->exchange.began_us, now_us);
    s->complete_us += scoring_us(&s->scoring, s->complete_us, now_us);
    times_scored(&s->times, s->scoring.given_us, now_us);
    s->busy_us = s->waiting_us = now_us;
}

static void trainer_evaluation(struct session *s, const struct message *message, uint64_t now_us,
                               struct outbox *outbox)
{
    struct message_evaluation evaluation = message->evaluation;
    assert(s->scoring.given);
    leave_out_scoring(s, now_us);
    times_evaluate(&s->times, take_stopped(s, evaluation.took_us));
    if (scoring_finish(&s->scoring)) {
        tell_times(s, &evaluation.times, now_us);
        announcements_score(&s->announcements, s->envelope, &evaluation, now_us, outbox);
    }
    go_on(s, now_us, outbox);
}

static void trainer_done(struct session *s, uint64_t step, uint64_t now_us, struct outbox *outbox)
{
    assert(s->trainer == BUSY);
    s->waiting_us = now_us;
    if (s->abandoned) {
        begin_anew(s, now_us, outbox);
        return;
    }
    s->trainer = DONE;
    struct message_done done = {.step = step};
    tell_times(s, &done.times, now_us);
    announcements_done(&s->announcements, &done);
    give_score(s, now_us, outbox);
}

static void trainer_stop(struct session *s, const struct message *message, struct outbox *outbox)
{
    uint32_t exit_code = message->stop.exit_code;
    bool clean = exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED;
    if (!s->joining.admitted) {
        /* Server 0 may have let it in already, and then must tell the others. */
        joining_say(&s->joining, MESSAGE_STOP, outbox)->stop = message->stop;
        end(s, (int)exit_code, "stopped before training started", outbox);
    } else if (clean) {
        announcements_stop(&s->announcements, exit_code, message->stop.reason);
    } else {
        fail(s, (int)exit_code, message->stop.reason, outbox);
    }
}

static void trainer_leave(struct session *s, const struct message *message, uint64_t now_us,
                          struct outbox *outbox)
{
    if (job_place_owns(s->options.job, s->envelope->index)) { /* The place is taken away. */
        outbox_log(outbox, "the server at this worker's place owns chunks of the model: the job is "
                           "asked to stop");
        trainer_stop(s, message, outbox);
        return;
    }
    if (s->announcements.leave)
        return;
    begin_leaving(s, (int)message->stop.exit_code, "", now_us, outbox);
    if (s->joining.joining) {
        joining_say(&s->joining, MESSAGE_LEAVE, outbox); /* As in trainer_stop. */
        end_left(s, "left the job", outbox);
    }
}

void session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                            struct outbox *outbox)
{
    struct session *s = session;
    const struct message *message = &packet->message;
    size_t before = outbox->count;
    look(s, now_us);
    if (!s->joining.over)
        switch (message->kind) {
        case MESSAGE_EXCHANGE:
            trainer_exchange(s, packet, now_us, outbox);
            break;
        case MESSAGE_EVALUATION:
            trainer_evaluation(s, message, now_us, outbox);
            break;
        case MESSAGE_DONE:
            trainer_done(s, message->done.step, now_us, outbox);
            break;
        case MESSAGE_STOP:
            trainer_stop(s, message, outbox);
            break;
        case MESSAGE_LEAVE:
            trainer_leave(s, message, now_us, outbox);
            break;
        default:
            assert(!"a message that sessions do not take");
        }
    finish_message(s, packet, now_us, outbox, before);
}

/* --- time ---------------------------------------------------------------------------------- */

static void check_exchange(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    uint32_t server = 0;
    double silence = (double)exchange_silence_us(&s->exchange, now_us, &server) * 1e-6;
    /* Server 0 first notices that the server is gone, and then waits for it. */
    if (silence <= s->joining.deadlines.silence + s->joining.deadlines.recovery + GRACE_SECONDS)
        return;
    snprintf(text, sizeof text, "no answer from ps/%u for %s", server,
             wording_duration(silence).text);
    end(s, EXIT_CLUSTER_LOST, text, outbox);
}

/* It leaves at its deadline, let go or not. */
static void check_leaving(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    if (!s->announcements.leave)
        return;
    double waited = seconds_since(s->leave_us, now_us);
    double unheard = joining_silence(&s->joining, now_us);
    if (waited > s->joining.deadlines.stop ||
        (waited > s->joining.deadlines.silence && unheard > s->joining.deadlines.silence))
        end_left(s, "left the job, unheard by ps/0", outbox);
}

/* Server 0 answers, and still nothing comes. A worker that is done waits as long as server 0 lets
 * the others compute: it watches them. */
static void check_waiting(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    bool done = s->trainer == DONE && !s->joining.joining;
    double waited = seconds_since(s->waiting_us, now_us);
    if (!s->joining.started || is_busy(s) || done ||
        waited <= s->joining.deadlines.progress + s->joining.deadlines.recovery)
        return;
    const char *what = s->joining.waiting;
    snprintf(text, sizeof text, "ps/0 %s, for %s%s%.300s",
             s->joining.joining         ? "does not let this worker in again"
             : s->start.assignment == 0 ? "does not start the job"
             : s->exchange.under_way    ? "lets it go on though the step does not end"
                                        : "gives no work",
             wording_duration(waited).text, what[0] != '\0' ? ": " : "", what);
    end(s, EXIT_CLUSTER_LOST, text, outbox);
}

/* The others go on without this worker, so they do not hear of it. */
static void check_trainer(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    double busy = seconds_since(s->busy_us, now_us);
    if (!is_busy(s) || busy <= s->joining.deadlines.progress)
        return;
    snprintf(text, sizeof text, "stuck: %s for %s",
             s->scoring.given ? "scoring" : "computing one gradient", wording_duration(busy).text);
    end(s, EXIT_TRAINING_FAILED, text, outbox);
}

int session_patience_ms(const struct session *session)
{
    return session->ask_at_us != 0 && !session->joining.joining
               ? (int)(ROUND_US / 1000)
               : joining_patience_ms(&session->joining);
}

static bool is_idle(const struct session *s)
{
    return s->have_parameters && s->trainer == IDLE && s->exchange.under_way == 0;
}

static void tick_member(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    if (joining_is_to_beat(&s->joining, now_us))
        joining_say(&s->joining, MESSAGE_PING, outbox)->ping =
            (struct message_ping){.step = s->follow.step,
                                  .assignment = s->rejoined ? 0 : s->start.assignment,
                                  .computing = is_busy(s),
                                  .leash = s->joining.leash};
    if (s->ask_at_us != 0 && now_us >= s->ask_at_us)
        ask_newest(s, now_us, outbox);
    s->announcements.stop_known =
        s->follow.stop_step < s->options.job->steps || s->follow.rules->knows_end(&s->follow);
    announce(s, now_us, outbox);
    speak(s, is_idle(s), now_us, outbox);
    exchange_tick(&s->exchange, s->envelope, now_us, outbox);
    exchange_tick(&s->scoring.pull, s->envelope, now_us, outbox);
}

void session_tick(struct session *session, uint64_t now_us, struct outbox *outbox)
{
    struct session *s = session;
    size_t before = outbox->count;
    if (s->joining.over)
        return;
    leave_out(s, joining_tick(&s->joining, now_us, outbox), now_us);
    if (!s->joining.joining)
        tick_member(s, now_us, outbox);
    check_leaving(s, now_us, outbox);
    joining_watch(&s->joining, now_us, outbox);
    tell_end(s, outbox);
    check_exchange(s, now_us, outbox);
    check_waiting(s, now_us, outbox);
    check_trainer(s, now_us, outbox);
    count_sent(s, outbox, before);
}
