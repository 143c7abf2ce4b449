/* tree.h - the fixed binary tree along which a step's leaves are summed.
 *
 * n leaves split at the largest power of two below n, always left + right, so the bits of the sum
 * depend on the leaves alone:
 *
 *     n = 6            [0,6)
 *                    /       \
 *                [0,4)       [4,6)
 *                /   \       /   \
 *            [0,2) [2,4)   [4,5) [5,6)
 *             / \   / \
 *            0   1 2   3
 *
 * Threads: pure arithmetic. Source: proto/CONTRACT.md section 2. */

#ifndef COMMON_JOB_TREE_H
#define COMMON_JOB_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* The subtree over leaves [first_leaf, first_leaf + leaf_count). */
struct node {
    uint32_t first_leaf;
    uint32_t leaf_count;
};

#define TREE_LEAVES_MAX 4096 /* Leaves in a step. */
#define TREE_COVER_MAX  64   /* No cover has more nodes: at most two of each depth. */

static inline struct node tree_root(uint32_t leaf_count)
{
    return (struct node){0, leaf_count};
}

static inline bool node_equal(struct node a, struct node b)
{
    return a.first_leaf == b.first_leaf && a.leaf_count == b.leaf_count;
}

/* Whether `outer` has every leaf of `inner`. Accepts any values. */
static inline bool node_within(struct node inner, struct node outer)
{
    uint64_t inner_end = (uint64_t)inner.first_leaf + inner.leaf_count;
    uint64_t outer_end = (uint64_t)outer.first_leaf + outer.leaf_count;
    return inner.first_leaf >= outer.first_leaf && inner_end <= outer_end;
}

/* The parent of two siblings. */
static inline struct node node_parent(struct node a, struct node b)
{
    return (struct node){a.first_leaf < b.first_leaf ? a.first_leaf : b.first_leaf,
                         a.leaf_count + b.leaf_count};
}

/* Split a node of two or more leaves. */
void tree_children(struct node node, struct node *left, struct node *right);

/* Whether node is one of the tree's on leaf_count leaves. Accepts any values. */
bool tree_has(uint32_t leaf_count, struct node node);

/* The other child of node's parent. node must be in the tree and not its root. */
struct node tree_sibling(uint32_t leaf_count, struct node node);

/* The fewest nodes that together cover exactly leaves [first, first + count), in leaf order. The
 * run must lie within the tree. Returns how many were written; 0 when count is 0. */
uint32_t tree_cover(uint32_t leaf_count, uint32_t first, uint32_t count,
                    struct node nodes[TREE_COVER_MAX]);

/* The contiguous run of leaves that member `index` of `members` owns: as even as whole leaves
 * allow. Where leaf_count / members is a power of two each run is one node, because an aligned
 * run of 2^k leaves always is. leaf_count of the result is 0 for a member without leaves. */
struct node tree_run(uint32_t leaf_count, uint32_t members, uint32_t index);

#endif
