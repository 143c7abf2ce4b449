/* pruned.h - the gradients of one step of one chunk, where a step does not wait for all its leaves:
 * every node is kept as it came until it is known which leaves count (leaf_set.h), and then those are
 * summed along the tree of the step, pruned.
 *
 *     leaves 0 1 2 3, the set is 0 1 3       [0,4)  = [0,2) + [3,4)
 *                                            /    \
 *                          pushed whole: [0,2)   [2,4) = [3,4), the one that is there
 *
 * Whoever computes when the set is known already pushes the sum over those leaves of a node that are
 * in it. So a node is known by its leaves and by how many examples it is of: all of them, or fewer.
 *
 * Nothing is summed before, because a node above one of which some leaves do not count is of no use:
 * that costs a gradient a node of each worker, and at most twice the tree's nodes whatever is offered.
 *
 * Threads:   owned by the thread that owns the chunk; no locks.
 * Ownership: an offered gradient's reference is taken over, whatever the answer.
 * Source:    the set is of the first R of N workers: Chen et al. 2016, "Revisiting Distributed
 *            Synchronous SGD", section 3. */

#ifndef PS_SHARD_PRUNED_H
#define PS_SHARD_PRUNED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/steps/leaf_set.h"

struct pruned_part {
    struct node node;
    uint32_t examples; /* Of all its leaves, or of those that are in the step's set. */
    uint32_t worker;   /* Whose it is. */
    struct frame *sum; /* One reference. */
};

struct pruned {
    struct pruned_part *parts; /* [part_count] as they came. Owned. */
    uint32_t part_count;
    size_t part_capacity;
    struct frame *spare; /* Memory for the next sum, or NULL. */
};

enum pruned_result {
    PRUNED_KEPT,
    PRUNED_DUPLICATE, /* The same is here. */
    PRUNED_MEMORY,    /* No memory: the gradient is lost. */
};

/* What a step is made of. */
struct pruned_step {
    const struct job *job;
    struct batch_range batch;
    struct leaf_set set;
};

void pruned_free(struct pruned *pruned);
/* Let go of all that is kept. */
void pruned_reset(struct pruned *pruned);

/* A node of the step's tree and its examples, from 1 on. At most two of a node are kept: of all its
 * leaves, and of those that count. */
enum pruned_result pruned_offer(struct pruned *pruned, struct node node, uint32_t examples,
                                uint32_t worker, struct frame *gradient);
bool pruned_holds(const struct pruned *pruned, struct node node, uint32_t examples);

/* Whether all leaves of the set are here, in nodes that have no others. */
bool pruned_is_whole(const struct pruned *pruned, const struct pruned_step *step);

/* Their sum, when they are: one reference, the caller's. All parts are let go. NULL without memory. */
struct frame *pruned_take(struct pruned *pruned, const struct pruned_step *step);

/* Give the sum's reference back, so that its memory serves the next step. */
void pruned_recycle(struct pruned *pruned, struct frame *sum);

/* See common/base/invariant.h. */
void pruned_check(const struct pruned *pruned);

#endif
