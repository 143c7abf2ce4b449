#include "ps/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_ROOM 48 /* More than one entry of the list takes. */

enum status membership_init(struct membership *membership, uint32_t server_count,
                            uint32_t worker_count)
{
    membership->server_count = server_count;
    membership->worker_count = worker_count;
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

struct member *membership_find(const struct membership *membership, const struct message *message)
{
    uint32_t count;
    struct member *members = places(membership, message->role, &count);
    if (message->index >= count)
        return NULL;
    struct member *member = &members[message->index];
    return member->present && member->incarnation == message->incarnation ? member : NULL;
}

bool membership_has_key(const struct member *member, const struct packet *packet)
{
    return key_equal(member->key, packet->key);
}

static bool same_arithmetic(const struct member *members, uint32_t count,
                            const struct message_join *join)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].present)
            return memcmp(members[i].probe_digest, join->probe_digest, DIGEST_BYTES) == 0;
    return true;
}

enum refusal membership_admit(struct membership *membership, const struct packet *join, bool exact,
                              uint64_t now_us, char *text)
{
    const struct message *message = &join->message;
    const char *role = role_name(message->role);
    uint32_t count;
    struct member *members = places(membership, message->role, &count);
    if (message->index >= count) {
        snprintf(text, MESSAGE_TEXT_MAX, "the job has %u %s tasks; there is no %s/%u", count, role,
                 role, message->index);
        return REFUSAL_MEMBER;
    }
    struct member *member = &members[message->index];
    if (member->present && !membership_has_key(member, join)) {
        snprintf(text, MESSAGE_TEXT_MAX, "%s/%u is taken by a process with another key (on %s)",
                 role, message->index, member->host);
        return REFUSAL_KEY;
    }
    if (member->present && member->incarnation != message->incarnation) {
        snprintf(text, MESSAGE_TEXT_MAX, "%s/%u is taken by another process (on %s)", role,
                 message->index, member->host);
        return REFUSAL_MEMBER;
    }
    if (exact && !member->present && !same_arithmetic(members, count, &message->join)) {
        snprintf(text, MESSAGE_TEXT_MAX,
                 "arithmetic on %s (%s) does not give the same bits as the others'; servers "
                 "started with --allow-mixed let it join",
                 message->join.host, message->join.arithmetic);
        return REFUSAL_PROBE;
    }
    member->present = true;
    member->incarnation = message->incarnation;
    member->peer = join->peer;
    memcpy(member->key, join->key, KEY_BYTES);
    member->heard_us = now_us;
    snprintf(member->host, sizeof member->host, "%s", message->join.host);
    memcpy(member->probe_digest, message->join.probe_digest, DIGEST_BYTES);
    return REFUSAL_NONE;
}

bool membership_is_gathered(const struct membership *membership)
{
    for (uint32_t i = 0; i < membership->server_count; i++)
        if (!membership->servers[i].ready)
            return false;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        if (!membership->workers[i].present)
            return false;
    return true;
}

static bool have_left(const struct member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].present && !members[i].bye)
            return false;
    return true;
}

bool membership_has_left(const struct membership *membership)
{
    return have_left(membership->servers, membership->server_count) &&
           have_left(membership->workers, membership->worker_count);
}

void membership_list_missing(const struct membership *membership, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < membership->server_count && used + MISSING_ROOM < size; i++)
        if (!membership->servers[i].ready)
            used += (size_t)snprintf(text + used, size - used, "%sps/%u (%s)", used ? ", " : "", i,
                                     membership->servers[i].present ? "loading" : "never seen");
    for (uint32_t i = 0; i < membership->worker_count && used + MISSING_ROOM < size; i++)
        if (!membership->workers[i].present)
            used += (size_t)snprintf(text + used, size - used, "%sworker/%u (never seen)",
                                     used ? ", " : "", i);
    if (used + MISSING_ROOM >= size)
        snprintf(text + used, size - used, ", ...");
}

static bool find_silent(struct member *members, uint32_t count, enum role role, double seconds,
                        uint64_t now_us, char *text, size_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        struct member *member = &members[i];
        double silent = (double)(now_us - member->heard_us) * 1e-6;
        if (!member->present || member->bye || member->peer == PEER_LOCAL || silent <= seconds)
            continue;
        snprintf(text, size, "lost %s/%u (on %s): nothing heard for %.1f s", role_name(role), i,
                 member->host, silent);
        member->bye = true;
        return true;
    }
    return false;
}

bool membership_has_silent(struct membership *membership, double seconds, uint64_t now_us,
                           char *text, size_t size)
{
    return find_silent(membership->workers, membership->worker_count, ROLE_WORKER, seconds, now_us,
                       text, size) ||
           find_silent(membership->servers, membership->server_count, ROLE_PS, seconds, now_us,
                       text, size);
}
