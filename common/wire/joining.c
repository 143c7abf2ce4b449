/* joining.c - JOIN and its answers; the deadlines of a process that waits for server 0. */

#include "common/wire/joining.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/invariant.h"
#include "common/base/wording.h"

#define JOIN_FIRST_US    2000u  /* Until JOIN is repeated; doubles. */
#define JOIN_INTERVAL_US 64000u /* Doubled up to this. */
#define BEAT_INTERVAL_US 500000u
#define PATIENCE_MS      100
#define WATCHED_US       1000000u /* A longer gap between ticks: it was stopped. */
#define START_GRACE      0.5      /* Seconds for server 0, whose reasons are better, to be first. */
#define SILENT           2.0 /* A server 0 that waits answers much sooner: its last word is old. */
#define STOPPED_SILENT   1.0 /* The same for a process that was asked to stop. */

void joining_init(struct joining *joining, enum role role, const struct joining_options *options,
                  const uint8_t *job_digest, uint64_t now_us)
{
    struct joining *e = joining;
    *e = (struct joining){
        .envelope = {.role = role, .index = options->index, .incarnation = options->incarnation},
        .join = {.version_min = PROTOCOL_VERSION_MIN, .version_max = PROTOCOL_VERSION_MAX},
        .deadlines = options->deadlines,
        .at_every_tick = role == ROLE_PS && options->index == 0,
        .joining = true,
        .leash = options->has_parent ? LEASH_HELD : LEASH_NONE,
        .began_us = options->began_us != 0 ? options->began_us : now_us,
    };
    e->asked_us = e->heard_us = e->looked_us = now_us;
    if (job_digest != NULL)
        memcpy(e->join.job_digest, job_digest, DIGEST_BYTES);
    memcpy(e->join.probe_digest, options->probe_digest, DIGEST_BYTES);
    snprintf(e->join.host, sizeof e->join.host, "%s", options->host);
    snprintf(e->join.arithmetic, sizeof e->join.arithmetic, "%s", options->arithmetic);
    snprintf(e->join.job_id, sizeof e->join.job_id, "%s", options->job_id);
}

struct message *joining_put(struct joining *joining, enum message_kind kind, struct frame *payload,
                            struct outbox *outbox, struct origin origin)
{
    struct envelope *envelope = &joining->envelope;
    struct packet *packet;
    if (envelope->role == ROLE_PS) {
        packet = outbox_put(outbox, TO_COORDINATOR, 0, kind, origin);
        packet->message.generation = envelope->generation;
        packet->payload = payload;
        return &packet->message;
    }
    assert(payload == NULL);
    packet = envelope_put_to_server(envelope, 0, kind, ++envelope->last_request, outbox, origin);
    if (kind == MESSAGE_JOIN || kind == MESSAGE_JOB_PAGE) /* No member yet: the run counts. */
        packet->message.generation = packet->message.ticket = packet->message.proof = 0;
    return &packet->message;
}

double joining_silence(const struct joining *joining, uint64_t now_us)
{
    return seconds_since(joining->heard_us, now_us);
}

bool joining_hear(struct joining *joining, const struct message *message, uint64_t now_us,
                  struct outbox *outbox)
{
    struct joining *e = joining;
    if (e->over && message->kind == MESSAGE_FINISHED) /* Our BYE may have been lost. */
        joining_finished(e, message, outbox);
    if (e->silence_said && !e->over)
        outbox_log(outbox, "ps/0 is heard again, after %s",
                   wording_duration(joining_silence(e, now_us)).text);
    e->silence_said = false;
    e->heard_us = now_us;
    if (message->kind == MESSAGE_WAITING)
        joining_wait(e, message->waiting.text);
    return !e->over;
}

enum welcome joining_welcome(struct joining *joining, const struct message *message)
{
    struct joining *e = joining;
    struct envelope *own = &e->envelope;
    bool first = !e->admitted, same = message->generation == own->generation;
    uint64_t ticket = message->welcome.ticket;
    if (!first && message->run_id != own->run_id)
        return WELCOME_OTHER_RUN;
    if (message->generation < own->generation || (same && ticket < own->ticket))
        return WELCOME_OLD;
    if (!e->joining && same && ticket == own->ticket)
        return WELCOME_REPEATED;
    own->run_id = message->run_id;
    own->generation = message->generation;
    own->ticket = ticket;
    own->proof = message->welcome.proof;
    e->welcomed_request = own->last_request;
    e->joining = false;
    e->admitted = true;
    return first || !same ? WELCOME_GENERATION : WELCOME_AGAIN;
}

/* What an earlier ticket sent may be refused as another process's. */
static bool is_of_earlier(const struct joining *e, const struct message *message)
{
    return message->request != 0 && message->request <= e->welcomed_request;
}

bool joining_is_unknown(const struct joining *joining, const struct message *message)
{
    return message->refused.reason == REFUSAL_REJOIN && !joining->joining &&
           !is_of_earlier(joining, message);
}

void joining_refused(struct joining *joining, const struct message *message, int exit_code,
                     uint64_t now_us, struct outbox *outbox)
{
    struct joining *e = joining;
    enum refusal reason = message->refused.reason;
    if (joining_is_unknown(e, message)) {
        outbox_log(outbox, "joining again: %s", message->refused.text);
        e->joining = true;
        e->join_interval_us = 0;
        e->asked_us = now_us;
        e->waiting[0] = '\0';
    } else if (reason != REFUSAL_REJOIN &&
               !(reason == REFUSAL_MEMBER && is_of_earlier(e, message))) {
        joining_end(e, exit_code, message->refused.text);
    }
}

int joining_exit_code(const struct joining *joining, enum refusal reason)
{
    switch (reason) {
    case REFUSAL_RUN:
        return EXIT_CLUSTER_LOST;
    case REFUSAL_MEMBER: /* Two processes with one number; or our place was taken meanwhile. */
        return joining->admitted ? EXIT_CLUSTER_LOST : EXIT_MISMATCH;
    case REFUSAL_MALFORMED:
        return EXIT_TRAINING_FAILED;
    case REFUSAL_KEY:
        return EXIT_UNAUTHENTICATED;
    default:
        return EXIT_MISMATCH;
    }
}

bool joining_finished(struct joining *joining, const struct message *message, struct outbox *outbox)
{
    if (joining->admitted && message->run_id != 0 && message->run_id != joining->envelope.run_id)
        return false;
    joining_say(joining, MESSAGE_BYE, outbox);
    return true;
}

void joining_wait(struct joining *joining, const char *text)
{
    snprintf(joining->waiting, sizeof joining->waiting, "%s", text);
}

void joining_end(struct joining *joining, int exit_code, const char *reason)
{
    if (joining->over)
        return;
    joining->over = true;
    joining->exit_code = exit_code;
    snprintf(joining->reason, sizeof joining->reason, "%s", reason);
}

void joining_stop(struct joining *joining, int exit_code)
{
    joining->stop_code = exit_code;
}

void joining_abandon(struct joining *joining)
{
    joining->leash = LEASH_LOST;
    joining->beat_us = 0;
    joining->deadlines.recovery = 0;
    if (joining->stop_code == 0)
        joining->stop_code = EXIT_TERMINATED;
}

static void join(struct joining *e, uint64_t now_us, struct outbox *outbox)
{
    uint64_t next_us = e->join_interval_us == 0 ? JOIN_FIRST_US : 2 * e->join_interval_us;
    if (!e->at_every_tick)
        e->join_interval_us = next_us < JOIN_INTERVAL_US ? next_us : JOIN_INTERVAL_US;
    e->joined_us = now_us;
    joining_say(e, MESSAGE_JOIN, outbox)->join = e->join;
}

uint64_t joining_look(struct joining *joining, uint64_t now_us)
{
    struct joining *e = joining;
    uint64_t gap_us = now_us > e->looked_us ? now_us - e->looked_us : 0;
    e->looked_us += gap_us;
    if (gap_us <= WATCHED_US)
        return 0;
    e->heard_us = e->heard_us + gap_us < now_us ? e->heard_us + gap_us : now_us;
    return gap_us;
}

uint64_t joining_tick(struct joining *joining, uint64_t now_us, struct outbox *outbox)
{
    struct joining *e = joining;
    uint64_t gap_us = joining_look(e, now_us);
    if (e->joining && now_us - e->joined_us >= e->join_interval_us)
        join(e, now_us, outbox);
    return gap_us;
}

static void watch_start(struct joining *e, uint64_t now_us)
{
    char text[MESSAGE_TEXT_MAX];
    double silent = joining_silence(e, now_us);
    if (!e->admitted && e->stop_code != 0 && silent > STOPPED_SILENT)
        joining_end(e, e->stop_code, "stopped before there was a job");
    if (seconds_since(e->began_us, now_us) <= e->deadlines.start + START_GRACE)
        return;
    snprintf(text, sizeof text, "start timed out after %s: %.300s",
             wording_duration(e->deadlines.start).text,
             e->waiting[0] == '\0' || silent > SILENT ? "nothing heard from ps/0" : e->waiting);
    joining_end(e, EXIT_START_TIMEOUT, text);
}

/* Server 0 may be started again, and then knows this process. */
static void watch_silence(struct joining *e, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    const struct deadlines *deadlines = &e->deadlines;
    double silent = joining_silence(e, now_us);
    double most = fmax(deadlines->recovery, deadlines->silence);
    if (silent > most) {
        snprintf(text, sizeof text, "lost ps/0: nothing heard for %s",
                 wording_duration(silent).text);
        joining_end(e, EXIT_CLUSTER_LOST, text);
    } else if (silent > deadlines->silence && !e->silence_said) {
        e->silence_said = true;
        outbox_warn(outbox, "nothing heard from ps/0 for %s; waiting until it has been %s",
                    wording_duration(silent).text, wording_duration(most).text);
    }
}

void joining_watch(struct joining *joining, uint64_t now_us, struct outbox *outbox)
{
    if (joining->leash == LEASH_LOST && joining->joining && !joining->at_every_tick)
        joining_end(joining, EXIT_CLUSTER_LOST,
                    "its standard input has ended, and it is no member of a job");
    if (!joining->started)
        watch_start(joining, now_us);
    if (joining->admitted && !joining->over)
        watch_silence(joining, now_us, outbox);
}

bool joining_is_to_beat(struct joining *joining, uint64_t now_us)
{
    if (now_us - joining->beat_us < BEAT_INTERVAL_US)
        return false;
    joining->beat_us = now_us;
    return true;
}

int joining_patience_ms(const struct joining *joining)
{
    return joining->joining && !joining->over && !joining->at_every_tick
               ? (int)(joining->join_interval_us / 1000)
               : PATIENCE_MS;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("joining", condition, rule)

void joining_check(const struct joining *joining)
{
    const struct joining *e = joining;
    const struct envelope *own = &e->envelope;
    RULE(own->role == ROLE_PS || own->role == ROLE_WORKER, "it is a server's or a worker's");
    RULE(e->at_every_tick == (own->role == ROLE_PS && own->index == 0),
         "only server 0 says JOIN at every tick");
    RULE(e->joining || e->admitted, "a process that does not join has been admitted");
    RULE(e->admitted || (own->ticket == 0 && own->proof == 0 && own->generation == 0),
         "ticket, proof and generation come with the first WELCOME");
    RULE(e->admitted || own->run_id == 0, "the run comes with the first WELCOME");
    RULE(IMPLIES(e->started, e->admitted), "only an admitted process has started");
    RULE(IMPLIES(e->silence_said, e->admitted), "server 0 is missed by members only");
    RULE(IMPLIES(!e->over, e->exit_code == 0 && e->reason[0] == '\0'),
         "exit code and reason come with the end");
    RULE(e->welcomed_request <= own->last_request,
         "WELCOME came after requests that were numbered");
    RULE(e->join_interval_us <= JOIN_INTERVAL_US, "JOIN is repeated often enough");
}
