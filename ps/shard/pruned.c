/* pruned.c - parts lie in an array, in the order in which they came; the sum is made by going down
 * the tree to where there is a part. */

#include "ps/shard/pruned.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/invariant.h"
#include "common/kernels/kernels.h"

void pruned_open(struct pruned *pruned, const struct job *job, uint64_t step)
{
    assert(pruned->part_count == 0);
    pruned->job = job;
    pruned->batch = job_batch(job, step);
}

void pruned_reset(struct pruned *pruned)
{
    for (uint32_t i = 0; i < pruned->part_count; i++)
        frame_release(pruned->parts[i].sum);
    pruned->part_count = 0;
}

void pruned_free(struct pruned *pruned)
{
    pruned_reset(pruned);
    frame_release(pruned->spare);
    free(pruned->parts);
    memset(pruned, 0, sizeof *pruned);
}

static uint32_t all_examples(const struct pruned *pruned, struct node node)
{
    return leaf_set_examples(NULL, pruned->job, pruned->batch, node);
}

/* The part of this node: of all its leaves, or of some; part_count when it is not here. */
static uint32_t find(const struct pruned *pruned, struct node node, bool all)
{
    uint32_t i = 0;
    while (i < pruned->part_count &&
           !(node_equal(pruned->parts[i].node, node) &&
             (pruned->parts[i].examples == all_examples(pruned, node)) == all))
        i++;
    return i;
}

bool pruned_holds(const struct pruned *pruned, struct node node, uint32_t examples)
{
    if (!tree_has(pruned->batch.leaves, node))
        return false;
    uint32_t i = find(pruned, node, examples == all_examples(pruned, node));
    return i < pruned->part_count && pruned->parts[i].examples == examples;
}

enum pruned_result pruned_offer(struct pruned *pruned, struct node node, uint32_t examples,
                                uint32_t worker, struct frame *gradient)
{
    assert(tree_has(pruned->batch.leaves, node));
    if (find(pruned, node, examples == all_examples(pruned, node)) < pruned->part_count) {
        frame_release(gradient);
        return PRUNED_DUPLICATE;
    }
    struct pruned_part *parts =
        array_room(pruned->parts, pruned->part_count, &pruned->part_capacity, sizeof *parts);
    if (parts == NULL) {
        frame_release(gradient);
        return PRUNED_MEMORY;
    }
    pruned->parts = parts;
    parts[pruned->part_count++] = (struct pruned_part){node, examples, worker, gradient};
    return PRUNED_KEPT;
}

/* The part that is the sum over the set's leaves of this node, or NULL. */
static struct pruned_part *part_of(const struct pruned *pruned, const struct leaf_set *set,
                                   struct node node)
{
    uint32_t examples = leaf_set_examples(set, pruned->job, pruned->batch, node);
    uint32_t i = find(pruned, node, examples == all_examples(pruned, node));
    bool there = i < pruned->part_count && pruned->parts[i].examples == examples;
    return there ? &pruned->parts[i] : NULL;
}

static bool is_whole(const struct pruned *pruned, const struct leaf_set *set, struct node node)
{
    struct node left, right;
    if (leaf_set_count(set, node) == 0 || part_of(pruned, set, node) != NULL)
        return true;
    if (node.leaf_count == 1)
        return false;
    tree_children(node, &left, &right);
    return is_whole(pruned, set, left) && is_whole(pruned, set, right);
}

bool pruned_is_whole(const struct pruned *pruned, const struct leaf_set *set)
{
    return is_whole(pruned, set, tree_root(pruned->batch.leaves));
}

/* A frame to write a sum to: the last one's, if its taker is done with it. */
static struct frame *take_spare(struct pruned *pruned, size_t bytes)
{
    struct frame *spare = pruned->spare;
    pruned->spare = NULL;
    if (spare != NULL && spare->bytes == bytes && frame_is_writable(spare))
        return spare;
    frame_release(spare);
    return frame_create(bytes);
}

/* left + right into whichever may be written, else into other memory: addition of two floats does not
 * depend on their order. Takes both references. NULL without memory. */
static struct frame *join(struct pruned *pruned, struct frame *left, struct frame *right)
{
    uint64_t count = left->bytes / sizeof(float);
    struct frame *to = frame_is_writable(left) ? left : frame_is_writable(right) ? right : NULL;
    struct frame *from = to == left ? right : left;
    if (to == NULL && (to = take_spare(pruned, left->bytes)) != NULL) {
        kernels_sum(to->data, left->data, right->data, count);
        frame_release(right);
    } else if (to != NULL) {
        kernels_add(to->data, from->data, count);
    } else {
        frame_release(right);
    }
    frame_release(from);
    return to;
}

/* The sum of a node, its parts' references with it: they are not in their places any more. NULL
 * without memory. */
static struct frame *sum_of(struct pruned *pruned, const struct leaf_set *set, struct node node)
{
    struct node left, right;
    struct pruned_part *part = part_of(pruned, set, node);
    if (part != NULL) {
        struct frame *sum = part->sum;
        part->sum = NULL;
        return sum;
    }
    tree_children(node, &left, &right);
    if (leaf_set_count(set, left) == 0)
        return sum_of(pruned, set, right);
    struct frame *one = sum_of(pruned, set, left);
    if (leaf_set_count(set, right) == 0 || one == NULL)
        return one;
    struct frame *other = sum_of(pruned, set, right);
    if (other == NULL) {
        frame_release(one);
        return NULL;
    }
    return join(pruned, one, other);
}

struct frame *pruned_take(struct pruned *pruned, const struct leaf_set *set)
{
    assert(pruned_is_whole(pruned, set));
    struct frame *sum = sum_of(pruned, set, tree_root(pruned->batch.leaves));
    pruned_reset(pruned);
    return sum;
}

void pruned_recycle(struct pruned *pruned, struct frame *sum)
{
    if (!frame_is_writable(sum)) { /* A worker's own memory, say: it wants that back. */
        frame_release(sum);
        return;
    }
    frame_release(pruned->spare);
    pruned->spare = sum;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("pruned", condition, rule)

void pruned_check(const struct pruned *pruned)
{
    RULE(pruned->part_count <= pruned->part_capacity, "there is room for every part");
    for (uint32_t i = 0; i < pruned->part_count; i++) {
        const struct pruned_part *part = &pruned->parts[i];
        RULE(tree_has(pruned->batch.leaves, part->node),
             "every part is a node of the open step's tree");
        RULE(part->sum != NULL, "every part has its sum");
        RULE(part->sum->bytes == pruned->parts[0].sum->bytes, "all sums are of one size");
        RULE(part->examples > 0 && part->examples <= all_examples(pruned, part->node),
             "no part has more examples than its node");
        RULE(find(pruned, part->node, part->examples == all_examples(pruned, part->node)) == i,
             "no part is there twice");
    }
}
