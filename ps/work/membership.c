/* membership.c - one array of places a role. JOIN is decided by the state of its place; taking a
 * place draws ticket and proof. */

#include "ps/work/membership.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/base/wording.h"
#include "ps/work/proof.h"

#define MISSING_ROOM     48       /* More than one entry of the list takes. */
#define CLAIMANT_GONE_US 1000000u /* A claimant asks much more often. */

enum status membership_init(struct membership *membership, uint32_t server_count,
                            uint32_t worker_count, const uint8_t secret[HASH_BYTES])
{
    memset(membership, 0, sizeof *membership);
    memcpy(membership->secret, secret, HASH_BYTES);
    membership->server_count = server_count;
    membership->worker_count = membership->declared_count = worker_count;
    membership->servers = calloc(server_count, sizeof *membership->servers);
    membership->workers = calloc(worker_count, sizeof *membership->workers);
    if (membership->servers != NULL && membership->workers != NULL)
        return STATUS_OK;
    membership_free(membership);
    return STATUS_MEMORY;
}

void membership_free(struct membership *membership)
{
    free(membership->servers);
    free(membership->workers);
    memset(membership, 0, sizeof *membership);
}

/* The places of one role. */
static struct member *places(const struct membership *membership, enum role role, uint32_t *count)
{
    *count = 0;
    if (role == ROLE_PS)
        *count = membership->server_count;
    else if (role == ROLE_WORKER)
        *count = membership->worker_count;
    return role == ROLE_PS ? membership->servers : membership->workers;
}

struct member *membership_place(const struct membership *membership, const struct message *message)
{
    uint32_t count;
    struct member *members = places(membership, message->role, &count);
    return message->index < count ? &members[message->index] : NULL;
}

struct member *membership_find(const struct membership *membership, const struct message *message)
{
    struct member *member = membership_place(membership, message);
    return member != NULL && member->present && member->incarnation == message->incarnation &&
                   member->ticket == message->ticket && (member->proof ^ message->proof) == 0
               ? member
               : NULL;
}

struct member *membership_member(const struct membership *membership, uint32_t i)
{
    if (i < membership->server_count)
        return &membership->servers[i];
    i -= membership->server_count;
    return i < membership->worker_count ? &membership->workers[i] : NULL;
}

bool member_has_left(const struct member *member)
{
    return member->absence.departure == DEPARTURE_LEFT &&
           member->absence.departed == member->incarnation;
}

bool membership_has_key(const struct member *member, const struct packet *packet)
{
    return key_equal(member->key, packet->key);
}

enum departure membership_departure(const struct membership *membership,
                                    const struct message *message)
{
    const struct member *place = membership_place(membership, message);
    return place != NULL && place->absence.departed == message->incarnation
               ? place->absence.departure
               : DEPARTURE_NONE;
}

void membership_hear(struct member *member, uint64_t now_us)
{
    member->heard_us = now_us;
    if (member->claim.process == 0 ||
        (member->claim.signs > 0 && now_us - member->claim.sign_us < SIGNS_APART_US))
        return;
    member->claim.signs++;
    member->claim.sign_us = now_us;
}

/* --- joining ------------------------------------------------------------------------------- */

/* A member of the role with other arithmetic than this one, or NULL. */
static const struct member *other_arithmetic(const struct member *members, uint32_t count,
                                             uint32_t index, const struct message_join *join)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].present && i != index)
            return memcmp(members[i].probe_digest, join->probe_digest, DIGEST_BYTES) == 0
                       ? NULL
                       : &members[i];
    return NULL;
}

/* The most places of this role: workers may be more than were declared. */
static uint32_t places_max(const struct membership *membership, enum role role)
{
    if (role == ROLE_WORKER)
        return JOB_WORKERS_MAX;
    return role == ROLE_PS ? membership->server_count : 0;
}

/* Another process has the place. One claimant at a time is tried; others wait for their turn. */
static enum admission judge_claimant(struct member *holder, const struct message *join,
                                     uint64_t now_us, char *text)
{
    const char *role = role_name(join->role);
    if (now_us - holder->heard_us >= SUSPECT_US && holder->peer != PEER_LOCAL)
        return ADMISSION_REPLACE;
    snprintf(text, MESSAGE_TEXT_MAX,
             "%s/%u is held by another process (on %s); waiting to see whether it is alive", role,
             join->index, holder->host);
    if (holder->claim.process != join->incarnation) {
        if (holder->claim.process != 0 && now_us - holder->claim.last_us < CLAIMANT_GONE_US)
            return ADMISSION_WAIT;
        holder->claim.process = join->incarnation;
        holder->claim.first_us = now_us;
        holder->claim.signs = 0;
    }
    holder->claim.last_us = now_us;
    bool answered = holder->claim.signs >= SIGNS_OF_LIFE &&
                    holder->claim.sign_us > holder->claim.first_us + ANSWERED_US;
    if (!answered && holder->peer != PEER_LOCAL)
        return ADMISSION_WAIT;
    holder->claim.process = 0;
    snprintf(text, MESSAGE_TEXT_MAX, "%s/%u is taken by another process (on %s), which is alive",
             role, join->index, holder->host);
    return ADMISSION_REFUSE;
}

enum admission membership_judge(struct membership *membership, const struct packet *join,
                                const struct job *exact, uint64_t now_us, enum refusal *refusal,
                                char *text)
{
    const struct message *message = &join->message;
    const char *role = role_name(message->role);
    uint32_t count, most = places_max(membership, message->role);
    const struct member *members = places(membership, message->role, &count);
    struct member *place = membership_place(membership, message);
    assert(count == 0 || members != NULL);
    *refusal = REFUSAL_MEMBER;
    if (message->index >= most) {
        snprintf(text, MESSAGE_TEXT_MAX, "the job has %u %s tasks; there is no %s/%u", most, role,
                 role, message->index);
        return ADMISSION_REFUSE;
    }
    if (message->role == ROLE_PS && message->index == 0 && join->peer != PEER_LOCAL) {
        snprintf(text, MESSAGE_TEXT_MAX, "ps/0 is the process that you ask");
        return ADMISSION_REFUSE;
    }
    if (place != NULL && place->present && !place->lost && !membership_has_key(place, join)) {
        *refusal = REFUSAL_KEY;
        snprintf(text, MESSAGE_TEXT_MAX, "%s/%u is taken by a process with another key (on %s)",
                 role, message->index, place->host);
        return ADMISSION_REFUSE;
    }
    if (place != NULL && place->present && place->incarnation == message->incarnation &&
        membership_has_key(place, join))
        return ADMISSION_REPEAT;
    const struct member *other =
        exact != NULL ? other_arithmetic(members, count, message->index, &message->join) : NULL;
    if (other != NULL) {
        *refusal = REFUSAL_PROBE;
        bool asks = message->role == ROLE_WORKER && job_asks_program(exact);
        snprintf(text, MESSAGE_TEXT_MAX,
                 "%s on %s (%s) does not give the same bits as on %s (%s): give all the "
                 "same %s, or servers --allow-mixed",
                 asks ? "the program" : "arithmetic", message->join.host, message->join.arithmetic,
                 other->host, other->arithmetic,
                 asks ? "files, versions, threads and data" : "--instructions");
        return ADMISSION_REFUSE;
    }
    if (place == NULL || !place->present)
        return ADMISSION_FREE;
    return judge_claimant(place, message, now_us, text);
}

static bool grow(struct membership *membership, uint32_t count)
{
    struct member *workers = realloc(membership->workers, count * sizeof *workers);
    if (workers == NULL)
        return false;
    memset(workers + membership->worker_count, 0,
           (count - membership->worker_count) * sizeof *workers);
    membership->workers = workers;
    membership->worker_count = count;
    return true;
}

struct member *membership_take(struct membership *membership, const struct packet *join,
                               uint64_t now_us)
{
    const struct message *message = &join->message;
    if (message->role == ROLE_WORKER && message->index >= membership->worker_count &&
        !grow(membership, message->index + 1))
        return NULL;
    struct member *member = membership_place(membership, message);
    const struct member before = *member;
    uint64_t ticket = ++membership->tickets;
    *member = (struct member){
        .present = true,
        .ever = true,
        .incarnation = message->incarnation,
        .ticket = ticket,
        .proof = proof_make(membership->secret, message, ticket),
        .peer = join->peer,
        .heard_us = now_us,
        .pace.moved_us = now_us,
        .absence = {.departed = before.absence.departed, .departure = before.absence.departure},
        .counts = before.counts,
    };
    if (before.incarnation != message->incarnation)
        member->counts.reported_times = (struct message_times){.wall_us = 0};
    snprintf(member->host, sizeof member->host, "%s", message->join.host);
    memcpy(member->probe_digest, message->join.probe_digest, DIGEST_BYTES);
    memcpy(member->arithmetic, message->join.arithmetic, sizeof member->arithmetic);
    memcpy(member->key, join->key, KEY_BYTES);
    return member;
}

void membership_free_place(struct member *member, enum departure departure)
{
    member->present = member->dealt.done = member->missed = member->pace.owes =
        member->absence.dismissed = false;
    member->claim.process = 0;
    if (departure == DEPARTURE_NONE)
        return;
    member->absence.departed = member->incarnation;
    member->absence.departure = departure;
}

/* --- what goes back ------------------------------------------------------------------------ */

void membership_mark_snapshot(struct membership *membership)
{
    for (uint32_t i = 0; i < membership->worker_count; i++)
        membership->workers[i].counts.summary_snapshot = membership->workers[i].counts.summary;
}

void membership_mark_whole(struct membership *membership)
{
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        struct counts *counts = &member->counts;
        counts->summary_whole = counts->summary_snapshot;
        counts->verdicts_whole = counts->earlier;
        verdict_counts_add(&counts->verdicts_whole, &counts->verdicts);
    }
}

void membership_forget_marks(struct membership *membership)
{
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        member->counts.summary_whole = (struct worker_summary){.batches = 0};
        member->counts.verdicts_whole = (struct verdict_counts){0};
    }
}

void membership_go_back(struct membership *membership)
{
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        struct counts *counts = &member->counts;
        counts->reported = 0;
        counts->summary.batches = counts->summary_whole.batches;
        counts->summary.examples = counts->summary_whole.examples;
        counts->earlier = counts->verdicts_whole;
        counts->verdicts = (struct verdict_counts){0};
    }
}

void membership_begin_generation(struct membership *membership)
{
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        struct dealt *dealt = &member->dealt;
        member->ready = member->kept.scored_lost = false;
        member->kept.scored = 0;
        dealt->done = dealt->asks = member->pace.owes = false;
        dealt->first_assignment = dealt->assignment = 0;
    }
}

/* --- looking at all ------------------------------------------------------------------------ */

uint32_t membership_servers(const struct membership *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->server_count; i++)
        count += membership->servers[i].ready && !membership->servers[i].lost;
    return count;
}

bool membership_is_served(const struct membership *membership)
{
    return membership_servers(membership) == membership->server_count;
}

uint32_t membership_workers(const struct membership *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        count += membership->workers[i].present;
    return count;
}

bool membership_is_complete(const struct membership *membership)
{
    for (uint32_t i = 0; i < membership->declared_count; i++)
        if (!membership->workers[i].present)
            return false;
    return true;
}

bool membership_has_left(const struct membership *membership)
{
    const struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++)
        if (member->present && !member->lost && !member->bye)
            return false;
    return true;
}

bool membership_is_deserted(const struct membership *membership)
{
    for (uint32_t i = 0; i < membership->worker_count; i++) {
        const struct member *worker = &membership->workers[i];
        if (worker->present || worker->missed || (worker->ever && !member_has_left(worker)))
            return false;
    }
    return true;
}

const struct member *membership_awaited(const struct membership *membership, enum role *role,
                                        uint32_t *index)
{
    *role = ROLE_PS;
    for (*index = 0; *index < membership->server_count; (*index)++)
        if (membership->servers[*index].lost)
            return &membership->servers[*index];
    *role = ROLE_WORKER;
    for (*index = 0; *index < membership->worker_count; (*index)++)
        if (membership->workers[*index].missed)
            return &membership->workers[*index];
    return NULL;
}

/* NULL for a member that is not missing. */
static const char *why_missing(const struct member *member, bool server, bool wanted)
{
    if (server ? member->lost : member->missed)
        return "lost";
    if (server && !member->ready)
        return member->present ? "loading" : "never seen";
    if (server || member->present || !wanted)
        return NULL;
    return member->ever ? "lost" : "never seen";
}

void membership_list_missing(const struct membership *membership, bool start, char *text,
                             size_t size)
{
    const struct member *member;
    bool room = true;
    text[0] = '\0';
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL && room; i++) {
        bool server = i < membership->server_count;
        uint32_t index = server ? i : i - membership->server_count;
        const char *why = why_missing(member, server, start && index < membership->declared_count);
        if (why != NULL)
            wording_append(text, size, "%s%s/%u (%s)", text[0] != '\0' ? ", " : "",
                           server ? "ps" : "worker", index, why);
        room = strlen(text) + MISSING_ROOM < size;
    }
    if (!room)
        wording_append(text, size, ", ...");
}

static struct member *find_silent(struct member *members, uint32_t count, double seconds,
                                  uint64_t now_us, uint32_t *index)
{
    for (*index = 0; *index < count; (*index)++) {
        struct member *member = &members[*index];
        double silent = (double)(now_us - member->heard_us) * 1e-6;
        if (member->present && !member->bye && !member->lost && member->peer != PEER_LOCAL &&
            silent > seconds)
            return member;
    }
    return NULL;
}

struct member *membership_silent(const struct membership *membership, double seconds,
                                 uint64_t now_us, enum role *role, uint32_t *index)
{
    *role = ROLE_WORKER;
    struct member *member =
        find_silent(membership->workers, membership->worker_count, seconds, now_us, index);
    if (member != NULL)
        return member;
    *role = ROLE_PS;
    return find_silent(membership->servers, membership->server_count, seconds, now_us, index);
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("membership", condition, rule)

static void check_place(const struct membership *membership, const struct member *member)
{
    RULE(IMPLIES(member->present, member->ever), "who is here has come once");
    RULE(member->ever == (member->ticket != 0),
         "members that have joined have a ticket, and no others");
    RULE(member->ticket <= membership->tickets, "no ticket was not given out");
    RULE(IMPLIES(member->dealt.done || member->pace.owes, member->present), "who works is here");
    RULE(IMPLIES(member->absence.dismissed, member->present), "who is to leave is here");
    RULE(IMPLIES(member->claim.process != 0, member->present),
         "only a place that is taken is claimed");
    RULE(IMPLIES(member->claim.process != 0, member->claim.first_us <= member->claim.last_us),
         "a claim has been made once before it was the last time");
    RULE(IMPLIES(member->absence.departure != DEPARTURE_NONE, member->ever),
         "who is gone was here");
    RULE(IMPLIES(member->absence.departure != DEPARTURE_NONE &&
                     member->absence.departed == member->incarnation,
                 !member->present),
         "who is not to come back is not here");
}

static void check_server(const struct member *server)
{
    RULE(!server->missed && !server->dealt.done && !server->pace.owes && !server->dealt.asks,
         "a server has no share of the work");
    RULE(IMPLIES(server->lost || server->ready, server->present), "only who came is lost or ready");
    RULE(IMPLIES(server->ever, server->present), "a server keeps its place");
}

static void check_worker(const struct member *worker)
{
    RULE(!worker->lost && !worker->ready, "workers are neither lost nor ready");
    RULE(worker->kept.cut == 0, "workers cut nothing");
    RULE(IMPLIES(worker->missed, worker->ever && !worker->present),
         "who is missed was here and is not");
    RULE(IMPLIES(worker->dealt.done, worker->dealt.first_assignment != 0),
         "only a worker with a share is done");
}

static void check_tickets(const struct member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            RULE(members[i].ticket == 0 || members[i].ticket != members[j].ticket,
                 "no two have one ticket");
}

void membership_check(const struct membership *membership)
{
    RULE((membership->servers == NULL) == (membership->server_count == 0), "a job has servers");
    RULE(membership->declared_count <= membership->worker_count &&
             membership->worker_count <= JOB_WORKERS_MAX,
         "there is a place for every worker that was declared");
    for (uint32_t i = 0; i < membership->server_count; i++) {
        check_place(membership, &membership->servers[i]);
        check_server(&membership->servers[i]);
    }
    for (uint32_t i = 0; i < membership->worker_count; i++) {
        check_place(membership, &membership->workers[i]);
        check_worker(&membership->workers[i]);
    }
    check_tickets(membership->servers, membership->server_count);
    check_tickets(membership->workers, membership->worker_count);
}
