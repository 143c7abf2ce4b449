/* membership.h - who belongs to the job: a place for every server and worker, and who has it.
 *
 * A place is taken by a process (an incarnation), which gets a ticket with it: a number that counts
 * admissions, so that nobody is mistaken for his predecessor; and a proof, so that nobody else is
 * mistaken for it. What becomes of a place:
 *
 *     free --JOIN--> taken --silence--> servers:  lost, but the place's until somebody else JOINs:
 *                      |                          should it be heard again, nothing was lost
 *                      |                workers:  free (and missed, where they are waited for)
 *                      '--JOIN of another process, the claimant: after 1.2 s without a word of the
 *                         holder the place is the claimant's; when the holder has shown three signs
 *                         of life, in about 1.5 s, the claimant is refused
 *
 * A place that is taken is bound to the key that came with the JOIN: whoever speaks in its holder's
 * name, or wants to follow it before it is lost, must have that key.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_WORK_MEMBERSHIP_H
#define PS_WORK_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/store/run_directory.h"
#include "common/wire/message.h"

/* What server 0's own router is called among the peers. */
#define PEER_LOCAL UINT64_MAX

/* Members are heard every half second. */
#define SUSPECT_US 1200000u /* Silence after which another process may have the place. */
/* What was still on its way when a process died must not pass for its being alive: it takes so many
 * signs of life so far apart since a claimant came, the last of them so much later. */
#define SIGNS_OF_LIFE  3
#define SIGNS_APART_US 300000u
#define ANSWERED_US    600000u

/* Why a process that was a member is not to come back. */
enum departure { DEPARTURE_NONE, DEPARTURE_STUCK, DEPARTURE_LEFT };

struct member {
    bool present;   /* The place is taken. */
    bool lost;      /* Servers: silent for too long. */
    bool missed;    /* Workers: gone, and the job waits for this place. */
    bool ever;      /* It was taken once. */
    bool ready;     /* Servers: has its chunks, of this generation. */
    bool has_job;   /* Servers: has the declaration. */
    bool done;      /* Workers: has finished training, as dealt. */
    bool bye;       /* Knows that the job has ended. */
    bool dismissed; /* Workers: somebody has asked that it leave. */
    uint32_t leash; /* enum leash, as of its last sign of life. */
    uint64_t incarnation, ticket, proof, peer, heard_us;
    uint64_t gone_us;       /* When it was lost, or missed. */
    uint64_t leaving_us;    /* Workers: when it first said LEAVE; 0: it has not. */
    uint8_t key[KEY_BYTES]; /* That its JOIN came with; none without keys. */
    char host[64];
    char arithmetic[64]; /* What its kernels use: "AVX-512". */
    uint8_t probe_digest[DIGEST_BYTES];

    /* Who else wants the place; 0 for nobody. */
    uint64_t claimant, claimant_first_us, claimant_last_us;
    uint32_t signs;   /* Of life since the claimant came ... */
    uint64_t sign_us; /* ... the last of them. */
    /* Who had it, and why it is over. */
    uint64_t departed;
    enum departure departure;

    uint64_t scored; /* Servers: see message_ready, of this generation. */
    bool scored_lost;
    /* Servers: of the cut under way. */
    bool cut_taken, part_written;
    bool snapshot_answered; /* Taken or not: all its chunks have had the CUT. */
    struct checkpoint_part part;
    struct verdict_counts verdicts; /* Of this generation, as of its last cut ... */
    struct verdict_counts earlier;  /* ... and of what the generation began from. */

    /* Workers: the share of the work, and what came of it; see assignment.h and stragglers.h. */
    uint32_t position;
    uint32_t first_assignment; /* That this ticket was told in this generation; 0 for none ... */
    uint32_t assignment;       /* ... and the last that it is known to follow. */
    bool owes, computing;
    enum wait waits;    /* Async: for what it was not given a batch last, ... */
    uint32_t waits_for; /* ... and one more than the worker that this is for; 0: nobody known. */
    bool asks;          /* Async: it has asked for work since it was told its share. */
    uint64_t step;      /* As of its last PING. */
    uint64_t moved_us;  /* When it last made progress, or began to owe work. */
    uint64_t told_slow_after; /* Microseconds: when the last line said so. */
    uint64_t reported;        /* One more than the step or batch of its latest report; 0: none. */
    struct worker_summary summary;
    struct message_times told; /* The most that was heard of the process's times: in the summary. */

    /* What goes back with the updates, see membership_go_back: as of the cut under way, and as of the
     * newest whole checkpoint. */
    struct worker_summary summary_snapshot, summary_whole;
    struct verdict_counts verdicts_whole;
};

struct membership {
    struct member *servers, *workers; /* [server_count], [worker_count], owned. */
    uint32_t server_count;
    uint32_t worker_count;      /* Grows with the indexes that join. */
    uint32_t declared_count;    /* Workers that the job's start waits for. */
    uint64_t tickets;           /* Given out ... */
    uint8_t secret[HASH_BYTES]; /* ... with proofs under this. */
};

/* secret: random, and nobody's but servers'; see proof.h. */
enum status membership_init(struct membership *membership, uint32_t server_count,
                            uint32_t worker_count, const uint8_t secret[HASH_BYTES]);
void membership_free(struct membership *membership);

/* The place that the message's sender has or claims to have, or NULL when there is none. Places
 * move when membership grows. */
struct member *membership_place(const struct membership *membership, const struct message *message);

/* The same if the sender has it: incarnation, ticket and proof are right. */
struct member *membership_find(const struct membership *membership, const struct message *message);

/* Whether the key is the member's: knowing its incarnation does not make another peer it. */
bool membership_has_key(const struct member *member, const struct packet *packet);

/* Why the message's sender is not to be a member again; DEPARTURE_NONE for all others. */
enum departure membership_departure(const struct membership *membership,
                                    const struct message *message);

/* A sign of life. */
void membership_hear(struct member *member, uint64_t now_us);

/* What to do with a JOIN. */
enum admission {
    ADMISSION_REPEAT,  /* It has the place already. */
    ADMISSION_FREE,    /* Take it in: membership_take. */
    ADMISSION_REPLACE, /* Take it in, in the place of a holder that has fallen silent. */
    ADMISSION_WAIT,    /* Not yet; the text says why. */
    ADMISSION_REFUSE,  /* With *refusal and the text. */
};

/* `exact`: its arithmetic must be that of the others of its role. text[MESSAGE_TEXT_MAX]. */
enum admission membership_judge(struct membership *membership, const struct packet *join,
                                bool exact, uint64_t now_us, enum refusal *refusal, char *text);

/* Give the sender of the JOIN its place, a new ticket and its proof. NULL when there is no memory.
 */
struct member *membership_take(struct membership *membership, const struct packet *join,
                               uint64_t now_us);

/* Take the place away. */
void membership_free_place(struct member *member, enum departure departure);

/* What is counted of updates, by worker and server, is taken back with them: all that has been counted
 * when training comes to the step of a cut is of that cut; when its checkpoint is whole, that is what
 * remains of the counts when all go back to it. Before the first one nothing remains. Seconds stay:
 * they have passed. */
void membership_mark_snapshot(struct membership *membership);
void membership_mark_whole(struct membership *membership);
void membership_go_back(struct membership *membership);
/* It is an older checkpoint, and nobody knows what had been counted up to it: nothing remains. */
void membership_forget_marks(struct membership *membership);

/* Every server is ready and there. */
bool membership_is_served(const struct membership *membership);

/* How many servers are ready. */
uint32_t membership_servers(const struct membership *membership);

/* How many workers there are; and whether none that was declared is missing. */
uint32_t membership_workers(const struct membership *membership);
bool membership_is_complete(const struct membership *membership);

/* Every member has said BYE, or is lost. */
bool membership_has_left(const struct membership *membership);

/* Whether no worker is here, and every one that was has left of its own accord: none that was lost
 * may come back. */
bool membership_is_deserted(const struct membership *membership);

/* A server that is lost, or a worker that is missed: the first, with its role and index; NULL when
 * there is none. */
const struct member *membership_awaited(const struct membership *membership, enum role *role,
                                        uint32_t *index);

/* "ps/1 (loading), worker/1 (never seen)"; `start`: all declared workers must be there, else only
 * those that are missed. */
void membership_list_missing(const struct membership *membership, bool start, char *text,
                             size_t size);

/* Somebody who has been silent for longer than `seconds` and is not known to be lost, or NULL. */
struct member *membership_silent(struct membership *membership, double seconds, uint64_t now_us,
                                 enum role *role, uint32_t *index);

/* See common/base/invariant.h. */
void membership_check(const struct membership *membership);

#endif
