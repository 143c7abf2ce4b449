/* chunk.h - one chunk: its values, optimizer slots and version, and how an update is made.
 *
 * An update never writes values that may have a reader. It goes in place while the chunk holds
 * the only reference, else into a fresh buffer; readers keep the old one.
 *
 *     sync     current  version t+1 ----.   every update into another buffer;
 *              previous version t    <--'   previous stays until a gradient of t+1 proves that
 *                                           every chunk of the job has committed t
 *     async    current, written in place unless a send is in flight
 *
 * With workers on the same host sync mode lends its two buffers: workers read values where the
 * update wrote them. They hold no references. But a worker reads version t only until it pushes
 * its gradient of step t, and t + 2 overwrites t only when all gradients of t + 1 are in. A
 * worker that is late for step t then has its gradient refused as stale.
 *
 * While a connection or a checkpoint holds a lent buffer, the next version goes to a private
 * one. A new generation starts with private values. It writes no lent buffer before every worker
 * with leaves has pushed in it, and so has stopped reading the old ones. Gradients of torn
 * values are of the old generation, and are dropped.
 *
 * Threads: one owner; readers of frames elsewhere only drop references.
 * Memory: values twice and slots once; slots again where the last snapshot is being written
 * while the chunk is reloaded. One more copy of the values while sends are in flight, and one
 * for a score (scores.h). */

#ifndef PS_SHARD_CHUNK_H
#define PS_SHARD_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "ps/shard/plan.h"

/* Gradients that wait to make one update together. */
struct pending {
    uint32_t members;   /* Batches; 0: none is open. */
    uint32_t examples;  /* In the sum; 0: all batches were left out. */
    uint32_t gradients; /* In the sum. */
    uint64_t staleness; /* The greatest of the members'. */
    float *sum;         /* [count]; NULL where every gradient makes its own update. Owned. */
    /* Of the next batch: it closes the group, full or not; and the factor of its rate, 0: none. */
    bool closes;
    float rate;
};

struct chunk {
    const struct plan *plan;
    uint32_t index;         /* In the partition. */
    uint64_t first, count;  /* Elements of the parameter space. */
    uint64_t version;       /* Updates so far. */
    uint64_t batches;       /* Batches had, with an update or without. */
    struct frame *values;   /* [count] of `version`. */
    struct frame *previous; /* [count] of version - 1, or NULL. Sync only. */
    struct frame *spare;    /* A buffer to write the next version to, or NULL. */
    struct frame *lent
        [2]; /* Memory shared with workers of this host, for even and odd versions; NULL without. */
    float *slots[SLOTS_MAX];              /* [plan->slots.count][count], in slot_frames. */
    struct frame *slot_frames[SLOTS_MAX]; /* Not shared while an update writes them. */
    float *sum; /* [count] a compensated gradient (group.h); NULL without compensation. Owned. */
    struct pending pending; /* The open group (group.h). */
};

/* Memory for values that other processes see (transport.h); lend gives NULL where it has no such
 * place. */
struct chunk_memory {
    struct frame *(*lend)(void *context, uint64_t place, uint64_t bytes);
    void *context;
};

/* Buffers without contents. memory may be NULL. */
enum status chunk_init(struct chunk *chunk, const struct plan *plan, uint32_t index,
                       const struct chunk_memory *memory);
void chunk_free(struct chunk *chunk);

/* Version 0: values from the variables' initializers, slots at their first values. */
void chunk_initialize(struct chunk *chunk);

/* The counts of a snapshot. */
void chunk_stand(struct chunk *chunk, uint64_t batches, uint64_t version);

/* A reference to the values, which stay unchanged while it is held. Lent ones are copied,
 * because the version after the next overwrites them. NULL without memory for the copy. */
struct frame *chunk_keep(const struct chunk *chunk);

/* A reference to an array of values or slots, for a snapshot. Slots: after the last update alone, for the next one
 * writes them in place; values are never written while they are referred to (chunk_apply). */
struct frame *chunk_last(const struct chunk *chunk, uint32_t array);

/* Array 0 is the values, from 1 on the slots: [count] floats, to be filled from a checkpoint. */
float *chunk_array(struct chunk *chunk, uint32_t array);

struct chunk_gradient {
    const float *sum; /* [count] over `examples` examples; NULL: the batch is left out. */
    uint32_t examples;
    uint32_t gradients; /* Batches in the sum, as group.h makes it. */
    uint64_t staleness; /* Versions made since its base. */
    const float *base;  /* [count] the values of its base; NULL where nothing is compensated. */
    bool keep_previous; /* The old values stay readable as `previous`. */
};

/* Make one update of the last batch and the pending ones: version + 1, batches + 1, at the rate
 * of the last batch. There is a sum; its base is of no use. STATUS_MEMORY changes nothing. */
enum status chunk_apply(struct chunk *chunk, const struct chunk_gradient *gradient);

/* Versions made since `base`; 0 for a base that is still to come, of which no gradient is taken. */
uint64_t chunk_staleness(const struct chunk *chunk, uint64_t base);

/* Count a batch whose gradient was not finite: version + 1, batches + 1, the same values. */
void chunk_skip(struct chunk *chunk);

/* Before the chunk is loaded again: private values and slots, to be filled anew. Readers keep
 * the old frames, and lent memory stays as it is, because workers of the old generation may
 * still compute from it. `previous` is forgotten. STATUS_MEMORY: only that is done. */
enum status chunk_renew(struct chunk *chunk);

/* Kept values or NULL: their memory serves again once it has no other reader. Takes over the
 * reference. */
void chunk_recycle(struct chunk *chunk, struct frame *values);

/* All chunks have committed the version before: forget `previous`. */
void chunk_drop_previous(struct chunk *chunk);

/* See common/base/invariant.h. */
void chunk_check(const struct chunk *chunk);

#endif
