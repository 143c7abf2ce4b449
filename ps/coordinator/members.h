/* members.h - which process has which place: JOIN, LEAVE, DISMISS, signs of life, silence.
 *
 *     no place --[members_judge] ADMISSION_FREE or _REPLACE, then [members_take]--> member
 *         ^         '-- _WAIT or _REFUSE: it has its answer                          |
 *         |                                                                          |
 *         |-- [members_leave] EFFECT_LEFT                                            |
 *         |-- [members_find_silent] EFFECT_WORKER_LOST, a worker's place is free ----|
 *         |-- [members_watch_worker] the same of one that is stuck ------------------'
 *         '-- a server that is lost (EFFECT_SERVER_LOST) keeps its place: [members_hear] has it
 *             back, [members_watch_awaited] ends the job if it is not back in time
 *
 * What becomes of the work of a lost worker is dispatch's to decide. The places themselves are in
 * ps/work/membership.h: `present` can be trusted in every state, `ready` and `done` of the
 * current generation alone.
 *
 * Leashes: the launcher's end, and the end of its connection to some of the processes.
 * Both end a process's standard input. When the launcher dies, all of them end; so the launcher
 * is there as long as any process holds its leash. A process counts as holding it only if it was
 * heard lately, and gets the time to notice the end.
 *
 *     all are held --[look_at_leashes] one is lost--> lost since `unleashed_us`
 *       ^                                     |-- none is held: EFFECT_ABANDONED [abandon]
 *       '------------- [send_all_away] -------'-- others hold theirs: those that lost theirs end
 *                                                 alone, server 0 by EFFECT_OVER
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_MEMBERS_H
#define PS_COORDINATOR_MEMBERS_H

#include "ps/coordinator/run.h"

struct members {
    uint64_t refused;      /* JOINs. */
    bool has_survivors;    /* A worker of an earlier server 0 of this run asks or is here. */
    uint64_t lonely_us;    /* Since when no worker is here; 0: there is one. */
    uint64_t unleashed_us; /* Since when a leash is lost; 0: none. */
    uint64_t waited_us;    /* When a line said last what is waited for, or nothing was. */
};

/* The member that the message is from, or NULL. A message about the process alone may come
 * before it has heard of its admission. */
struct member *members_find(const struct run *run, const struct packet *packet);

/* --- joining ------------------------------------------------------------------------------- */

/* Whether the sender of a JOIN is of another version or of another job; it has its answer then. */
bool members_refuse_join(struct members *m, const struct run *run, const struct packet *packet);
/* Whether the sender of a JOIN was a member, and must not be one again; it has its answer then. */
bool members_refuse_departed(const struct run *run, const struct packet *packet);
/* What to do with a JOIN. It has its answer if it has to wait or is refused. `text`
 * [MESSAGE_TEXT_MAX]: of ADMISSION_REPLACE, why its holder is lost. */
enum admission members_judge(struct members *m, struct run *run, const struct packet *packet,
                             char *text);
/* False without memory. */
bool members_take(struct members *m, struct run *run, const struct packet *packet);

/* --- life ---------------------------------------------------------------------------------- */

/* A sign of life. */
void members_hear(const struct run *run, struct member *member, const struct packet *packet);
/* Whether it is from a server that waits to be welcomed, and knows no run; one that knows another
 * run has no say in this. */
bool members_server_waits(const struct run *run, const struct packet *packet);
/* A message of a member from a process that is none (any more). Whether it is of a process that
 * has lost its place. */
bool members_answer_outsider(const struct run *run, const struct packet *packet);
/* A worker is asked to leave. `reason`: of a job that ends. */
void members_dismiss(const struct run *run, const struct packet *packet, const char *reason);
/* As asked: no loss, and no policy. */
struct effect members_leave(const struct run *run, const struct packet *packet);

/* --- losses -------------------------------------------------------------------------------- */

/* The next member that has been silent for too long. */
struct effect members_find_silent(const struct run *run);
/* Whether a worker that `owes` work is stuck. */
struct effect members_watch_worker(const struct run *run, uint32_t index, bool owes);
/* End the job if an awaited member is not back in time. */
struct effect members_watch_awaited(struct members *m, const struct run *run);
/* EFFECT_WORKER_LOST or EFFECT_SERVER_LOST: its place is free, or a server's is kept. */
void members_lose(const struct run *run, const struct effect *lost);

/* --- who is waited for --------------------------------------------------------------------- */

/* What the job waits for, for people: "" when it does not wait. text[MESSAGE_TEXT_MAX]. */
void members_describe_waiting(const struct members *m, const struct run *run, char *text);
/* The members that are here wait, too, and hear it. */
void members_say_waiting(struct members *m, const struct run *run);

/* --- leashes ------------------------------------------------------------------------------- */

struct effect members_watch_leashes(struct members *m, struct run *run);

#endif
