/* members.c - admits processes, finds silent, slow and stuck ones, and says who is waited for. */

#include "ps/coordinator/members.h"

#include <string.h>

#include "common/process/parent.h"

#define REFUSALS_NAMED  100      /* With a line each. */
#define REFUSALS_A_LINE 1000     /* Refusals a line, after those. */
#define WAITING_LINE_US 5000000u /* Between lines that say what is waited for. */
#define HELD_US         2000000u /* How long the last worker to leave stays. */
#define FRESH_US        1500000u /* Members are heard every half second; a silent one does not count. */
#define NOTICE_US       2000000u /* For the others to notice that the launcher is gone. */
/* For a clean stop then: it must be complete before processes end by themselves. */
#define ABANDONED_SECONDS (0.75 * PARENT_LOST_SECONDS)

struct member *members_find(const struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    bool alone = message->kind == MESSAGE_STOP || message->kind == MESSAGE_LEAVE ||
                 message->kind == MESSAGE_BYE;
    struct member *place = membership_place(run->members, message);
    if (run->envelope.run_id == 0 || run_is_of_another(run, message) ||
        (place != NULL && place->peer == PEER_LOCAL && packet->peer != PEER_LOCAL))
        return NULL;
    if (alone && place != NULL && place->present && place->incarnation == message->incarnation)
        return place;
    return message->run_id == 0 ? NULL : membership_find(run->members, message);
}

/* --- joining ------------------------------------------------------------------------------- */

/* A refused process may ask again and again, but not in our log. */
static void log_refused(struct members *m, const struct run *run, const struct packet *packet,
                        const char *text)
{
    const char *role = role_name(packet->message.role);
    const char *host = packet->message.join.host;
    uint64_t count = ++m->refused;
    if (count <= REFUSALS_NAMED)
        outbox_log(run->outbox, "refused %s/%u on %s: %s", role, packet->message.index, host, text);
    else if (count % REFUSALS_A_LINE == 0)
        outbox_log(run->outbox, "refused %s/%u on %s: %s (count=%" PRIu64 ")", role,
                   packet->message.index, host, text, count);
}

/* In a version that the sender understands. */
static void refuse_version(const struct run *run, const struct packet *packet)
{
    const struct message_join *join = &packet->message.join;
    struct packet *out = run_answer(run, packet, MESSAGE_REFUSED);
    out->message.refused.reason = REFUSAL_VERSION;
    out->message.refused.version =
        join->version_max < PROTOCOL_VERSION_MIN ? join->version_max : join->version_min;
    snprintf(out->message.refused.text, MESSAGE_TEXT_MAX,
             "ps/0 speaks protocol versions %u to %u, %s/%u %u to %u: start the same version of "
             "Syncopate everywhere",
             PROTOCOL_VERSION_MIN, PROTOCOL_VERSION_MAX, role_name(packet->message.role),
             packet->message.index, join->version_min, join->version_max);
}

/* Why two jobs have the same port: ports follow from the numbers of Slurm's jobs (deploy/place). */
static void explain_port(const char *one, const char *other, char *text, size_t size)
{
    uint64_t a, b;
    text[0] = '\0';
    if (sscanf(one, "Slurm job %" SCNu64, &a) == 1 &&
        sscanf(other, "Slurm job %" SCNu64, &b) == 1 && (a > b ? a - b : b - a) % JOB_PORTS == 0)
        snprintf(text, size, " (their ports are the same, for their numbers are %" PRIu64 " apart)",
                 a > b ? a - b : b - a);
}

static void refuse_other_job(struct members *m, const struct run *run, const struct packet *packet)
{
    const char *own = run->options.job_id, *other = packet->message.join.job_id;
    char text[MESSAGE_TEXT_MAX];
    explain_port(own, other, text, sizeof text);
    run_refuse(run, packet, REFUSAL_JOB,
               "the server at %s is of %s, this task is of %s%s: give one of them "
               "--port-base P",
               run->options.address, own, other, text);
    snprintf(text, sizeof text, "of %s, this is %s", other, own);
    log_refused(m, run, packet, text);
}

bool members_refuse_join(struct members *m, const struct run *run, const struct packet *packet)
{
    const struct message_join *join = &packet->message.join;
    if (join->version_max < PROTOCOL_VERSION_MIN || join->version_min > PROTOCOL_VERSION_MAX)
        refuse_version(run, packet);
    else if (run->options.job_id[0] != '\0' && join->job_id[0] != '\0' &&
             strcmp(run->options.job_id, join->job_id) != 0)
        refuse_other_job(m, run, packet);
    else
        return false;
    return true;
}

static void tell_left(const struct run *run, const struct packet *packet)
{
    struct packet *out = run_answer(run, packet, MESSAGE_FINISHED);
    out->message.stop.left = true;
    snprintf(out->message.stop.reason, MESSAGE_TEXT_MAX, "left the job");
}

bool members_refuse_departed(const struct run *run, const struct packet *packet)
{
    enum departure departure = membership_departure(run->members, &packet->message);
    if (departure == DEPARTURE_LEFT)
        tell_left(run, packet);
    else if (departure != DEPARTURE_NONE)
        run_refuse(run, packet, REFUSAL_MEMBER, "dropped as stuck");
    return departure != DEPARTURE_NONE;
}

enum admission members_judge(struct members *m, struct run *run, const struct packet *packet,
                             char *text)
{
    const struct message *message = &packet->message;
    enum refusal refusal;
    /* Members that must have the same bits, now or in a replay, must compute alike. */
    bool exact = (job_mode(run->job)->steps || run_records(run)) && !run->options.allow_mixed;
    struct member *holder = membership_place(run->members, message);
    /* Its place may be another's by now. */
    m->has_survivors |= message->role == ROLE_WORKER && message->run_id == run->envelope.run_id;
    enum admission admission = membership_judge(run->members, packet, exact ? run->job : NULL,
                                                run->now_us, &refusal, text);
    if (admission == ADMISSION_REPEAT) {
        members_hear(run, holder, packet);
    } else if (admission == ADMISSION_WAIT) {
        run_ask_to_wait(run, packet, text);
    } else if (admission == ADMISSION_REFUSE) {
        run_refuse(run, packet, refusal, "%s", text);
        log_refused(m, run, packet, text);
    } else if (admission == ADMISSION_REPLACE) {
        snprintf(text, MESSAGE_TEXT_MAX,
                 "lost %s/%u (on %s): nothing heard for %s, and another process is there (on %s)",
                 role_name(message->role), message->index, holder->host,
                 wording_duration(run_since(run, holder->heard_us)).text, message->join.host);
    }
    return admission;
}

bool members_take(struct members *m, struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    struct work *work = &run->work;
    if (membership_take(&work->membership, packet, run->now_us) == NULL ||
        work->rules->grow(work, work->membership.worker_count) != STATUS_OK)
        return false;
    order_event(run->outbox, EVENT_JOINED, .host = message->join.host,
                .arithmetic = message->join.arithmetic, .role = role_name(message->role),
                .index = message->index);
    if (message->role == ROLE_WORKER)
        m->lonely_us = 0;
    return true;
}

/* --- life ---------------------------------------------------------------------------------- */

void members_hear(const struct run *run, struct member *member, const struct packet *packet)
{
    membership_hear(member, run->now_us);
    member->peer = packet->peer;
    if (!member->lost)
        return;
    member->lost = false;
    order_event(run->outbox, EVENT_BACK, .role = role_name(packet->message.role),
                .index = packet->message.index);
}

bool members_server_waits(const struct run *run, const struct packet *packet)
{
    return run->state <= GATHERING && packet->message.role == ROLE_PS &&
           (packet->message.run_id == 0 || packet->peer == PEER_LOCAL);
}

bool members_answer_outsider(const struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    const struct member *place = membership_place(run->members, message);
    bool same_process = place != NULL && place->incarnation == message->incarnation;
    if (message->kind == MESSAGE_BYE || packet->peer == PEER_LOCAL)
        return false;
    if (run_refuse_other(run, packet))
        return false;
    if (message->kind == MESSAGE_LEAVE && message->role == ROLE_WORKER) {
        tell_left(run, packet);
        return false;
    }
    if (members_refuse_departed(run, packet))
        return false;
    /* Of an earlier admission: it knows, or will hear with its next sign of life. */
    if (!same_process || !place->present || message->kind == MESSAGE_PING ||
        message->kind == MESSAGE_READY)
        run_refuse(run, packet, REFUSAL_REJOIN, "not a member (any more)");
    return same_process;
}

/* Whether it has to wait and ask again. Where whole jobs are evicted all processes get the
 * signal in any order. So the last worker stays a little, in case a stop comes as well; and once
 * it has, all workers here stay, for a clean stop. They hear how it ends. */
static bool is_held(const struct run *run, struct member *worker)
{
    if (run->stopping)
        return run->state == RECOVERING || run->state == RUNNING;
    if (worker->absence.leaving_us == 0)
        worker->absence.leaving_us = run->now_us;
    return run->state == RUNNING && !run->abandoned && membership_workers(run->members) == 1 &&
           run->now_us - worker->absence.leaving_us < HELD_US;
}

static void say_owner(uint32_t index, char *text)
{
    snprintf(text, MESSAGE_TEXT_MAX,
             "the place of worker/%" PRIu32 " owns chunks of the model, and cannot leave", index);
}

struct effect members_leave(const struct run *run, const struct packet *packet)
{
    char text[MESSAGE_TEXT_MAX];
    uint32_t index = packet->message.index;
    struct member *worker = &run->members->workers[index];
    if (job_place_owns(run->job, index)) {
        say_owner(index, text);
        run_refuse(run, packet, REFUSAL_OWNER, "%s", text);
        return NO_EFFECT;
    }
    if (is_held(run, worker))
        return NO_EFFECT;
    order_event(run->outbox, EVENT_LEFT, .role = "worker", .index = index);
    membership_free_place(worker, DEPARTURE_LEFT);
    worker->absence.gone_us = run->now_us;
    tell_left(run, packet);
    return (struct effect){.kind = EFFECT_LEFT, .index = index};
}

/* The answer for the place; a worker that is here is marked. */
static enum eviction dismiss(const struct run *run, struct member *worker, uint32_t index,
                             bool again, const char *reason, char *text)
{
    if (run->state >= FINISHING) {
        snprintf(text, MESSAGE_TEXT_MAX, "the job ends for all%s%.200s",
                 reason[0] != '\0' ? ": " : "", reason);
        return EVICTION_OVER;
    }
    if (run->members->servers == NULL) {
        snprintf(text, MESSAGE_TEXT_MAX, "no worker has declared a job yet");
        return EVICTION_EARLY;
    }
    if (worker == NULL || !worker->present) {
        snprintf(text, MESSAGE_TEXT_MAX, "worker/%" PRIu32 " is not there%s", index,
                 worker == NULL || !worker->ever ? ": it never was"
                 : member_has_left(worker)       ? ": it has left"
                                                 : ": it was lost");
        return EVICTION_GONE;
    }
    if (job_place_owns(run->job, index)) {
        say_owner(index, text);
        return EVICTION_OWNER;
    }
    if (again && !worker->absence.dismissed) {
        snprintf(text, MESSAGE_TEXT_MAX,
                 "worker/%" PRIu32 " (on %s) has come since, or ps/0 was started again", index,
                 worker->host);
        return EVICTION_ANOTHER;
    }
    worker->absence.dismissed = true;
    snprintf(text, MESSAGE_TEXT_MAX, "worker/%" PRIu32 " (on %s) is to leave", index, worker->host);
    return EVICTION_DONE;
}

/* Any process that may be that worker may ask: the transport has checked the key. It is not a
 * member's message, and the worker leaves by its own LEAVE. */
void members_dismiss(const struct run *run, const struct packet *packet, const char *reason)
{
    const struct message *message = &packet->message;
    struct member *worker =
        message->role == ROLE_WORKER ? membership_place(run->members, message) : NULL;
    bool before = worker != NULL && worker->absence.dismissed;
    struct message_dismissed *answer =
        &run_answer(run, packet, MESSAGE_DISMISSED)->message.dismissed;
    answer->outcome =
        dismiss(run, worker, message->index, message->dismiss.again, reason, answer->text);
    if (worker != NULL && worker->absence.dismissed && !before)
        outbox_log(run->outbox, "worker/%" PRIu32 " has to leave: it was asked of ps/0",
                   message->index);
}

/* --- losses -------------------------------------------------------------------------------- */

struct effect members_find_silent(const struct run *run)
{
    enum role role;
    struct effect lost = {.why = "silent"};
    const struct member *silent = membership_silent(run->members, run->options.deadlines.silence,
                                                    run->now_us, &role, &lost.index);
    if (silent == NULL)
        return NO_EFFECT;
    lost.kind = role == ROLE_WORKER ? EFFECT_WORKER_LOST : EFFECT_SERVER_LOST;
    snprintf(lost.text, sizeof lost.text, "lost %s/%u (on %s): nothing heard for %s",
             role_name(role), lost.index, silent->host,
             wording_duration(run_since(run, silent->heard_us)).text);
    return lost;
}

struct effect members_watch_worker(const struct run *run, uint32_t index, bool owes)
{
    struct member *worker = &run->members->workers[index];
    uint64_t step = run->work.statistics.step;
    if (!stragglers_is_stuck(worker, index, owes, run->work.rules->unit, step,
                             run->options.deadlines.progress, run->now_us, run->outbox))
        return NO_EFFECT;
    struct effect lost = {
        .kind = EFFECT_WORKER_LOST, .index = index, .departure = DEPARTURE_STUCK, .why = "stuck"};
    snprintf(lost.text, sizeof lost.text,
             "worker/%u is stuck (on %s): alive, but no progress at step %" PRIu64 " for %s", index,
             worker->host, step, wording_duration(run_since(run, worker->pace.moved_us)).text);
    return lost;
}

static struct effect watch_loneliness(struct members *m, const struct run *run)
{
    double seconds = run->options.deadlines.recovery;
    if (run->state != RUNNING || membership_workers(run->members) > 0) {
        m->lonely_us = 0;
    } else if (m->lonely_us == 0) {
        m->lonely_us = run->now_us;
        if (membership_is_deserted(run->members) && !run->stopping)
            outbox_warn(run->outbox, "no worker is left; waiting %s for one to join",
                        wording_duration(seconds).text);
    } else if (run_since(run, m->lonely_us) > seconds) {
        return effect_failed(EXIT_CLUSTER_LOST, "no worker is left, and none came within %s",
                             wording_duration(seconds).text);
    }
    return NO_EFFECT;
}

struct effect members_watch_awaited(struct members *m, const struct run *run)
{
    enum role role;
    uint32_t index;
    char away[48] = "nothing starts it again";
    double seconds = run->options.deadlines.recovery;
    if (run->state < RECOVERING || run->state > CLOSING || run->closed)
        return NO_EFFECT;
    struct effect effect = watch_loneliness(m, run);
    const struct member *awaited = membership_awaited(run->members, &role, &index);
    if (effect.kind != EFFECT_NONE || awaited == NULL ||
        run_since(run, awaited->absence.gone_us) <= seconds)
        return effect;
    if (!run->abandoned)
        snprintf(away, sizeof away, "not back within %s", wording_duration(seconds).text);
    return effect_failed(EXIT_CLUSTER_LOST, "lost %s/%u (on %s): %s", role_name(role), index,
                         awaited->host, away);
}

void members_lose(const struct run *run, const struct effect *lost)
{
    bool worker = lost->kind == EFFECT_WORKER_LOST;
    struct member *member =
        worker ? &run->members->workers[lost->index] : &run->members->servers[lost->index];
    order_event(run->outbox, worker ? EVENT_LOST_WORKER : EVENT_LOST_SERVER, .text = lost->text,
                .role = worker ? "worker" : "ps", .index = lost->index, .why = lost->why);
    member->absence.gone_us = run->now_us;
    member->lost = !worker;
    if (worker)
        membership_free_place(member, lost->departure);
}

/* --- who is waited for --------------------------------------------------------------------- */

void members_describe_waiting(const struct members *m, const struct run *run, char *text)
{
    char missing[MESSAGE_TEXT_MAX / 2] = "";
    double waited = run_since(run, run->entered_us);
    text[0] = '\0';
    if (run->raising != 0) {
        snprintf(text, MESSAGE_TEXT_MAX, "waiting %s for the last checkpoint to be found",
                 wording_waited(waited).text);
        return;
    }
    if (run->state < GATHERING || run->state > CLOSING)
        return;
    membership_list_missing(run->members, run->state == GATHERING, missing, sizeof missing);
    if (missing[0] == '\0' && m->lonely_us != 0)
        snprintf(missing, sizeof missing, "any worker");
    if (missing[0] == '\0')
        return;
    enum role role;
    uint32_t index;
    const struct member *awaited = membership_awaited(run->members, &role, &index);
    if (run->state == RUNNING || run->state == CLOSING)
        waited = run_since(run, awaited != NULL ? awaited->absence.gone_us : m->lonely_us);
    snprintf(text, MESSAGE_TEXT_MAX, "waiting %s for %s", wording_waited(waited).text, missing);
}

static void tell_members(const struct run *run, const char *text)
{
    const struct member *member;
    for (uint32_t i = 0; (member = membership_member(run->members, i)) != NULL; i++)
        if (member->present && member->peer != PEER_LOCAL)
            snprintf(run_send(run, member->peer, MESSAGE_WAITING)->message.waiting.text,
                     MESSAGE_TEXT_MAX, "%s", text);
}

void members_say_waiting(struct members *m, const struct run *run)
{
    char text[MESSAGE_TEXT_MAX];
    bool declared = run->state != WAITING;
    if (run->state == OPENING || run->state > CLOSING)
        return;
    members_describe_waiting(m, run, text);
    if (declared && text[0] == '\0')
        m->waited_us = run->now_us;
    if (run->now_us - m->waited_us < WAITING_LINE_US)
        return;
    m->waited_us = run->now_us;
    if (!declared) {
        outbox_log(run->outbox, "waiting %s for a worker to declare a job",
                   wording_waited(run_since(run, run->entered_us)).text);
        return;
    }
    tell_members(run, text);
    order_event(run->outbox, EVENT_WAITING, .text = text);
}

/* --- leashes ------------------------------------------------------------------------------- */

struct seen {
    bool held, lost, silent; /* silent: a member that is not lost was not heard lately. */
};

static bool is_fresh(const struct run *run, const struct member *member)
{
    return member->present && !member->lost && run->now_us - member->heard_us <= FRESH_US;
}

static struct seen look_at_leashes(const struct run *run)
{
    struct seen seen = {.lost = run->unleashed};
    const struct member *member;
    for (uint32_t i = 0; (member = membership_member(run->members, i)) != NULL; i++) {
        seen.silent = seen.silent || (member->present && !member->lost && !is_fresh(run, member));
        if (!is_fresh(run, member) || (member->peer == PEER_LOCAL && run->unleashed))
            continue;
        seen.held = seen.held || member->leash == LEASH_HELD;
        seen.lost = seen.lost || member->leash == LEASH_LOST;
    }
    return seen;
}

/* A lost process is not started again: it is not waited for. */
static struct effect abandon(struct run *run)
{
    run->abandoned = true;
    run->options.deadlines.recovery = 0;
    if (run->options.deadlines.stop > ABANDONED_SECONDS)
        run->options.deadlines.stop = ABANDONED_SECONDS;
    return (struct effect){
        .kind = EFFECT_ABANDONED, .exit_code = EXIT_TERMINATED, .text = "the launcher is gone"};
}

static void send_away(const struct run *run, const struct member *member, enum role role,
                      uint32_t index)
{
    struct message *message = &run_send(run, member->peer, MESSAGE_REFUSED)->message;
    message->refused.reason = REFUSAL_RUN;
    snprintf(message->refused.text, MESSAGE_TEXT_MAX,
             "its connection to the launcher is broken, and it has to be started again");
    outbox_warn(run->outbox, "%s/%u (on %s) ends: its connection to the launcher is broken",
                role_name(role), index, member->host);
}

/* Server 0 as well, if it is one of them: as when it is killed, without an announced end. */
static struct effect send_all_away(struct run *run)
{
    uint32_t servers = run->members->server_count;
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(run->members, i)) != NULL; i++) {
        bool own = member->peer == PEER_LOCAL;
        if (!is_fresh(run, member) || (own ? !run->unleashed : member->leash != LEASH_LOST))
            continue;
        send_away(run, member, i < servers ? ROLE_PS : ROLE_WORKER, i < servers ? i : i - servers);
        member->leash = LEASH_NONE; /* Until it says so again. */
    }
    return (struct effect){.kind = run->unleashed ? EFFECT_OVER : EFFECT_NONE};
}

struct effect members_watch_leashes(struct members *m, struct run *run)
{
    struct seen seen = look_at_leashes(run);
    if (run->state == FINISHING && seen.lost && !seen.held)
        run->abandoned = true; /* No process will come late to ask how the job ended. */
    if (run->abandoned || run->state >= FINISHING || !seen.lost) {
        m->unleashed_us = 0;
        return NO_EFFECT;
    }
    if (m->unleashed_us == 0)
        m->unleashed_us = run->now_us;
    /* After the network here was down, processes that hold theirs must be heard first. */
    if (!seen.held && (!seen.silent || run->now_us - m->unleashed_us >= FRESH_US))
        return abandon(run);
    if (!seen.held || run->now_us - m->unleashed_us < NOTICE_US || run->stopping ||
        run->state >= CLOSING)
        return NO_EFFECT;
    m->unleashed_us = 0;
    return send_all_away(run);
}
