/* follow_mode.h - what a mode decides at the worker: what it computes next, from which versions,
 * and what it reports. The session does the rest, the same in every mode.
 *
 *     all parameters are here -> next: compute, wait for WORK, or enough
 *     trainer's gradient -> push: its versions -> exchange -> complete
 *
 * A mode's own state is a block of state_bytes, which the session makes, zeroed, and frees. A
 * generation ends with `forget`.
 *
 * A table begins with FOLLOW_DEFAULTS, or with the members of the mode that it inherits from
 * (ASYNC_FOLLOW in async.h), and names what differs.
 *
 * Threads: the session's; `nodes` is pure, and the trainer's too. */

#ifndef WORKER_MODE_FOLLOW_MODE_H
#define WORKER_MODE_FOLLOW_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/wire/envelope.h"
#include "worker/mode/computation.h"

/* A table names a member again where it differs from what it inherits. */
#pragma GCC diagnostic ignored "-Woverride-init"

struct follow_mode;

struct follow {
    const struct job *job;
    const struct follow_mode *rules; /* The mode's table. */
    void *state;                     /* [rules->state_bytes] the mode's block. Owned. */
    uint64_t step;                   /* Version held or asked for; or the latest batch. */
    uint64_t stop_step;              /* The last version of the job. */
    uint64_t closed_end;             /* START has the leaf sets of the steps before this one. */
    struct computation computation;  /* The latest one, where the run is recorded. */
    bool refused;                    /* Some chunk refused the latest gradient as too stale. */
    uint32_t refusals;               /* How often the batch under way was refused. */
};

enum next {
    NEXT_COMPUTE, /* This step or batch. */
    NEXT_ENOUGH,  /* There is no more; the step is the last version. */
    NEXT_PULL,    /* The newest values first; then `next` is called again. */
    NEXT_WAIT,    /* Until WORK comes. */
};

struct follow_mode {
    size_t state_bytes;

    /* It begins, with a block of zeros; or all work that was given is void, and will come again.
     * Default: there is none. */
    void (*forget)(struct follow *follow);

    enum next (*next)(struct follow *follow, uint64_t *step);
    /* What `next` will have computed when the exchange under way is complete, unless a message
     * changes that. False: it is not known, or needs other values. Pure. */
    bool (*expects)(const struct follow *follow, uint64_t *step);
    /* The worker's nodes of a step or batch, by its place among the members: how many; 0 when it
     * stands by. Pure. */
    uint32_t (*nodes)(uint32_t leaves, uint32_t members, uint32_t position,
                      struct node nodes[TREE_COVER_MAX]);
    /* The trainer's gradient goes out: its base version, and the version to ask for. */
    void (*push)(struct follow *follow, struct message_exchange *what);
    /* All chunks have answered; where they are of one version, of this. */
    void (*complete)(struct follow *follow, uint64_t version, struct envelope *envelope);
    /* The requested version is gone, and some chunk was at *version: the version to go on from,
     * which every chunk may have yet to reach. Default: false, the worker pulls the newest. */
    bool (*catch_up)(const struct follow *follow, uint32_t members, uint64_t *version);

    /* --- leases; default: there are none */

    /* Begin, or begin anew: ask for work. */
    void (*begin)(struct follow *follow, struct envelope *envelope);
    /* WORK has come. */
    void (*work)(struct follow *follow, struct envelope *envelope, const struct message *message,
                 uint64_t now_us);
    /* Send what the other members have noted, once a message is handled, and at every tick. idle: a
     * tick finds nothing to do. */
    void (*speak)(struct follow *follow, struct envelope *envelope, bool idle, uint64_t now_us,
                  struct outbox *outbox);
    /* Whether there is work for a worker that was done. */
    bool (*has_more)(const struct follow *follow);
    /* Whether it has heard that there is enough. */
    bool (*knows_end)(const struct follow *follow);

    /* The words of `run --explain` when the trainer is given a step or batch. */
    const char *given;

    /* The block's invariants between two messages; see common/base/invariant.h. Default: none. */
    void (*check)(const struct follow *follow);
};

#define FOLLOW_DEFAULTS                                                                            \
    .forget = follow_no_work, .catch_up = follow_nowhere, .begin = follow_asks_nothing,            \
    .work = follow_takes_nothing, .speak = follow_silently, .has_more = follow_never,              \
    .knows_end = follow_never, .check = follow_no_check

void follow_no_work(struct follow *follow);
bool follow_nowhere(const struct follow *follow, uint32_t members, uint64_t *version);
void follow_asks_nothing(struct follow *follow, struct envelope *envelope);
void follow_takes_nothing(struct follow *follow, struct envelope *envelope,
                          const struct message *message, uint64_t now_us);
void follow_silently(struct follow *follow, struct envelope *envelope, bool idle, uint64_t now_us,
                     struct outbox *outbox);
bool follow_never(const struct follow *follow);
void follow_no_check(const struct follow *follow);

/* A zeroed one. */
enum status follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count);
void follow_free(struct follow *follow);

/* See common/base/invariant.h. */
void follow_check(const struct follow *follow);

/* The table of the job's mode. */
const struct follow_mode *follow_mode_of(const struct job *job);

#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    extern const struct follow_mode follow_##follow;
#include "common/job/mode_rows.inc"
#undef MODE

#endif
