/* membership.h - the members of the job: a place for every server and worker, and the process
 * that has it.
 *
 * A place is taken by a process (an incarnation), which gets a ticket, a number that counts
 * admissions and so distinguishes it from its predecessor, and a proof, which no other process
 * has. The life of a place:
 *
 *     free --JOIN--> taken --silence--> servers:  lost, but the place is kept until another process
 *                      |                          JOINs: if the server is heard again, nothing
 *                      |                          was lost
 *                      |                workers:  free (and missed, where they are waited for)
 *                      '--JOIN of another process, the claimant: after 1.2 s of the holder's silence
 *                         the place is the claimant's; when the holder has shown three signs
 *                         of life, in about 1.5 s, the claimant is refused
 *
 * A taken place is bound to the key of its JOIN: a process that speaks in its holder's name, or
 * wants to follow it before it is lost, must have that key.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_WORK_MEMBERSHIP_H
#define PS_WORK_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/store/run_directory.h"
#include "common/wire/message.h"

/* The peer number of server 0's own router. */
#define PEER_LOCAL UINT64_MAX

/* Members are heard every half second. */
#define SUSPECT_US 1200000u /* Silence after which another process may have the place. */
/* Messages in flight when a process died must not pass for its being alive: it takes so many
 * signs of life so far apart since a claimant came, the last of them so much later. */
#define SIGNS_OF_LIFE  3
#define SIGNS_APART_US 300000u
#define ANSWERED_US    600000u

/* Why a former member must not come back. */
enum departure { DEPARTURE_NONE, DEPARTURE_STUCK, DEPARTURE_LEFT };

enum snapshot_mark {
    SNAPSHOT_ANSWERED = 1, /* Taken or not: all its chunks have had the CUT. */
    SNAPSHOT_TAKEN = 2,
    SNAPSHOT_WRITTEN = 4, /* Its part. */
};

/* The process that claims a place; 0: none. */
struct claim {
    uint64_t process, first_us, last_us;
    uint32_t signs;   /* Signs of life since it came. */
    uint64_t sign_us; /* When the last of `signs` came. */
};

/* Who is gone, or goes. */
struct absence {
    uint64_t gone_us;    /* When it was lost, or missed. */
    uint64_t leaving_us; /* Workers: when it first said LEAVE; 0: it has not. */
    bool dismissed;      /* Workers: it was asked to leave. */
    /* The former holder, and why it left. */
    uint64_t departed;
    enum departure departure;
};

/* What a server has kept. */
struct kept {
    unsigned snapshot; /* enum snapshot_mark, bits of what is known of the snapshot under way. */
    struct checkpoint_part part;
    uint64_t scored; /* See message_ready, of this generation. */
    bool scored_lost;
};

/* A worker's share of the work: see assignment.h. */
struct dealt {
    bool done; /* It has finished training, as dealt. */
    bool asks; /* Async: it has asked for work since it got its share. */
    uint32_t position;
    uint32_t first_assignment; /* The first that this ticket got in this generation; 0: none. */
    uint32_t assignment;       /* The last that it is known to follow. */
    enum wait waits;           /* Async: why it got no batch last. */
    uint32_t waits_for;        /* One more than the worker that it waits for; 0: not known. */
};

/* A worker's progress: see stragglers.h. */
struct pace {
    bool owes, computing;
    uint64_t step;         /* As of its last PING. */
    uint64_t moved_us;     /* When it last made progress, or began to owe work. */
    uint64_t slow_line_us; /* Microseconds: when the last line said so. */
};

/* For people. What goes back with updates (membership_go_back) is here also as of the snapshot
 * under way, and of the newest whole checkpoint. */
struct counts {
    struct verdict_counts verdicts; /* Servers: of this generation, as of its last snapshot. */
    struct verdict_counts earlier;  /* Of the begin of the generation. */
    struct verdict_counts verdicts_whole;
    uint64_t reported; /* One more than the step or batch of its latest report; 0: none. */
    struct worker_summary summary, summary_snapshot, summary_whole;
    /* The greatest of each sum that the process reported: those in the summary. */
    struct message_times reported_times;
};

struct member {
    bool present;   /* The place is taken. */
    bool lost;      /* Servers: silent for too long. */
    bool missed;    /* Workers: gone, and the job waits for this place. */
    bool ever;      /* It was taken once. */
    bool ready;     /* Servers: has its chunks, of this generation. */
    bool has_job;   /* Servers: has the declaration. */
    bool bye;       /* Knows that the job has ended. */
    uint32_t leash; /* enum leash, as of its last sign of life. */
    uint64_t incarnation, ticket, proof, peer, heard_us;
    uint8_t key[KEY_BYTES]; /* Of its JOIN; zeros without keys. */
    char host[64];
    char arithmetic[64]; /* Of its kernels: "AVX-512". */
    uint8_t probe_digest[DIGEST_BYTES];

    /* Of one machine each (ps/coordinator): members, members, gathering and snapshot, training,
     * training, reporter. */
    struct claim claim;
    struct absence absence;
    struct kept kept;
    struct dealt dealt;
    struct pace pace;
    struct counts counts;
};

struct membership {
    struct member *servers, *workers; /* [server_count], [worker_count], owned. */
    uint32_t server_count;
    uint32_t worker_count;      /* Grows with the indexes that join. */
    uint32_t declared_count;    /* Workers that the job's start waits for. */
    uint64_t tickets;           /* Tickets given out. */
    uint8_t secret[HASH_BYTES]; /* The key of proofs. */
};

/* secret: random, and known to servers alone; see proof.h. */
enum status membership_init(struct membership *membership, uint32_t server_count,
                            uint32_t worker_count, const uint8_t secret[HASH_BYTES]);
void membership_free(struct membership *membership);

/* The place that the message's sender has or claims, or NULL when there is none. Places move
 * when membership grows. */
struct member *membership_place(const struct membership *membership, const struct message *message);

/* The same if the sender has it: incarnation, ticket and proof are right. */
struct member *membership_find(const struct membership *membership, const struct message *message);

/* Servers first, then workers; NULL from their number on. */
struct member *membership_member(const struct membership *membership, uint32_t i);

/* Whether the process that had the place has left of its own accord. */
bool member_has_left(const struct member *member);

/* Whether the key is the member's: a peer that knows its incarnation is not it. */
bool membership_has_key(const struct member *member, const struct packet *packet);

/* Why the message's sender must not be a member again; DEPARTURE_NONE for all others. */
enum departure membership_departure(const struct membership *membership,
                                    const struct message *message);

/* A sign of life. */
void membership_hear(struct member *member, uint64_t now_us);

/* What to do with a JOIN. */
enum admission {
    ADMISSION_REPEAT,  /* It has the place already. */
    ADMISSION_FREE,    /* Admit it: membership_take. */
    ADMISSION_REPLACE, /* Admit it, in the place of a silent holder. */
    ADMISSION_WAIT,    /* Not yet; the text says why. */
    ADMISSION_REFUSE,  /* With *refusal and the text. */
};

/* `exact`: the job in which it must give the bits of the others of its role; NULL: it need not.
 * text[MESSAGE_TEXT_MAX]. */
enum admission membership_judge(struct membership *membership, const struct packet *join,
                                const struct job *exact, uint64_t now_us, enum refusal *refusal,
                                char *text);

/* Give the sender of the JOIN its place, a new ticket and its proof. NULL without memory. */
struct member *membership_take(struct membership *membership, const struct packet *join,
                               uint64_t now_us);

/* Take the place away. */
void membership_free_place(struct member *member, enum departure departure);

/* Counts of updates, by worker and server, are taken back with the updates. When training comes
 * to the step of a snapshot the counts so far are the snapshot's. When its checkpoint is whole,
 * going back to it restores them. Before the first one they are 0, and of an older checkpoint
 * (not `known`) as well. Seconds stay: they have passed. */
void membership_mark_snapshot(struct membership *membership);
void membership_mark_whole(struct membership *membership);
void membership_go_back(struct membership *membership, bool known);

/* All go back: no server is ready, and no worker has a share. */
void membership_begin_generation(struct membership *membership);

/* Every server is present and ready. */
bool membership_is_served(const struct membership *membership);

/* How many servers are ready. */
uint32_t membership_servers(const struct membership *membership);

/* The number of workers; and whether no declared one is missing. */
uint32_t membership_workers(const struct membership *membership);
bool membership_is_complete(const struct membership *membership);

/* Every member has said BYE, or is lost. */
bool membership_has_left(const struct membership *membership);

/* Whether no worker is here, and every one has left of its own accord: no lost one may come
 * back. */
bool membership_is_deserted(const struct membership *membership);

/* The first lost server or missed worker, with its role and index; NULL when there is none. */
const struct member *membership_awaited(const struct membership *membership, enum role *role,
                                        uint32_t *index);

/* "ps/1 (loading), worker/1 (never seen)"; `start`: all declared workers must be there, else
 * only missed ones. */
void membership_list_missing(const struct membership *membership, bool start, char *text,
                             size_t size);

/* A member that has been silent for longer than `seconds` and is not known to be lost, or NULL. */
struct member *membership_silent(const struct membership *membership, double seconds,
                                 uint64_t now_us, enum role *role, uint32_t *index);

/* See common/base/invariant.h. */
void membership_check(const struct membership *membership);

#endif
