/* chunk.h - one chunk: its values, optimizer slots and version, and how an update is made.
 *
 * Values that somebody may be reading are never written: an update goes in place only while the
 * chunk holds the one reference, else into a fresh buffer, and the readers keep the old one.
 *
 *     sync     current  version t+1 ----.   every update into another buffer;
 *              previous version t    <--'   previous stays until a gradient of t+1 proves that
 *                                           every chunk of the job has committed t
 *     async    current, written in place unless a send is in flight
 *
 * With workers on the same host the two buffers of sync mode are lent ones: workers read values
 * where the update wrote them. They hold no references; but a worker reads version t only until it
 * pushes its gradient of step t, and t + 2 takes the place of t when all gradients of t + 1 are in.
 * (Who is late for step t by then has its gradient refused as stale.) While somebody else holds a
 * lent buffer, a connection or a checkpoint, the next version goes to a private one. A new
 * generation starts with private values: no lent buffer is written before every worker that has
 * leaves has pushed in the new generation, and so reads nothing of the old one; what others make of
 * torn values is of the old generation, and nobody takes it.
 *
 * Threads: one owner; readers of frames elsewhere only drop references.
 * Memory: values twice, slots once (and again where a last cut is being written while the chunk is loaded
 * anew); one more copy of the values while sends are in flight, and one
 * while a score is made of them (scored.h). */

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
    uint32_t examples;  /* In the sum; 0: all were left out ... */
    uint32_t gradients; /* ... but for so many batches. */
    uint64_t staleness; /* The greatest of them. */
    float *sum;         /* [count]; NULL where every gradient makes its own update. Owned. */
};

struct chunk {
    const struct plan *plan;
    uint32_t index;          /* In the partition. */
    uint64_t first, count;   /* Elements of the parameter space. */
    uint64_t version;        /* Updates so far. */
    uint64_t batches;        /* That it has had, by an update or without one. */
    uint64_t epoch_end;      /* The last such count that ended an epoch: of a job that requeues. */
    struct frame *values;    /* [count] of `version`. */
    struct frame *previous;  /* [count] of version - 1, or NULL. Sync only. */
    struct frame *spare;     /* A buffer to write the next version to, or NULL. */
    struct frame *lent[2];   /* Shared with workers on this host: where even and odd
                                        * versions are written while nobody holds them. NULL
                                        * without. */
    float *slots[SLOTS_MAX]; /* [plan->slots.count][count], in ... */
    struct frame *slot_frames[SLOTS_MAX]; /* ... these: nobody else's while it is updated. */
    float *sum; /* [count] a gradient that was moved (group.h); NULL where none is. Owned. */
    struct pending pending; /* The group that is open (group.h). */
};

/* Where values are put so that other processes see them, see transport.h: NULL for a place that is
 * not there. */
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

/* It is as it was at a cut. */
void chunk_stand(struct chunk *chunk, uint64_t batches, uint64_t version);

/* A reference to the values as they are, which stay so while it is held; of lent ones a copy,
 * because workers must not be shown for long what the next version but one is written over. NULL
 * without memory for that. */
struct frame *chunk_keep(const struct chunk *chunk);

/* A reference to an array as it is, of values as of slots: for a cut behind which no update is made. */
struct frame *chunk_last(const struct chunk *chunk, uint32_t array);

/* Array 0 is the values, 1 and on the slots: [count] floats to be filled from a checkpoint. */
float *chunk_array(struct chunk *chunk, uint32_t array);

struct chunk_update {
    const float *gradient; /* [count] sum over `examples` examples. */
    uint32_t examples;
    uint32_t gradients; /* Batches in the sum. */
    uint64_t staleness; /* Versions made since the one that it was computed from. */
    bool keep_previous; /* The values of before stay readable as `previous`. */
    uint64_t lag;       /* Its place in the schedule is so many batches before its own. */
};

/* Make one update, of the last batch and those that are held: version + 1, batches + 1, at the rate of
 * that batch. STATUS_MEMORY changes nothing. */
enum status chunk_apply(struct chunk *chunk, const struct chunk_update *update);

/* How many versions have been made since `base`; none since one that is yet to come, of which no
 * gradient is taken. */
uint64_t chunk_staleness(const struct chunk *chunk, uint64_t base);

/* An update by nothing, for a batch whose gradient was not finite: version + 1, batches + 1, values as
 * before. */
void chunk_skip(struct chunk *chunk);

/* Before the chunk is loaded again: values and slots that nobody else has, to be filled anew. What was given
 * out stays as it was with whoever holds it, and so does lent memory, whose readers hold nothing:
 * they may be computing from it still, for a generation that is over. `previous` is forgotten.
 * STATUS_MEMORY: only that is done. */
enum status chunk_renew(struct chunk *chunk);

/* Values that were held aside, or NULL: their memory may be written again once nobody else has them.
 * Takes over the reference. */
void chunk_recycle(struct chunk *chunk, struct frame *values);

/* The proof has come: forget `previous`. */
void chunk_drop_previous(struct chunk *chunk);

/* See common/base/invariant.h. */
void chunk_check(const struct chunk *chunk);

#endif
