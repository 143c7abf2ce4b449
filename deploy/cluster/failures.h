/* failures.h - what is to go wrong in a cluster in virtual time, and when: typed, or drawn from a seed.
 *
 *     --kill worker/3@12s+5s             dead at 12 s, and 5 s later another process is in its place;
 *                                        without +5s it stays away, or --restart says when
 *     --stop ps/1@3s+2s                  stands still for 2 s
 *     --partition worker/0-3|ps/0@5s+2s  nothing gets from one side to the other; without |, from these
 *                                        to all others
 *     --join @8s                         one worker more
 *     --leave worker/2@9s                goes, properly
 *     --restart 5s                       what is killed comes back after so long, unless it says itself
 *     --faults SEED[:RATE]               drawn: RATE (1) a minute, over all processes; what would strike
 *                                        somebody who is gone, or busy, is left out
 *
 * A list has several, after a comma or a semicolon: "worker/3@12s,worker/0-1,ps/0@20s". Times are virtual
 * and count from the job's START. Workers that join are numbered on from the declared ones, as they come,
 * and can be named, too.
 *
 * What simulates asks for the happenings: one for each process, in the order of time.
 *
 * Threads: plain values but for the list. Ownership: the list, freed by failures_free. Units:
 * nanoseconds. */

#ifndef DEPLOY_CLUSTER_FAILURES_H
#define DEPLOY_CLUSTER_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/json_writer.h"
#include "deploy/cluster/places.h"

#define FAILURE_TEXT_MAX    (2 * PLACES_TEXT_MAX + 80)
#define FAILURES_MAX        4096
#define FAILURES_RATE_LEAST 1e-6 /* A minute. */
#define FAILURES_RATE_MOST  6000

enum failure_kind {
    FAILURE_KILL,
    FAILURE_STOP,
    FAILURE_PARTITION,
    FAILURE_JOIN,
    FAILURE_LEAVE,
    FAILURE_KIND_COUNT
};

struct failure {
    enum failure_kind kind;
    struct places places; /* None of a join. */
    struct places others; /* Of a partition: the other side; none: everybody else. */
    uint64_t at_ns;
    uint64_t for_ns; /* 0: for good, as joins and leaves always are. */
};

struct failures {
    struct failure *list; /* [count] as they were written or drawn. */
    size_t count, capacity;
    uint64_t restart_ns; /* 0: what is killed for good stays away. */
    bool drawing;
    uint64_t seed;
    double rate;            /* A minute. */
    uint64_t drawn, due_ns; /* So many have been drawn; when the next is due. */
};

void failures_init(struct failures *failures);
void failures_free(struct failures *failures);

/* What an option of this name says: one of the above. STATUS_INVALID: the outages are as they were, and
 * error is the whole line, "--kill=worker/3: ...". */
enum status failures_option(struct failures *failures, const char *name, const char *text,
                            struct error *error);

/* An outage as failure_write wrote it, "kill worker/3@12s+5s". */
enum status failures_add(struct failures *failures, const char *line, struct error *error);
void failure_write(const struct failure *failure, char text[FAILURE_TEXT_MAX]);

/* The options that say the same as the first `count` of the list, and the rest: a member for each that
 * says something, "kill": "worker/3@12s+5s,ps/0@60s", into an object. STATUS_MEMORY. */
enum status failures_write(const struct failures *failures, size_t count,
                           struct json_writer *writer);

/* Append what --faults draws up to a time, for a job of so many declared servers and workers: each a
 * process that has nothing else then. Drawing up to a later time draws the same, and more; it strikes
 * nobody twice at once, lets half of the workers live, and lets no more join than there were. Nothing
 * without --faults.
 * STATUS_MEMORY; STATUS_INVALID beyond FAILURES_MAX. */
enum status failures_draw(struct failures *failures, uint32_t servers, uint32_t workers,
                          uint64_t until_ns, struct error *error);

/* How many join in all; and with how many none is drawn any more: as many as the job was declared with,
 * for each takes memory, and half of a job may be new. 0 without --faults. */
uint32_t failures_joining(const struct failures *failures);
uint32_t failures_joining_most(const struct failures *failures, uint32_t workers);

/* --- what happens ---------------------------------------------------------------------------- */

enum failure_event_kind {
    FAILURE_EVENT_START,    /* Another process in the place of one that was killed. */
    FAILURE_EVENT_CONTINUE, /* The process that was stopped. */
    FAILURE_EVENT_HEAL,     /* A partition is over. */
    FAILURE_EVENT_KILL,
    FAILURE_EVENT_STOP,
    FAILURE_EVENT_PART,
    FAILURE_EVENT_JOIN, /* place: what it will be. */
    FAILURE_EVENT_LEAVE,
    FAILURE_EVENT_KIND_COUNT
};

struct failure_event {
    uint64_t at_ns;
    enum failure_event_kind kind;
    struct place place; /* Not of PART and HEAL: their outage says who. */
    size_t failure;     /* Index into the list. */
};

/* All that happens to a job of so many declared servers and workers, by time; at one time first what is
 * over, then in the order of the list. What was stopped and then killed does not continue. *happenings
 * is the caller's, to be freed. STATUS_INVALID: one line says which of them cannot be: somebody who is
 * not there, not yet, or not any more. STATUS_MEMORY. */
enum status failures_events(const struct failures *failures, uint32_t servers, uint32_t workers,
                            struct failure_event **events, size_t *count, struct error *error);

/* Whether failures_events would go through, and nothing else. */
enum status failures_check(const struct failures *failures, uint32_t servers, uint32_t workers,
                           struct error *error);

#endif
