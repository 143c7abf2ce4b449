/* aggregator.c - sums the gradients of one step along its tree. Parts wait in a short array; a
 * sum is written over one of its two operands where it may be, else into the last root's memory
 * or new memory. */

#include "ps/shard/aggregator.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/invariant.h"
#include "common/kernels/kernels.h"

void aggregator_open(struct aggregator *aggregator, uint32_t leaf_count)
{
    assert(aggregator->part_count == 0 && leaf_count > 0);
    aggregator->leaf_count = leaf_count;
}

void aggregator_reset(struct aggregator *aggregator)
{
    for (uint32_t i = 0; i < aggregator->part_count; i++)
        frame_release(aggregator->parts[i].sum);
    aggregator->part_count = 0;
}

void aggregator_free(struct aggregator *aggregator)
{
    aggregator_reset(aggregator);
    frame_release(aggregator->spare);
    free(aggregator->parts);
}

static void part_remove(struct aggregator *aggregator, uint32_t index)
{
    aggregator->parts[index] = aggregator->parts[--aggregator->part_count];
}

bool aggregator_holds(const struct aggregator *aggregator, struct node node)
{
    for (uint32_t i = 0; i < aggregator->part_count; i++)
        if (node_within(node, aggregator->parts[i].node))
            return true;
    return false;
}

static void drop_below(struct aggregator *aggregator, struct node node)
{
    for (uint32_t i = 0; i < aggregator->part_count;) {
        if (node_within(aggregator->parts[i].node, node)) {
            frame_release(aggregator->parts[i].sum);
            part_remove(aggregator, i);
        } else {
            i++;
        }
    }
}

static bool reserve(struct aggregator *aggregator)
{
    struct aggregator_part *parts = array_room(aggregator->parts, aggregator->part_count,
                                               &aggregator->part_capacity, sizeof *parts);
    if (parts != NULL)
        aggregator->parts = parts;
    return parts != NULL;
}

struct frame *aggregator_room(struct frame **spare, size_t bytes)
{
    struct frame *frame = *spare;
    *spare = NULL;
    if (frame != NULL && frame->bytes == bytes && frame_is_writable(frame))
        return frame;
    frame_release(frame);
    return frame_create(bytes);
}

struct frame *aggregator_join(struct frame **spare, struct frame *a, struct frame *b)
{
    uint64_t count = a->bytes / sizeof(float);
    if (!frame_is_writable(a)) {
        struct frame *swap = a;
        a = b;
        b = swap;
    }
    if (frame_is_writable(a)) {
        kernels_add(a->data, b->data, count);
    } else {
        struct frame *sum = aggregator_room(spare, a->bytes);
        if (sum == NULL)
            return NULL;
        kernels_sum(sum->data, a->data, b->data, count);
        frame_release(a);
        a = sum;
    }
    frame_release(b);
    return a;
}

/* Index of the waiting sibling of node, or part_count. */
static uint32_t find_sibling(const struct aggregator *aggregator, struct node node)
{
    uint32_t i = 0;
    struct node sibling = tree_sibling(aggregator->leaf_count, node);
    while (i < aggregator->part_count && !node_equal(aggregator->parts[i].node, sibling))
        i++;
    return i;
}

enum aggregator_result aggregator_offer(struct aggregator *aggregator, struct node node,
                                        struct frame *gradient)
{
    assert(tree_has(aggregator->leaf_count, node));
    if (aggregator_holds(aggregator, node)) {
        frame_release(gradient);
        return AGGREGATOR_DUPLICATE;
    }
    if (!reserve(aggregator)) {
        frame_release(gradient);
        return AGGREGATOR_MEMORY;
    }
    drop_below(aggregator, node);

    while (node.leaf_count < aggregator->leaf_count) {
        uint32_t i = find_sibling(aggregator, node);
        if (i == aggregator->part_count)
            break;
        struct frame *sum = aggregator_join(&aggregator->spare, gradient, aggregator->parts[i].sum);
        if (sum == NULL) {
            frame_release(gradient);
            return AGGREGATOR_MEMORY;
        }
        node = node_parent(node, aggregator->parts[i].node);
        part_remove(aggregator, i);
        gradient = sum;
    }
    aggregator->parts[aggregator->part_count++] = (struct aggregator_part){node, gradient};
    return node.leaf_count == aggregator->leaf_count ? AGGREGATOR_COMPLETE : AGGREGATOR_WAITING;
}

struct frame *aggregator_take_root(struct aggregator *aggregator)
{
    assert(aggregator->part_count == 1 &&
           aggregator->parts[0].node.leaf_count == aggregator->leaf_count);
    aggregator->part_count = 0;
    return aggregator->parts[0].sum;
}

void aggregator_recycle(struct frame **spare, struct frame *root)
{
    if (!frame_is_writable(root)) { /* A worker's own memory: give it back soon. */
        frame_release(root);
        return;
    }
    frame_release(*spare);
    *spare = root;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("aggregator", condition, rule)

static void check_pair(const struct aggregator *a, struct node one, struct node other)
{
    RULE(!node_within(one, other) && !node_within(other, one), "no leaf waits in two parts");
    RULE(one.leaf_count == a->leaf_count || !node_equal(tree_sibling(a->leaf_count, one), other),
         "siblings have been joined");
}

void aggregator_check(const struct aggregator *aggregator)
{
    const struct aggregator *a = aggregator;
    RULE(a->part_count <= a->part_capacity, "there is room for every part");
    RULE(a->part_count <= (a->leaf_count + 1) / 2, "no more parts wait than half the leaves");
    for (uint32_t i = 0; i < a->part_count; i++) {
        const struct aggregator_part *part = &a->parts[i];
        RULE(tree_has(a->leaf_count, part->node), "every part is a node of the open step's tree");
        RULE(part->sum != NULL, "every part has its sum");
        RULE(part->sum->bytes == a->parts[0].sum->bytes, "all sums are of one size");
        for (uint32_t j = 0; j < i; j++)
            check_pair(a, part->node, a->parts[j].node);
    }
}
