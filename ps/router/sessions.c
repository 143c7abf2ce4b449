/* sessions.c - one entry a worker: the newest process by ticket, its bytes under way, and its answers
 * in flight. */

#include "ps/router/sessions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "ps/work/proof.h"

enum status sessions_init(struct sessions *sessions, uint64_t window, uint64_t answers_max)
{
    sessions->window = window;
    sessions->answers_max = answers_max;
    sessions->all = calloc(JOB_WORKERS_MAX, sizeof *sessions->all);
    return sessions->all != NULL ? STATUS_OK : STATUS_MEMORY;
}

void sessions_free(struct sessions *sessions)
{
    for (uint32_t i = 0; sessions->all != NULL && i < JOB_WORKERS_MAX; i++)
        in_flight_drop(&sessions->all[i].answers);
    free(sessions->all);
    memset(sessions, 0, sizeof *sessions);
}

void sessions_forget(struct sessions *sessions, const uint8_t secret[HASH_BYTES])
{
    memcpy(sessions->secret, secret, HASH_BYTES);
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++)
        in_flight_drop(&sessions->all[i].answers);
    memset(sessions->all, 0, JOB_WORKERS_MAX * sizeof *sessions->all);
}

static void take(struct worker_session *session, const struct packet *packet)
{
    const struct message *message = &packet->message;
    /* What the former process has not read, and may never read, does not count against this one. */
    in_flight_drop(&session->answers);
    session->known = true;
    session->incarnation = message->incarnation;
    session->ticket = message->ticket;
    session->proof = message->proof;
    memcpy(session->key, packet->key, KEY_BYTES);
}

enum sender sessions_judge(struct sessions *sessions, const struct packet *packet)
{
    const struct message *message = &packet->message;
    assert(message->index < JOB_WORKERS_MAX);
    struct worker_session *session = &sessions->all[message->index];
    bool same_process = session->known && message->incarnation == session->incarnation &&
                        key_equal(packet->key, session->key);
    if (same_process && message->ticket == session->ticket &&
        (message->proof ^ session->proof) == 0)
        return SENDER_WORKER;
    if (!proof_holds(sessions->secret, message))
        return SENDER_NONE;
    if (session->known && message->ticket <= session->ticket)
        return same_process ? SENDER_STALE : SENDER_SUPERSEDED;
    take(session, packet);
    if (message->index >= sessions->end)
        sessions->end = message->index + 1;
    return SENDER_WORKER;
}

bool sessions_let_in(struct sessions *sessions, uint32_t worker, uint64_t weight)
{
    struct worker_session *session = &sessions->all[worker];
    if (session->with_owners > 0 && session->with_owners + weight > sessions->window)
        return false;
    session->with_owners += weight;
    return true;
}

void sessions_settle(struct sessions *sessions, uint32_t worker, uint64_t weight)
{
    struct worker_session *session = &sessions->all[worker];
    assert(session->with_owners >= weight);
    session->with_owners -= weight;
}

struct frame *sessions_give(struct sessions *sessions, uint32_t worker, struct frame *values)
{
    struct worker_session *session = &sessions->all[worker];
    if (session->answers == NULL)
        session->answers = in_flight_create();
    if (session->answers == NULL ||
        in_flight_bytes(session->answers) + values->bytes > sessions->answers_max) {
        frame_release(values);
        return NULL;
    }
    return in_flight_watch(session->answers, values);
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("sessions", condition, rule)

void sessions_check(const struct sessions *sessions)
{
    RULE(sessions->end <= JOB_WORKERS_MAX, "no worker has a number beyond the last");
    for (uint32_t i = 0; i < sessions->end; i++) {
        const struct worker_session *session = &sessions->all[i];
        RULE(session->known || session->with_owners == 0,
             "an unknown session has nothing with the owners");
        RULE(session->known || session->answers == NULL, "an unknown session has no answers");
        RULE(session->answers == NULL || in_flight_bytes(session->answers) <= sessions->answers_max,
             "no process has more on its way to it than it may");
    }
}
