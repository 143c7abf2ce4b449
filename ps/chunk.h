/* chunk.h - one chunk: its values, optimizer slots and version, and how an update is made.
 *
 * Values that somebody may be reading are never written: an update goes in place only while the
 * chunk holds the one reference, else into a fresh buffer, and the readers keep the old one.
 *
 *     sync     current  version t+1 ----.   every update into another buffer;
 *              previous version t    <--'   previous stays until a gradient of t+1 proves that
 * every chunk of the job has committed t async    current, written in place unless a send is in
 * flight
 *
 * Threads: one owner; readers of frames elsewhere only drop references.
 * Memory: values twice, slots once; one more copy of the values while sends are in flight. */

#ifndef PS_CHUNK_H
#define PS_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/status.h"
#include "ps/plan.h"

struct chunk {
    const struct plan *plan;
    uint32_t index;                    /* In the partition. */
    uint64_t first, count;             /* Elements of the parameter space. */
    uint64_t version;                  /* Updates so far. */
    struct frame *values;              /* [count] of `version`. */
    struct frame *previous;            /* [count] of version - 1, or NULL. Sync only. */
    struct frame *spare;               /* A buffer to write the next version to, or NULL. */
    float *slots[OPTIMIZER_SLOTS_MAX]; /* [slot_count][count], owned. */
};

/* Buffers without contents. */
enum status chunk_init(struct chunk *chunk, const struct plan *plan, uint32_t index);
void chunk_free(struct chunk *chunk);

/* Version 0: values from the variables' initializers, slots at their first values. */
void chunk_initialize(struct chunk *chunk);

/* Array 0 is the values, 1 and on the slots: [count] floats to be filled from a checkpoint. */
float *chunk_array(struct chunk *chunk, uint32_t array);

/* Make one update from the sum of the gradients of `examples` examples; version + 1.
 * keep_previous: the values of before stay readable as `previous`. STATUS_MEMORY changes nothing.
 */
enum status chunk_apply(struct chunk *chunk, const float *gradient, uint32_t examples,
                        bool keep_previous);

/* The proof has come: forget `previous`. */
void chunk_drop_previous(struct chunk *chunk);

#endif
