/* follow_mode.h - what a mode decides at the worker: what it computes next, from which versions, and
 * what it says of what it has computed. The session does the rest, the same in every mode.
 *
 *     all parameters are here -> next: compute, wait for WORK, or enough
 *     trainer's gradient -> push: its versions -> exchange -> complete
 *
 * A mode's own state lies in a block of state_bytes that the session makes, zeroed, and frees; a
 * generation ends with `forget`.
 *
 * Every member is required unless it says optional; those of leases are there together;
 * follow_mode_of asserts it.
 *
 * Threads: the session's; `nodes` is pure, and the trainer's too. */

#ifndef WORKER_MODE_FOLLOW_MODE_H
#define WORKER_MODE_FOLLOW_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/steps/timeline.h"
#include "common/wire/envelope.h"
#include "worker/mode/computation.h"

struct follow_mode;

struct follow {
    const struct job *job;
    const struct follow_mode *rules; /* The mode's. */
    void *state;                     /* [rules->state_bytes] the mode's. Owned. */
    uint64_t step;                   /* Version held or asked for; or the latest batch. */
    uint64_t stop_step;              /* The last version that there will be. */
    uint64_t closed_end;      /* START has told of which leaves the steps before are made ... */
    struct timeline timeline; /* ... and, where some are made up, which, ... */
    uint64_t known_end;       /* ... before this one; UINT64_MAX where none are. */
    struct computation computation; /* What is computed, where that is announced. */
    bool refused;                   /* Some chunk found the latest gradient too stale. */
    uint32_t refusals;              /* How often that was so of the batch to be computed. */
};

enum next {
    NEXT_COMPUTE, /* This step or batch. */
    NEXT_ENOUGH,  /* There is no more; the step is the last version. */
    NEXT_PULL,    /* The newest values first; then it is asked again. */
    NEXT_WAIT,    /* Until WORK comes. */
};

struct follow_mode {
    size_t state_bytes;

    /* The block is zero. */
    void (*init)(struct follow *follow);
    /* What was given counts no more: it will come again. */
    void (*forget)(struct follow *follow);

    enum next (*next)(struct follow *follow, uint64_t *step);
    /* What `next` will say to compute when what is under way has come, unless something else comes first;
     * false: that is not known, or it will not be computed from what is under way. Pure. */
    bool (*expects)(const struct follow *follow, uint64_t *step);
    /* The worker's share of a step or batch, by its place among the members: how many nodes, 0 when
     * it stands by. Pure. */
    uint32_t (*nodes)(uint32_t leaves, uint32_t members, uint32_t position,
                      struct node nodes[TREE_COVER_MAX]);
    /* What the trainer has computed goes out: from which version it is and which one is wanted. */
    void (*push)(struct follow *follow, struct message_exchange *what);
    /* All chunks have answered; where they are of one version, of this. */
    void (*complete)(struct follow *follow, uint64_t version, struct envelope *envelope,
                     uint64_t now_us, struct outbox *outbox);
    /* Optional. What was asked for is gone, and some chunk was at `version`: which version to go on
     * from, that every chunk may have yet to come to. Else it begins with the newest. */
    uint64_t (*catch_up)(const struct follow *follow, uint32_t members, uint64_t version);
    /* The step that DONE names. */
    uint64_t (*done_step)(const struct follow *follow);

    /* --- optional: leases */

    /* It begins, or begins anew: asks for work. */
    void (*begin)(struct follow *follow, struct envelope *envelope, uint64_t now_us,
                  struct outbox *outbox);
    void (*work)(struct follow *follow, struct envelope *envelope, const struct message *message,
                 uint64_t now_us, struct outbox *outbox);
    void (*tick)(struct follow *follow, struct envelope *envelope, bool idle, uint64_t now_us,
                 struct outbox *outbox);
    /* What the others have left to be said, once a message has been worked off. */
    void (*speak)(struct follow *follow, struct envelope *envelope, uint64_t now_us,
                  struct outbox *outbox);
    /* Whether work has come for a worker that was done. */
    bool (*has_more)(const struct follow *follow);
    /* Whether it has been told that there is enough. */
    bool (*knows_end)(const struct follow *follow);

    /* The words of `run --explain` when the trainer is given a step or batch. */
    const char *given;

    /* Optional. What is true of the block between two messages; see common/base/invariant.h. */
    void (*check)(const struct follow *follow);
};

enum status follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count);
void follow_free(struct follow *follow);

/* See common/base/invariant.h. */
void follow_check(const struct follow *follow);

/* The table of the job's mode. */
const struct follow_mode *follow_mode_of(const struct job *job);

extern const struct follow_mode follow_sync, follow_async, follow_ssp, follow_backup;

#endif
