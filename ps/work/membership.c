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
    bool servers = role == ROLE_PS;
    *count = servers               ? membership->server_count
             : role == ROLE_WORKER ? membership->worker_count
                                   : 0;
    return servers ? membership->servers : membership->workers;
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

/* Another process has the place. One claimant at a time is tried; others wait for their turn. */
static enum admission judge_claimant(struct member *holder, const struct message *join,
                                     uint64_t now_us, char *text)
{
    const char *role = role_name(join->role);
    struct claim *claim = &holder->claim;
    if (now_us - holder->heard_us >= SUSPECT_US && holder->peer != PEER_LOCAL)
        return ADMISSION_REPLACE;
    snprintf(text, MESSAGE_TEXT_MAX,
             "%s/%u is held by another process (on %s); waiting to see whether it is alive", role,
             join->index, holder->host);
    if (claim->process != join->incarnation) {
        if (claim->process != 0 && now_us - claim->last_us < CLAIMANT_GONE_US)
            return ADMISSION_WAIT;
        *claim = (struct claim){.process = join->incarnation, .first_us = now_us};
    }
    claim->last_us = now_us;
    bool answered = claim->signs >= SIGNS_OF_LIFE && claim->sign_us > claim->first_us + ANSWERED_US;
    if (!answered && holder->peer != PEER_LOCAL)
        return ADMISSION_WAIT;
    claim->process = 0;
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
    uint32_t count;
    const struct member *members = places(membership, message->role, &count);
    /* Workers may be more than were declared. */
    uint32_t most = message->role == ROLE_WORKER ? JOB_WORKERS_MAX : count;
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

void membership_go_back(struct membership *membership, bool known)
{
    struct member *member;
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        struct counts *counts = &member->counts;
        if (!known) {
            counts->summary_whole = (struct worker_summary){.batches = 0};
            counts->verdicts_whole = (struct verdict_counts){0};
        }
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

struct member *membership_silent(const struct membership *membership, double seconds,
                                 uint64_t now_us, enum role *role, uint32_t *index)
{
    uint32_t servers = membership->server_count, workers = membership->worker_count;
    for (uint32_t i = 0; i < workers + servers; i++) { /* Workers first. */
        *role = i < workers ? ROLE_WORKER : ROLE_PS;
        *index = i < workers ? i : i - workers;
        struct member *member =
            i < workers ? &membership->workers[i] : &membership->servers[*index];
        if (member->present && !member->bye && !member->lost && member->peer != PEER_LOCAL &&
            (double)(now_us - member->heard_us) * 1e-6 > seconds)
            return member;
    }
    return NULL;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(number, condition, rule) INVARIANT("membership", condition, rule " (M" #number ")")

static void check_place(const struct membership *membership, const struct member *member)
{
    const struct absence *absence = &member->absence;
    const struct claim *claim = &member->claim;
    RULE(1, IMPLIES(member->present, member->ever), "who is here has come once");
    RULE(2, member->ever == (member->ticket != 0),
         "members that have joined have a ticket, and no others");
    RULE(3, member->ticket <= membership->tickets, "no ticket was not given out");
    RULE(4, IMPLIES(member->dealt.done || member->pace.owes, member->present), "who works is here");
    RULE(5, IMPLIES(absence->dismissed, member->present), "who is to leave is here");
    RULE(6, IMPLIES(claim->process != 0, member->present), "only a place that is taken is claimed");
    RULE(7, IMPLIES(claim->process != 0, claim->first_us <= claim->last_us),
         "a claim has been made once before it was the last time");
    RULE(8, IMPLIES(absence->departure != DEPARTURE_NONE, member->ever), "who is gone was here");
    RULE(9,
         IMPLIES(absence->departure != DEPARTURE_NONE && absence->departed == member->incarnation,
                 !member->present),
         "who is not to come back is not here");
}

static void check_role(const struct member *member, bool server)
{
    RULE(10,
         !server ||
             (!member->missed && !member->dealt.done && !member->pace.owes && !member->dealt.asks),
         "a server has no share of the work");
    RULE(11, IMPLIES(member->lost || member->ready, server && member->present),
         "only a server who came is lost or ready");
    RULE(12, IMPLIES(server && member->ever, member->present), "a server keeps its place");
    RULE(13, server || member->kept.snapshot == 0, "workers take no snapshot");
    RULE(14, IMPLIES(member->missed, member->ever && !member->present),
         "who is missed was here and is not");
    RULE(15, IMPLIES(member->dealt.done, member->dealt.first_assignment != 0),
         "only a worker with a share is done");
}

void membership_check(const struct membership *membership)
{
    const struct member *member, *other;
    RULE(16, (membership->servers == NULL) == (membership->server_count == 0), "a job has servers");
    RULE(17,
         membership->declared_count <= membership->worker_count &&
             membership->worker_count <= JOB_WORKERS_MAX,
         "there is a place for every worker that was declared");
    for (uint32_t i = 0; (member = membership_member(membership, i)) != NULL; i++) {
        check_place(membership, member);
        check_role(member, i < membership->server_count);
        for (uint32_t j = 0; j < i && (other = membership_member(membership, j)) != NULL; j++)
            RULE(18, member->ticket == 0 || member->ticket != other->ticket,
                 "no two have one ticket");
    }
}
