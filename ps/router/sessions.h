/* sessions.h - the workers as one server's router knows them: which process is which, how much of
 * what each has sent is still on its way through the server, and how much of what each was given is
 * still on its way to it.
 *
 * Server 0 counts admissions: of two processes that say they are one worker, the one with the
 * greater ticket is the successor, and the other must not be heard any more. A router learns of
 * successors from their own messages, so nobody need tell it who has died.
 *
 *     ticket 3, process A    taken: nobody was known
 *     ticket 7, process B    taken: B has replaced A
 *     ticket 3, process A    a zombie
 *     ticket 7, process A    a zombie
 *     ticket 9, process C    nobody: it cannot prove that server 0 has given it that
 *
 * What is on its way is weighed, in both directions: a worker that exceeds its window is not let in
 * before its own messages have been worked off, and one that does not read what it has asked for is
 * given no more. So a greedy or a stopped one waits for itself, and nobody else for it.
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
    uint64_t under_way;        /* Bytes with the owners. */
    struct in_flight *answers; /* Values on their way to this process; NULL before the first. */
};

struct sessions {
    struct worker_session *all; /* [JOB_WORKERS_MAX] by worker index. Owned. */
    uint32_t end;               /* From here on nobody was ever known. */
    /* Bytes that one worker may have under way, and that may be under way to one process. */
    uint64_t window, answers_max;
    uint8_t secret[HASH_BYTES]; /* Of proofs, see proof.h. */
};

enum status sessions_init(struct sessions *sessions, uint64_t window, uint64_t answers_max);
void sessions_free(struct sessions *sessions);

/* A new generation: server 0 may count from the beginning, and prove by another secret; and nothing
 * is under way. */
void sessions_forget(struct sessions *sessions, const uint8_t secret[HASH_BYTES]);

/* Who sends a packet in a worker's name. */
enum sender {
    SENDER_WORKER, /* The process that is this worker (its key counts too), or its successor, who
                      * is from here on. */
    SENDER_STALE,  /* The same process, from before its latest admission: nobody's fault, and not
                      * to be answered. */
    SENDER_SUPERSEDED, /* One whose place another has taken. */
    SENDER_NOBODY,     /* One that was never admitted. */
};

/* The index is below JOB_WORKERS_MAX. */
enum sender sessions_judge(struct sessions *sessions, const struct packet *packet);

/* Whether `weight` more bytes of this worker fit its window: then they are under way. One message
 * always fits when nothing is. */
bool sessions_let_in(struct sessions *sessions, uint32_t worker, uint64_t weight);

/* They are not any more. */
void sessions_settle(struct sessions *sessions, uint32_t worker, uint64_t weight);

/* Values that are to be sent to a worker, so that they are counted until they have left; NULL when
 * too much is on its way already, or there is no memory. Takes over the reference. */
struct frame *sessions_give(struct sessions *sessions, uint32_t worker, struct frame *values);

/* See common/base/invariant.h. */
void sessions_check(const struct sessions *sessions);

#endif
