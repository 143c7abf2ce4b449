/* failures.h - scheduled failures of a cluster in virtual time, given as options.
 *
 *     --kill worker/3@12s+5s             dead at 12 s, replaced 5 s later; without +5s never, or
 *     when
 *                                        --restart says
 *     --stop ps/1@3s+2s                  suspended for 2 s
 *     --partition worker/0-3|ps/0@5s+2s  no message passes between the two sides; without |,
 *     between
 *                                        these and all others
 *     --join @8s                         one more worker
 *     --leave worker/2@9s                leaves in order
 *     --restart 5s                       a killed process is replaced after this, unless it says
 *     itself
 *
 * A list has several, after a comma or a semicolon: "worker/3@12s,worker/0-1,ps/0@20s". Times are
 * virtual and count from the job's START. Joining workers are numbered after the declared ones, in
 * the order of joining, and can be named, too.
 *
 * The simulator asks for events: one for each process, ordered by time.
 *
 * Threads: plain values but for the list. Ownership: the list, freed by failures_free. Units:
 *          nanoseconds. */

#ifndef DEPLOY_CLUSTER_FAILURES_H
#define DEPLOY_CLUSTER_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/json_writer.h"
#include "deploy/cluster/places.h"

#define FAILURE_TEXT_MAX (2 * PLACES_TEXT_MAX + 80)
#define FAILURES_MAX     4096

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
    struct places places; /* Empty for a join. */
    struct places others; /* The other side of a partition; empty: all others. */
    uint64_t at_ns;
    uint64_t for_ns; /* 0: permanent, as joins and leaves always are. */
};

struct failures {
    struct failure *list; /* [count] in the order in which they were given. */
    size_t count, capacity;
    uint64_t restart_ns; /* 0: permanent kills stay permanent. */
};

void failures_init(struct failures *failures);
void failures_free(struct failures *failures);

/* Apply an option of one of these names. STATUS_INVALID: the list is unchanged, and error is the
 * whole line, "--kill=worker/3: ...". */
enum status failures_option(struct failures *failures, const char *name, const char *text,
                            struct error *error);

/* "kill worker/3@12s+5s" */
void failure_write(const struct failure *failure, char text[FAILURE_TEXT_MAX]);

/* Write the options that give them as members of an object: "kill": "worker/3@12s+5s,ps/0@60s".
 * Empty ones are left out. STATUS_MEMORY. */
enum status failures_write(const struct failures *failures, struct json_writer *writer);

/* The number of joins. */
uint32_t failures_joining(const struct failures *failures);

/* --- events ----------------------------------------------------------------------------------- */

enum failure_event_kind {
    FAILURE_EVENT_START,    /* A new process in the place of a killed one. */
    FAILURE_EVENT_CONTINUE, /* A stopped process resumes. */
    FAILURE_EVENT_HEAL,     /* The end of a partition. */
    FAILURE_EVENT_KILL,
    FAILURE_EVENT_STOP,
    FAILURE_EVENT_PART,
    FAILURE_EVENT_JOIN, /* place: of the new worker. */
    FAILURE_EVENT_LEAVE,
    FAILURE_EVENT_KIND_COUNT
};

struct failure_event {
    uint64_t at_ns;
    enum failure_event_kind kind;
    struct place place; /* Unused for PART and HEAL: their failure has the places. */
    size_t failure;     /* Index into the list. */
};

/* All events of a job of so many declared servers and workers, by time; at equal times ends are
 * first, then the order of the list. A process that was killed while stopped does not continue. The
 * caller frees *events. STATUS_INVALID: one line names the impossible one, of a process that is
 * absent, not yet there, or gone. STATUS_MEMORY. */
enum status failures_events(const struct failures *failures, uint32_t servers, uint32_t workers,
                            struct failure_event **events, size_t *count, struct error *error);

/* Whether failures_events would succeed. */
enum status failures_check(const struct failures *failures, uint32_t servers, uint32_t workers,
                           struct error *error);

#endif
