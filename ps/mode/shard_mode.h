/* shard_mode.h - what a mode decides about one chunk: when a gradient is applied, and when an
 * answer is released. The chunk's owner does the rest, the same in every mode:
 *
 *     EXCHANGE -> judge -> finite? -> take -> [ next_update -> chunk_apply -> applied ]...
 *                                                      -> answer: now, later, never
 *              '-> a retry, without its gradient: sent_before
 *
 * Each mode has state of its own: a block of state_bytes, which the owner makes, zeroed, and frees.
 *
 * A table begins with SHARD_DEFAULTS, or with the members of the mode that it inherits from
 * (SYNC_SHARD in sync.h, ASYNC_SHARD in async.h), and names what differs.
 *
 * Threads: the owner's; `fault` is pure, and called by the router. */

#ifndef PS_MODE_SHARD_MODE_H
#define PS_MODE_SHARD_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/steps/leaf_set.h"
#include "common/wire/message.h"
#include "ps/shard/chunk.h"
#include "ps/work/policy.h"

/* A table names a member again where it differs from what it inherits. */
#pragma GCC diagnostic ignored "-Woverride-init"

struct shard_mode;

struct shard {
    struct chunk chunk;
    const struct shard_mode *rules; /* The mode's table. */
    const struct policy *policy;    /* NULL: the mode decides. Borrowed. */
    void *state;                    /* [rules->state_bytes] the mode's block. Owned. */
};

/* What became of a gradient that a worker has sent before, and does not send again. */
enum push_status {
    PUSH_UNKNOWN, /* There can have been none: no answer. */
    PUSH_MISSING, /* It has not come: send it. */
    PUSH_HELD,    /* It is here, and waits for others. */
    PUSH_HAD,     /* It is in the values. */
    PUSH_STALE,   /* Its step is made: with it or without it, which nothing remembers. */
};

/* One update to make now. */
struct update {
    struct frame *gradient;     /* NULL: the batch is left out. */
    struct chunk_gradient what; /* sum: the owner's, in `gradient`. */
    bool lost;                  /* There was no memory for it: training cannot go on. */
    /* Of rules->judges_late: gradients taken that are in the update, and not. */
    uint32_t used, left;
};

/* Values that a worker asks for, or, where workers make updates, what they need for one. */
struct read_request {
    bool newest;
    uint64_t version; /* Exactly this one, if not the newest. */
    bool sum;         /* The sum of the step that made it. */
    bool slots;       /* The values, and the slots with them. */
};

enum release {
    RELEASE_NOW,   /* read_result has them. */
    RELEASE_LATER, /* Ask again after each update. */
    RELEASE_NEVER, /* They are gone; the worker learns which version there is. */
};

struct read_result {
    struct frame *values; /* The chunk's; without a reference. */
    uint64_t version;
    bool sum;   /* They are the sum of the step that made the version. */
    bool slots; /* The chunk's slots belong to the answer. */
};

struct shard_mode {
    size_t state_bytes;
    /* Versions whose values workers of the host read where they are written: 2 where values are
     * lent (chunk.h). Default: none. */
    unsigned published;

    /* The chunk has its first values, of chunk.version. Default: nothing. */
    void (*open)(struct shard *shard);
    /* A generation ends: drop waiting gradients. Default: there are none. */
    void (*forget)(struct shard *shard);
    /* Frees what the block refers to. Default: nothing. */
    void (*free)(struct shard *shard);

    /* The fault of a gradient, present or announced, beyond its size and its step being one of
     * the job; NULL when it fits. Pure. */
    const char *(*fault)(const struct job *job, const struct message_exchange *exchange);
    /* VERDICT_NONE: take it. Else the reason against it. */
    enum verdict (*judge)(struct shard *shard, const struct message *message);
    /* Whether a gradient so many versions old is too stale to be applied. Then its batch is computed
     * again, or counts without it (--max-staleness=N:lost). Default: by --max-staleness. Pure. */
    bool (*too_stale)(const struct job *job, uint64_t staleness);
    /* The gradient that judge has just let through: a reference, or NULL for a batch that is left out.
     * STATUS_MEMORY: it is lost, and training cannot go on. */
    enum status (*take)(struct shard *shard, const struct message *message, struct frame *gradient,
                        enum verdict *verdict);
    enum push_status (*sent_before)(const struct shard *shard,
                                    const struct message_exchange *exchange);

    /* The next update, if one can be made; called until there is none. */
    bool (*next_update)(struct shard *shard, struct update *update);
    /* It was made, and chunk.version counts it. Takes the update's reference back. */
    void (*applied)(struct shard *shard, const struct update *update);

    /* These three where not all leaves of a step may count; default: all do. judges_late:
     * verdicts of taken gradients are counted when the update is made. close_step: these leaves
     * of the step make it; a repeat changes nothing. left_out: whether the last update was made
     * without this worker's gradients for it. */
    bool judges_late;
    void (*close_step)(struct shard *shard, const struct message_close *close,
                       const struct leaf_set *set);
    bool (*left_out)(const struct shard *shard, uint32_t worker);

    enum release (*answer)(const struct shard *shard, const struct read_request *wanted,
                           struct read_result *read);
    /* Whether the sender of the EXCHANGE may have these values now. Else it gets no answer, and
     * asks again if it needs one. Default: yes. */
    bool (*gives)(struct shard *shard, const struct message *message,
                  const struct read_result *read);

    /* Whether the sender's replica differs from the chunk. Default: there is none. */
    bool (*doubts)(struct shard *shard, const struct message_exchange *exchange);

    /* Texts of `run --explain` (deploy/explain/words.h): for a gradient that is taken, for an
     * update, and, where answers wait, for what they wait for. */
    const char *taken, *updated, *waits;

    /* The block's invariants between two messages; see common/base/invariant.h. */
    void (*check)(const struct shard *shard);
};

#define SHARD_DEFAULTS                                                                             \
    .open = shard_as_it_is, .forget = shard_as_it_is, .free = shard_as_it_is,                      \
    .too_stale = shard_too_stale, .close_step = shard_waits_for_all,                               \
    .left_out = shard_leaves_none_out, .gives = shard_gives, .doubts = shard_doubts_none

void shard_as_it_is(struct shard *shard);
bool shard_too_stale(const struct job *job, uint64_t staleness);
void shard_waits_for_all(struct shard *shard, const struct message_close *close,
                         const struct leaf_set *set);
bool shard_leaves_none_out(const struct shard *shard, uint32_t worker);
bool shard_gives(struct shard *shard, const struct message *message,
                 const struct read_result *read);
bool shard_doubts_none(struct shard *shard, const struct message_exchange *exchange);

/* Makes the block and the chunk of a zeroed shard; see chunk_init. */
enum status shard_init(struct shard *shard, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory);
void shard_free(struct shard *shard);

/* The chunk and the block; see common/base/invariant.h. */
void shard_check(const struct shard *shard);

/* The table of the job's mode. */
const struct shard_mode *shard_mode_of(const struct job *job);

#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    extern const struct shard_mode shard_##shard;
#include "common/job/mode_rows.inc"
#undef MODE

#endif
