/* sessions.h - the workers of one server's router: which process each is, how much of what it
 * sent is still under way through the server, and how much of its answers is still in flight.
 *
 * Server 0 counts admissions. Of two processes that claim to be one worker, the one with the
 * greater ticket is the successor, and the other is not heard any more. A router learns of
 * successors from their own messages, so it needs no news of deaths.
 *
 *     ticket 3, process A    taken: the first
 *     ticket 7, process B    taken: B has superseded A
 *     ticket 3, process A    a zombie
 *     ticket 7, process A    a zombie
 *     ticket 9, process C    unknown: it cannot prove that server 0 has given it that
 *
 * Both directions are limited. Messages beyond a worker's window are not taken before its own
 * messages are done, and a worker that does not read gets no more answers. So a greedy or a
 * stopped worker waits for itself, and no other waits for it.
 *
 * Threads: the router's. Units: bytes. */

#ifndef PS_ROUTER_SESSIONS_H
#define PS_ROUTER_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"
#include "ps/router/in_flight.h"

struct worker_session {
    bool known;
    uint64_t incarnation, ticket, proof;
    uint8_t key[KEY_BYTES];
    uint64_t with_owners;      /* Bytes of its messages that are with the owners. */
    struct in_flight *answers; /* Values in flight to this process; NULL before the first. */
};

struct sessions {
    struct worker_session *all; /* [JOB_WORKERS_MAX] by worker index. Owned. */
    uint32_t end;               /* No worker from here on was ever known. */
    /* Limits of one worker's bytes under way, and of those in flight to one process. */
    uint64_t window, answers_max;
    uint8_t secret[HASH_BYTES]; /* Of proofs, see proof.h. */
};

enum status sessions_init(struct sessions *sessions, uint64_t window, uint64_t answers_max);
void sessions_free(struct sessions *sessions);

/* A new generation: server 0 may count from the beginning, and prove by another secret; and
 * nothing is under way. */
void sessions_forget(struct sessions *sessions, const uint8_t secret[HASH_BYTES]);

/* The sender of a packet in a worker's name. */
enum sender {
    /* The process that is this worker (its key counts, too), or its successor, which is it from
     * here on. */
    SENDER_WORKER,
    SENDER_STALE,      /* The same process, from before its latest admission: not to be answered. */
    SENDER_SUPERSEDED, /* One whose place another has taken. */
    SENDER_NONE,       /* One that was never admitted. */
};

/* The index is below JOB_WORKERS_MAX. */
enum sender sessions_judge(struct sessions *sessions, const struct packet *packet);

/* Whether `weight` more bytes of this worker fit its window: then they are under way. One
 * message always fits when nothing is. */
bool sessions_let_in(struct sessions *sessions, uint32_t worker, uint64_t weight);

/* They are not any more. */
void sessions_settle(struct sessions *sessions, uint32_t worker, uint64_t weight);

/* Values to send to a worker, counted until they have left; NULL when too much is in flight
 * already, or there is no memory. Takes over the reference. */
struct frame *sessions_give(struct sessions *sessions, uint32_t worker, struct frame *values);

/* See common/base/invariant.h. */
void sessions_check(const struct sessions *sessions);

#endif
