/* test_aggregator.c - gradients joined along the tree: every order of arrival, and every way to
 * deal leaves, has the same bits. */
/* promises: bits one-update */

#include "ps/shard/aggregator.h"

#include <string.h>

#include "common/base/random.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define WIDTH 3 /* Floats in a gradient. */

/* Leaf i's gradient: values whose sum depends on the order of additions. */
static float leaf_value(uint32_t leaf, uint32_t element)
{
    uint32_t block[4];
    random_block(3, RANDOM_STREAM_PROBE, element, leaf, block);
    float unit = random_unit_float(block[0]) - 0.5f;
    return unit * (float)(1u << (block[1] % 24));
}

static void node_sum(struct node node, float sum[WIDTH])
{
    if (node.leaf_count == 1) {
        for (uint32_t i = 0; i < WIDTH; i++)
            sum[i] = leaf_value(node.first_leaf, i);
        return;
    }
    struct node left, right;
    float other[WIDTH];
    tree_children(node, &left, &right);
    node_sum(left, sum);
    node_sum(right, other);
    for (uint32_t i = 0; i < WIDTH; i++)
        sum[i] += other[i];
}

static struct frame *gradient_of(struct node node)
{
    struct frame *frame = frame_of(0, WIDTH);
    node_sum(node, frame->data);
    return frame;
}

static enum aggregator_result offer(struct aggregator *aggregator, struct node node)
{
    return aggregator_offer(aggregator, node, gradient_of(node));
}

static void check_root(struct aggregator *aggregator, uint32_t leaf_count)
{
    float expected[WIDTH];
    node_sum(tree_root(leaf_count), expected);
    struct frame *root = aggregator_take_root(aggregator);
    ck_assert(memcmp(root->data, expected, sizeof expected) == 0);
    frame_release(root);
}

/* Try every order of the nodes from place `at` on. */
static void permute(struct node *nodes, uint32_t count, uint32_t at, uint32_t leaf_count)
{
    if (at == count) {
        struct aggregator aggregator = {0};
        aggregator_open(&aggregator, leaf_count);
        for (uint32_t i = 0; i < count; i++)
            ck_assert(offer(&aggregator, nodes[i]) ==
                      (i + 1 < count ? AGGREGATOR_WAITING : AGGREGATOR_COMPLETE));
        check_root(&aggregator, leaf_count);
        aggregator_free(&aggregator);
        return;
    }
    for (uint32_t i = at; i < count; i++) {
        struct node kept = nodes[at];
        nodes[at] = nodes[i];
        nodes[i] = kept;
        permute(nodes, count, at + 1, leaf_count);
        nodes[i] = nodes[at];
        nodes[at] = kept;
    }
}

TEST_PLAIN(every_order_of_arrival_gives_the_same_bits)
{
    for (uint32_t leaf_count = 1; leaf_count <= 7; leaf_count++) {
        struct node nodes[7];
        for (uint32_t i = 0; i < leaf_count; i++)
            nodes[i] = (struct node){i, 1};
        permute(nodes, leaf_count, 0, leaf_count);
    }
}

TEST_PLAIN(every_way_to_deal_leaves_gives_the_same_bits)
{
    for (uint32_t leaf_count = 1; leaf_count <= 24; leaf_count++) {
        for (uint32_t members = 1; members <= 9; members++) {
            struct aggregator aggregator = {0};
            enum aggregator_result result = AGGREGATOR_WAITING;
            aggregator_open(&aggregator, leaf_count);
            for (uint32_t i = members; i-- > 0;) {
                struct node nodes[TREE_COVER_MAX];
                struct node run = tree_run(leaf_count, members, i);
                uint32_t count = tree_cover(leaf_count, run.first_leaf, run.leaf_count, nodes);
                for (uint32_t n = 0; n < count; n++)
                    result = offer(&aggregator, nodes[n]);
            }
            ck_assert(result == AGGREGATOR_COMPLETE);
            check_root(&aggregator, leaf_count);
            aggregator_free(&aggregator);
        }
    }
}

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct aggregator, aggregator, *aggregator = (struct aggregator){0};          \
               aggregator_open(aggregator, __VA_ARGS__), aggregator_free(aggregator))

TEST(the_header_s_picture_is_what_happens, 4)
{
    ck_assert(offer(aggregator, (struct node){2, 2}) == AGGREGATOR_WAITING);
    ck_assert(offer(aggregator, (struct node){0, 1}) == AGGREGATOR_WAITING);
    ck_assert(offer(aggregator, (struct node){0, 1}) == AGGREGATOR_DUPLICATE);
    ck_assert(offer(aggregator, (struct node){1, 1}) == AGGREGATOR_COMPLETE);
    check_root(aggregator, 4);
}

TEST(memory_that_another_holds_is_no_spare, 2)
{
    struct frame *sum = frame_of(1, WIDTH);
    aggregator_recycle(&aggregator->spare, frame_retain(sum));
    ck_assert_ptr_null(aggregator->spare);
    aggregator_recycle(&aggregator->spare, sum);
    ck_assert_ptr_eq(aggregator->spare, sum);
}

TEST(a_node_at_or_below_one_that_is_there_is_a_duplicate, 8)
{
    ck_assert(offer(aggregator, (struct node){0, 4}) == AGGREGATOR_WAITING);
    const struct node below[] = {{0, 4}, {0, 2}, {2, 2}, {0, 1}, {3, 1}};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        ck_assert(aggregator_offer(aggregator, below[i], frame_of(1e9f, WIDTH)) ==
                  AGGREGATOR_DUPLICATE);
    ck_assert(offer(aggregator, (struct node){4, 4}) == AGGREGATOR_COMPLETE);
    check_root(aggregator, 8);
}

TEST(a_leaf_that_has_been_summed_already_is_a_duplicate, 8)
{
    for (uint32_t leaf = 0; leaf < 4; leaf++)
        ck_assert(offer(aggregator, (struct node){leaf, 1}) == AGGREGATOR_WAITING);
    for (uint32_t leaf = 0; leaf < 4; leaf++)
        ck_assert(offer(aggregator, (struct node){leaf, 1}) == AGGREGATOR_DUPLICATE);
    ck_assert(offer(aggregator, (struct node){4, 4}) == AGGREGATOR_COMPLETE);
    check_root(aggregator, 8);
}

TEST(a_node_above_some_that_are_there_replaces_them, 8)
{
    offer(aggregator, (struct node){0, 1});
    offer(aggregator, (struct node){3, 1});
    offer(aggregator, (struct node){6, 2});
    ck_assert(offer(aggregator, (struct node){0, 4}) == AGGREGATOR_WAITING);
    ck_assert_uint_eq(aggregator->part_count, 2);
    ck_assert(offer(aggregator, (struct node){1, 1}) == AGGREGATOR_DUPLICATE);
    ck_assert(offer(aggregator, (struct node){0, 8}) == AGGREGATOR_COMPLETE);
    check_root(aggregator, 8);
}

TEST_PLAIN(any_mixture_of_nodes_in_any_order_gives_the_same_bits)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 5, RANDOM_STREAM_PROBE, 0);
    for (int round = 0; round < 3000; round++) {
        uint32_t leaf_count = 1 + random_below(&sequence, 20);
        struct aggregator aggregator = {0};
        enum aggregator_result result = AGGREGATOR_WAITING;
        aggregator_open(&aggregator, leaf_count);
        while (result != AGGREGATOR_COMPLETE) {
            struct node node = {random_below(&sequence, leaf_count), 1};
            for (uint32_t up = random_below(&sequence, 4); up > 0; up--)
                if (node.leaf_count < leaf_count)
                    node = node_parent(node, tree_sibling(leaf_count, node));
            result = offer(&aggregator, node);
        }
        check_root(&aggregator, leaf_count);
        aggregator_free(&aggregator);
    }
}

TEST(a_gradient_that_somebody_else_holds_is_not_written, 2)
{
    struct frame *whole = frame_of(1, 2 * WIDTH);
    struct frame *a = frame_slice(whole, 0, WIDTH * sizeof(float));
    struct frame *b = frame_of(2, WIDTH);
    aggregator_offer(aggregator, (struct node){0, 1}, a);
    ck_assert(aggregator_offer(aggregator, (struct node){1, 1}, frame_retain(b)) ==
              AGGREGATOR_COMPLETE);
    struct frame *root = aggregator_take_root(aggregator);
    ck_assert(((float *)root->data)[0] == 3.0f);
    ck_assert(((float *)whole->data)[0] == 1.0f);
    ck_assert(((float *)b->data)[0] == 2.0f);
    ck_assert(frame_is_unique(b));
    ck_assert(frame_is_unique(whole));
    frame_release(root);
    frame_release(b);
    frame_release(whole);
}

TEST_PLAIN(what_waits_is_one_gradient_a_node_and_given_back_in_the_end)
{
    struct aggregator aggregator = {0};
    struct frame *kept = frame_of(1, WIDTH);
    aggregator_open(&aggregator, 4096);
    for (uint32_t i = 0; i < 4096; i += 2)
        aggregator_offer(&aggregator, (struct node){i, 1}, frame_retain(kept));
    ck_assert_uint_eq(aggregator.part_count, 2048);
    aggregator_free(&aggregator);
    ck_assert(frame_is_unique(kept));
    frame_release(kept);
}

TEST_PLAIN(the_next_step_opens_where_the_last_one_was_taken)
{
    struct aggregator aggregator = {0};
    for (uint32_t step = 0; step < 5; step++) {
        uint32_t leaf_count = 1 + step;
        aggregator_open(&aggregator, leaf_count);
        for (uint32_t leaf = 0; leaf < leaf_count; leaf++)
            offer(&aggregator, (struct node){leaf, 1});
        check_root(&aggregator, leaf_count);
        ck_assert_uint_eq(aggregator.part_count, 0);
    }
    aggregator_free(&aggregator);
}

TEST(it_knows_what_it_holds, 8)
{
    ck_assert(!aggregator_holds(aggregator, (struct node){0, 1})); /* Nothing, before a step. */
    offer(aggregator, (struct node){0, 4});
    offer(aggregator, (struct node){5, 1});
    const struct node held[] = {{0, 4}, {2, 2}, {3, 1}, {5, 1}};
    const struct node not_held[] = {{0, 8}, {4, 1}, {4, 2}, {4, 4}, {7, 1}, {9, 9}};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        ck_assert(aggregator_holds(aggregator, held[i]));
    for (size_t i = 0; i < sizeof not_held / sizeof *not_held; i++)
        ck_assert(!aggregator_holds(aggregator, not_held[i]));
}

TEST_PLAIN(what_was_forgotten_is_given_back_and_not_in_the_next_sum)
{
    struct aggregator aggregator = {0};
    struct frame *kept = frame_of(1e9f, WIDTH);
    aggregator_open(&aggregator, 8);
    aggregator_offer(&aggregator, (struct node){0, 2}, frame_retain(kept));
    aggregator_offer(&aggregator, (struct node){4, 1}, frame_retain(kept));
    aggregator_reset(&aggregator);
    ck_assert(frame_is_unique(kept));
    ck_assert(!aggregator_holds(&aggregator, (struct node){0, 1}));
    for (uint32_t leaf_count = 8; leaf_count > 2; leaf_count--) {
        aggregator_open(&aggregator, leaf_count);
        for (uint32_t leaf = 0; leaf < leaf_count; leaf++)
            offer(&aggregator, (struct node){leaf, 1});
        check_root(&aggregator, leaf_count);
    }
    frame_release(kept);
    aggregator_free(&aggregator);
}

int main(void)
{
    return suite_run("aggregator", NULL);
}
