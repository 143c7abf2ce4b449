/* pruned.h - the gradients of one chunk and step where the step does not wait for all leaves.
 * Every node is kept as it came until the step's leaf set is known (leaf_set.h). Then the set's
 * leaves are summed along the step's tree, pruned.
 *
 *     leaves 0 1 2 3, the set is 0 1 3       [0,4)  = [0,2) + [3,4)
 *                                            /    \
 *                          pushed whole: [0,2)   [2,4) = [3,4), the one that is there
 *
 * A worker that knows the set when it computes pushes the sum over a node's leaves in the set.
 * So a node is identified by its leaves and by its number of examples: all of them, or fewer.
 *
 * Nothing is summed before the set is known, because a sum with a leaf outside the set is
 * useless. That costs one gradient a node of each worker, and at most twice the tree's nodes.
 *
 * Threads:   the thread that owns the chunk; no locks.
 * Ownership: an offered gradient's reference is taken over, with any result.
 * Source:    the set is of the first R of N workers: Chen et al. 2016, "Revisiting Distributed
 * Synchronous SGD", section 3. */

#ifndef PS_SHARD_PRUNED_H
#define PS_SHARD_PRUNED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/steps/leaf_set.h"

struct pruned_part {
    struct node node;
    uint32_t examples; /* Of all its leaves, or of those in the step's set. */
    uint32_t worker;   /* That pushed it. */
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
    PRUNED_DUPLICATE, /* The same node is here. */
    PRUNED_MEMORY,    /* No memory: the gradient is lost. */
};

/* The leaves that make a step. */
struct pruned_step {
    const struct job *job;
    struct batch_range batch;
    struct leaf_set set;
};

void pruned_free(struct pruned *pruned);
/* Drop all parts. */
void pruned_reset(struct pruned *pruned);

/* A node of the step's tree and its examples, from 1 on. At most two of a node are kept: of all
 * its leaves, and of those in the set. */
enum pruned_result pruned_offer(struct pruned *pruned, struct node node, uint32_t examples,
                                uint32_t worker, struct frame *gradient);
bool pruned_holds(const struct pruned *pruned, struct node node, uint32_t examples);

/* Whether all leaves of the set are here, in nodes without other leaves. */
bool pruned_is_whole(const struct pruned *pruned, const struct pruned_step *step);

/* Their sum, when the set is whole: one reference, the caller's, that aggregator_recycle takes back
 * for `spare`. Drops all parts. NULL without memory. */
struct frame *pruned_take(struct pruned *pruned, const struct pruned_step *step);

/* See common/base/invariant.h. */
void pruned_check(const struct pruned *pruned);

#endif
