/* shard_mode.h - what a mode decides about one chunk: when a gradient is applied, and when an answer
 * is released. The owner of the chunk does the rest, the same in every mode:
 *
 *     EXCHANGE -> judge -> finite? -> take -> [ next_update -> chunk_apply -> applied ]...
 *                                                      -> answer: now, later, never
 *              '-> a retry, without its gradient: sent_before
 *
 * A mode's own state lies in a block of state_bytes that the owner makes, zeroed, and frees; a mode
 * that has none leaves it 0.
 *
 * Every member is required unless it says optional; shard_mode_of asserts it.
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

struct shard_mode;

struct shard {
    struct chunk chunk;
    const struct shard_mode *rules; /* The mode's. */
    void *state;                    /* [rules->state_bytes] the mode's. Owned. */
};

/* What has become of a gradient that a worker has sent before, and does not send again. */
enum push_status {
    PUSH_UNKNOWN, /* There can have been none: nothing is said. */
    PUSH_MISSING, /* It has not come: send it. */
    PUSH_HELD,    /* It is here, and waits for others. */
    PUSH_HAD,     /* It is in the values. */
    PUSH_STALE,   /* Too late; what it was for has been made. */
};

/* One update to be made now. */
struct update {
    struct frame *gradient; /* The sum over `examples` examples; NULL: the batch is left out. */
    uint32_t examples;
    uint64_t staleness;       /* Versions made since the one that it was computed from ... */
    const struct frame *base; /* ... and that, where it is needed. */
    bool keep_previous;       /* The values of before stay readable. */
    bool lost;                /* There was no memory for it: training cannot go on. */
    uint32_t used, left;      /* Gradients taken that are in it, and not; of rules->judges_late. */
    uint64_t lag;             /* Its place in the schedule is so many batches before its own ... */
    bool ends;                /* ... and it ends an epoch, where the job does not say which do. */
};

/* Values that a worker asks for; or, where workers make updates themselves, what they make them of. */
struct read_request {
    bool newest;
    uint64_t version; /* Exactly this one, if not the newest. */
    bool sum;         /* The sum of the step that made it. */
    bool slots;       /* The values, and the slots with them. */
};

enum release {
    RELEASE_NOW,   /* `reply` has them. */
    RELEASE_LATER, /* Asked again after each update. */
    RELEASE_NEVER, /* They are gone; the worker is told which version there is. */
};

struct read_result {
    struct frame *values; /* The chunk's; no reference is given. */
    uint64_t version;
    bool sum;   /* They are no values, but the sum of the step that made the version. */
    bool slots; /* The slots, as they are, belong to it. */
};

struct shard_mode {
    size_t state_bytes;

    /* The chunk has its first values, of chunk.version. */
    void (*open)(struct shard *shard);
    /* Optional. A generation is over: gradients that wait are let go. */
    void (*forget)(struct shard *shard);
    /* Optional. Frees what the block refers to. */
    void (*close)(struct shard *shard);

    /* What is wrong with a gradient, here or said to have been sent, beside its size and its step
     * being one of the job; NULL when it fits. Pure. */
    const char *(*fault)(const struct job *job, const struct message_exchange *exchange);
    /* VERDICT_NONE: it is to be taken. Else why not. */
    enum verdict (*judge)(const struct shard *shard, const struct message_exchange *exchange);
    /* One that was judged so: a reference to the gradient, or NULL for a batch that is left out.
     * STATUS_MEMORY: it is lost, and training cannot go on. */
    enum status (*take)(struct shard *shard, const struct message *message, struct frame *gradient,
                        enum verdict *verdict);
    enum push_status (*sent_before)(const struct shard *shard,
                                    const struct message_exchange *exchange);

    /* The next update to be made, if one can be; asked again until there is none. */
    bool (*next_update)(struct shard *shard, struct update *update);
    /* It was made: chunk.version counts it. Takes the update's reference back. */
    void (*applied)(struct shard *shard, const struct update *update);

    /* Optional, these three together: of a step not all leaves may count. `judges_late`: verdicts on what
     * was taken are counted when the update is made. Those leaves of `step` make it; said again, it
     * changes nothing. Whether the last update was made without what this worker had sent for it. */
    bool judges_late;
    void (*close_step)(struct shard *shard, const struct message_close *close,
                       const struct leaf_set *set);
    bool (*left_out)(const struct shard *shard, uint32_t worker);

    enum release (*answer)(const struct shard *shard, const struct read_request *wanted,
                           struct read_result *read);
    /* Optional. Whether these may be given to whoever sent the EXCHANGE, now. Else nothing is, and it
     * asks again if it needs to. */
    bool (*gives)(struct shard *shard, const struct message *message,
                  const struct read_result *read);

    /* Optional. Whether the replica that the sender computes from is another than the chunk. */
    bool (*doubts)(struct shard *shard, const struct message_exchange *exchange);

    /* The words of `run --explain` (deploy/explain/words.h) for a gradient that is taken, for an update,
     * and, where answers wait, for what they wait for. */
    const char *taken, *updated, *waits;

    /* Optional. What is true of the block between two messages; see common/base/invariant.h. */
    void (*check)(const struct shard *shard);
};

/* Makes the block and the chunk; see chunk_init. */
enum status shard_init(struct shard *shard, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory);
void shard_free(struct shard *shard);

/* The chunk and the block; see common/base/invariant.h. */
void shard_check(const struct shard *shard);

/* The table of the job's mode. */
const struct shard_mode *shard_mode_of(const struct job *job);

extern const struct shard_mode shard_sync, shard_async, shard_allreduce, shard_backup;

#endif
