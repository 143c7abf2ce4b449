/* leaf_set.h - which of a step's leaves count: those that its update is made of, where a step does
 * not wait for all.
 *
 *     leaves   0 1 2 3 4 5 6 7      three of four workers were in time, each with its whole run:
 *     worker   0 0 1 1 2 2 3 3      the set is 0 1 2 3 6 7
 *     in time  x x x x     x x
 *
 * The sum over a set goes along the tree on *all* leaves of the step (tree.h), pruned: left + right
 * where both have leaves of the set, else the one that has some. What is absent is not added, not
 * even as zeros; and the tree is never that of fewer leaves. So the sum of a node whose leaves are all
 * in the set has the bits that it has without one.
 *
 * Sets of steps that follow each other are sent in a list: the first step, how many there are, and of
 * each set the number of its runs and, of each run, how many leaves lie between it and the run before,
 * and how many it has; all varints.
 *
 * Threads: plain values; pure. */

#ifndef COMMON_STEPS_LEAF_SET_H
#define COMMON_STEPS_LEAF_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tree.h"

struct leaf_set {
    uint64_t bits[TREE_LEAVES_MAX / 64]; /* Bit i % 64 of bits[i / 64] is leaf i. */
};

void leaf_set_clear(struct leaf_set *set);
void leaf_set_add(struct leaf_set *set, struct node run);
bool leaf_set_has(const struct leaf_set *set, uint32_t leaf);

/* How many of the node's leaves are in the set. */
uint32_t leaf_set_count(const struct leaf_set *set, struct node node);

/* How many of the batch's examples they hold. set may be NULL: all of them. */
uint32_t leaf_set_examples(const struct leaf_set *set, const struct job *job,
                           struct batch_range batch, struct node node);

/* Of nodes[count] those that have a leaf of the set, in the same order; how many. */
uint32_t leaf_set_keep(const struct leaf_set *set, struct node *nodes, uint32_t count);

/* --- lists --------------------------------------------------------------------------------- */

#define LEAF_SET_BYTES_MAX  (2 + TREE_LEAVES_MAX * 2) /* Of one set in a list. */
#define LEAF_SETS_START_MAX 20                        /* Of what goes before the first. */

/* One set at the end of bytes[LEAF_SET_BYTES_MAX]; and what goes before `count` sets from step
 * `first` on, into bytes[LEAF_SETS_START_MAX]. How many bytes it took. */
size_t leaf_set_put(uint8_t *bytes, const struct leaf_set *set);
size_t leaf_sets_put_start(uint8_t *bytes, uint64_t first, uint64_t count);

/* A list that comes from anyone, read from its start. */
struct leaf_sets {
    const uint8_t *bytes;
    size_t bytes_left;
    uint64_t step; /* Of the next set ... */
    uint64_t left; /* ... and how many there are from there on. */
};

/* False when it does not begin as one does. */
bool leaf_sets_open(struct leaf_sets *list, const void *bytes, size_t count);
/* The next one, of list->step - 1 then. False: there is none any more, or it is none: it is empty, or
 * has leaves that no step has. */
bool leaf_sets_next(struct leaf_sets *list, struct leaf_set *set);
/* Whether every set is one of its step of the job, and nothing is behind the last. */
bool leaf_sets_fit(struct leaf_sets list, const struct job *job);
/* The set of a step, if the list has it. */
bool leaf_sets_find(const void *bytes, size_t count, uint64_t step, struct leaf_set *set);

#endif
