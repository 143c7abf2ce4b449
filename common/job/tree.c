/* tree.c - walks from the root down; the tree is not stored, because it follows from the number
 * of leaves. */

#include "common/job/tree.h"

#include <assert.h>

/* The largest power of two below n; n >= 2. */
static uint32_t split_of(uint32_t n)
{
    return 1u << (31 - __builtin_clz(n - 1));
}

void tree_children(struct node node, struct node *left, struct node *right)
{
    assert(node.leaf_count >= 2);
    uint32_t split = split_of(node.leaf_count);
    *left = (struct node){node.first_leaf, split};
    *right = (struct node){node.first_leaf + split, node.leaf_count - split};
}

/* One step of the way from `from` down to `towards`, which lies within it and is smaller: true
 * and the two children, the one that holds `towards` first; false when neither child holds it
 * whole, so that it is no node of the tree. */
static bool descend(struct node from, struct node towards, struct node *nearer, struct node *other)
{
    tree_children(from, nearer, other);
    if (node_within(towards, *nearer))
        return true;
    struct node left = *nearer;
    *nearer = *other;
    *other = left;
    return node_within(towards, *nearer);
}

bool tree_has(uint32_t leaf_count, struct node node)
{
    struct node at = tree_root(leaf_count), other;
    if (node.leaf_count == 0 || !node_within(node, at))
        return false;
    while (!node_equal(at, node))
        if (!descend(at, node, &at, &other))
            return false;
    return true;
}

struct node tree_sibling(uint32_t leaf_count, struct node node)
{
    struct node at = tree_root(leaf_count), sibling;
    assert(node.leaf_count > 0 && node_within(node, at) && !node_equal(node, at));
    do {
        bool found = descend(at, node, &at, &sibling);
        assert(found);
        (void)found;
    } while (!node_equal(at, node));
    return sibling;
}

/* The largest subtree that starts with leaf `first` and has at most `count` leaves. */
static struct node largest_at(uint32_t leaf_count, uint32_t first, uint32_t count)
{
    struct node at = tree_root(leaf_count);
    while (at.first_leaf != first || at.leaf_count > count) {
        struct node left, right;
        tree_children(at, &left, &right);
        at = first < right.first_leaf ? left : right;
    }
    return at;
}

uint32_t tree_cover(uint32_t leaf_count, uint32_t first, uint32_t count,
                    struct node nodes[TREE_COVER_MAX])
{
    assert(node_within((struct node){first, count}, tree_root(leaf_count)));
    uint32_t used = 0;
    while (count > 0) {
        assert(used < TREE_COVER_MAX);
        struct node node = largest_at(leaf_count, first, count);
        nodes[used++] = node;
        first += node.leaf_count;
        count -= node.leaf_count;
    }
    return used;
}

struct node tree_run(uint32_t leaf_count, uint32_t members, uint32_t index)
{
    assert(index < members);
    uint32_t first = (uint32_t)((uint64_t)index * leaf_count / members);
    uint32_t end = (uint32_t)(((uint64_t)index + 1) * leaf_count / members);
    return (struct node){first, end - first};
}
