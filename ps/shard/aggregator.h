/* aggregator.h - joins the gradients of one chunk and step along the step's tree.
 *
 * A step has leaf_count leaves (micro-batches). A worker pushes nodes: sums over subtrees of the
 * fixed binary tree on [0, leaf_count). Siblings join as soon as both are here, always left +
 * right. So the root's bits depend on the leaves alone, and not on their workers or the order of
 * arrival:
 *
 *     leaf_count 4         [0,4)            worker 1 pushes [2,4) -> WAITING
 *                         /     \           worker 0 pushes [0,1) -> WAITING
 *                     [0,2)     [2,4)       worker 0 pushes [0,1) -> DUPLICATE
 *                     /   \                 worker 2 pushes [1,2) -> COMPLETE
 *                 [0,1)   [1,2)
 *
 * A node at or below one that is here is a duplicate. A node above some that are here replaces
 * them. So retries, zombies and reassigned leaves change nothing.
 *
 * Threads:   the thread that owns the chunk; no locks.
 * Ownership: the aggregator takes over an offered gradient's reference, with any result.
 * Memory:    one gradient a waiting node, at most leaf_count / 2 (rounded up), and the last
 * root. */

#ifndef PS_SHARD_AGGREGATOR_H
#define PS_SHARD_AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/job/tree.h"

enum aggregator_result {
    AGGREGATOR_WAITING,   /* Kept; the step needs more leaves. */
    AGGREGATOR_COMPLETE,  /* Every leaf is in; aggregator_take_root has the sum. */
    AGGREGATOR_DUPLICATE, /* At or below a node already here. */
    AGGREGATOR_MEMORY,    /* No memory: the gradient is lost and the step cannot complete. */
};

struct aggregator_part {
    struct node node;
    struct frame *sum; /* [count] floats, one reference. */
};

struct aggregator {
    uint32_t leaf_count;           /* Of the open step. */
    struct aggregator_part *parts; /* [part_count] nodes waiting for their siblings. Owned. */
    uint32_t part_count;
    size_t part_capacity;
    struct frame *spare; /* Memory for the next sum, or NULL. */
};

/* Open a step of leaf_count leaves; nothing may be waiting from before. */
void aggregator_open(struct aggregator *aggregator, uint32_t leaf_count);
void aggregator_free(struct aggregator *aggregator);

/* Forget what waits: the step is opened again, or another one is. */
void aggregator_reset(struct aggregator *aggregator);

/* Whether the open step holds this node or one above it. Accepts any values. */
bool aggregator_holds(const struct aggregator *aggregator, struct node node);

/* Offer the gradient of a node of the open step's tree. The router has checked the node. */
enum aggregator_result aggregator_offer(struct aggregator *aggregator, struct node node,
                                        struct frame *gradient);

/* The root's sum, once, after AGGREGATOR_COMPLETE. One reference, the caller's. */
struct frame *aggregator_take_root(struct aggregator *aggregator);

/* --- memory of sums; *spare is that of the last root, or NULL --- */

/* Memory for a root's bytes: the last root's where it is free. NULL without. One reference, the
 * caller's. */
struct frame *aggregator_room(struct frame **spare, size_t bytes);

/* a + b into the operand that may be written, else into other memory. Float addition commutes,
 * so left + right holds either way. NULL without memory; a and b are then unchanged. */
struct frame *aggregator_join(struct frame **spare, struct frame *a, struct frame *b);

/* Give the root's reference back, so that its memory serves the next step. */
void aggregator_recycle(struct frame **spare, struct frame *root);

/* See common/base/invariant.h. */
void aggregator_check(const struct aggregator *aggregator);

#endif
