/* pruned.c - parts lie in an array in order of arrival. The sum goes down the tree until it
 * meets a part. */

#include "ps/shard/pruned.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/invariant.h"
#include "ps/shard/aggregator.h"

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
}

/* Its index; part_count when it is not here. */
static uint32_t find(const struct pruned *pruned, struct node node, uint32_t examples)
{
    uint32_t i = 0;
    while (i < pruned->part_count &&
           !(node_equal(pruned->parts[i].node, node) && pruned->parts[i].examples == examples))
        i++;
    return i;
}

static uint32_t count_of(const struct pruned *pruned, struct node node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pruned->part_count; i++)
        count += node_equal(pruned->parts[i].node, node);
    return count;
}

bool pruned_holds(const struct pruned *pruned, struct node node, uint32_t examples)
{
    return find(pruned, node, examples) < pruned->part_count;
}

enum pruned_result pruned_offer(struct pruned *pruned, struct node node, uint32_t examples,
                                uint32_t worker, struct frame *gradient)
{
    if (pruned_holds(pruned, node, examples) || count_of(pruned, node) == 2) {
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

/* The part that sums the set's leaves of this node, or NULL. */
static struct pruned_part *part_of(const struct pruned *pruned, const struct pruned_step *step,
                                   struct node node)
{
    uint32_t i = find(pruned, node, leaf_set_examples(&step->set, step->job, step->batch, node));
    return i < pruned->part_count ? &pruned->parts[i] : NULL;
}

static bool is_whole(const struct pruned *pruned, const struct pruned_step *step, struct node node)
{
    struct node left, right;
    if (leaf_set_count(&step->set, node) == 0 || part_of(pruned, step, node) != NULL)
        return true;
    if (node.leaf_count == 1)
        return false;
    tree_children(node, &left, &right);
    return is_whole(pruned, step, left) && is_whole(pruned, step, right);
}

bool pruned_is_whole(const struct pruned *pruned, const struct pruned_step *step)
{
    return is_whole(pruned, step, tree_root(step->batch.leaves));
}

/* The sum of a node. Takes its parts' references out of their places. NULL without memory. */
static struct frame *sum_of(struct pruned *pruned, const struct pruned_step *step, struct node node)
{
    struct node left, right;
    struct pruned_part *part = part_of(pruned, step, node);
    if (part != NULL) {
        struct frame *sum = part->sum;
        part->sum = NULL;
        return sum;
    }
    tree_children(node, &left, &right);
    if (leaf_set_count(&step->set, left) == 0)
        return sum_of(pruned, step, right);
    struct frame *one = sum_of(pruned, step, left);
    if (leaf_set_count(&step->set, right) == 0 || one == NULL)
        return one;
    struct frame *other = sum_of(pruned, step, right);
    struct frame *sum = other != NULL ? aggregator_join(&pruned->spare, one, other) : NULL;
    if (sum == NULL) {
        frame_release(one);
        frame_release(other);
    }
    return sum;
}

struct frame *pruned_take(struct pruned *pruned, const struct pruned_step *step)
{
    assert(pruned_is_whole(pruned, step));
    struct frame *sum = sum_of(pruned, step, tree_root(step->batch.leaves));
    pruned_reset(pruned);
    return sum;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("pruned", condition, rule)

void pruned_check(const struct pruned *pruned)
{
    RULE(pruned->part_count <= pruned->part_capacity, "there is room for every part");
    for (uint32_t i = 0; i < pruned->part_count; i++) {
        const struct pruned_part *part = &pruned->parts[i];
        RULE(part->sum != NULL, "every part has its sum");
        RULE(part->sum->bytes == pruned->parts[0].sum->bytes, "all sums are of one size");
        RULE(part->examples > 0, "every part is of some examples");
        RULE(find(pruned, part->node, part->examples) == i, "no part is there twice");
        RULE(count_of(pruned, part->node) <= 2, "no node is there more than twice");
    }
}
