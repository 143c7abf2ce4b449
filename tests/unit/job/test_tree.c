/* test_tree.c - the tree that leaves are summed along: its nodes, its covers, and what is no node
 * of it. */
/* promises: one-update */

#include "common/base/random.h"
#include "common/job/tree.h"
#include "tests/lib/suite.h"

/* The tree as its definition has it, for comparison: recursion from the root. */
static uint32_t naive_split(uint32_t n)
{
    uint32_t split = 1;
    while (split * 2 < n)
        split *= 2;
    return split;
}

static bool naive_has(struct node at, struct node node)
{
    if (node_equal(at, node))
        return true;
    if (at.leaf_count < 2)
        return false;
    uint32_t split = naive_split(at.leaf_count);
    return naive_has((struct node){at.first_leaf, split}, node) ||
           naive_has((struct node){at.first_leaf + split, at.leaf_count - split}, node);
}

/* How many nodes the smallest cover of [first, first + count) has below `at`. */
static uint32_t naive_cover_count(struct node at, uint32_t first, uint32_t count)
{
    uint32_t end = at.first_leaf + at.leaf_count;
    if (count == 0 || end <= first || at.first_leaf >= first + count)
        return 0;
    if (at.first_leaf >= first && end <= first + count)
        return 1;
    uint32_t split = naive_split(at.leaf_count);
    return naive_cover_count((struct node){at.first_leaf, split}, first, count) +
           naive_cover_count((struct node){at.first_leaf + split, at.leaf_count - split}, first,
                             count);
}

TEST_PLAIN(six_leaves_split_as_drawn_in_the_header)
{
    struct node left, right;
    tree_children(tree_root(6), &left, &right);
    ck_assert(node_equal(left, (struct node){0, 4}));
    ck_assert(node_equal(right, (struct node){4, 2}));
    tree_children(left, &left, &right);
    ck_assert(node_equal(left, (struct node){0, 2}));
    ck_assert(node_equal(right, (struct node){2, 2}));
}

TEST_PLAIN(a_node_splits_at_the_largest_power_of_two_below_it)
{
    for (uint32_t n = 2; n < 5000; n++) {
        struct node left, right;
        tree_children((struct node){100, n}, &left, &right);
        ck_assert_uint_eq(left.first_leaf, 100);
        ck_assert_uint_eq(left.leaf_count, naive_split(n));
        ck_assert_uint_eq(right.first_leaf, 100 + left.leaf_count);
        ck_assert_uint_eq(left.leaf_count + right.leaf_count, n);
    }
    struct node left, right;
    tree_children(tree_root(UINT32_MAX), &left, &right);
    ck_assert_uint_eq(left.leaf_count, 0x80000000u);
    tree_children(tree_root(0x80000000u), &left, &right);
    ck_assert_uint_eq(left.leaf_count, 0x40000000u);
}

TEST_PLAIN(the_tree_has_exactly_the_nodes_that_splitting_makes)
{
    for (uint32_t n = 0; n <= 70; n++) {
        for (uint32_t first = 0; first <= n + 1; first++) {
            for (uint32_t count = 0; count <= n + 1; count++) {
                struct node node = {first, count};
                bool expected = count > 0 && n > 0 && naive_has(tree_root(n), node);
                if (tree_has(n, node) != expected)
                    ck_abort_msg("[%u, +%u) of %u", first, count, n);
            }
        }
    }
}

TEST_PLAIN(a_node_outside_the_tree_is_refused)
{
    ck_assert(!tree_has(4, (struct node){4, 1}));
    ck_assert(!tree_has(4, (struct node){0, 5}));
    ck_assert(!tree_has(4, (struct node){0, 0}));
    ck_assert(!tree_has(0, (struct node){0, 0}));
    /* Sums that wrap around 32 bits. */
    ck_assert(!tree_has(4, (struct node){UINT32_MAX, 1}));
    ck_assert(!tree_has(4, (struct node){UINT32_MAX, 3}));
    ck_assert(!tree_has(4, (struct node){2, UINT32_MAX}));
    ck_assert(!tree_has(UINT32_MAX, (struct node){UINT32_MAX, UINT32_MAX}));
    ck_assert(tree_has(UINT32_MAX, (struct node){UINT32_MAX - 1, 1}));
    ck_assert(tree_has(UINT32_MAX, (struct node){0, UINT32_MAX}));
}

TEST_PLAIN(any_values_are_safe_to_ask_about)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 100000; i++) {
        uint32_t n = random_next(&sequence) >> (random_next(&sequence) % 32);
        uint32_t first = random_next(&sequence) >> (random_next(&sequence) % 32);
        uint32_t count = random_next(&sequence) >> (random_next(&sequence) % 32);
        if (tree_has(n, (struct node){first, count}))
            ck_assert((uint64_t)first + count <= n && count > 0);
    }
}

static void check_family(uint32_t n, struct node node)
{
    if (node.leaf_count < 2)
        return;
    struct node left, right;
    tree_children(node, &left, &right);
    ck_assert(node_equal(node_parent(left, right), node));
    ck_assert(node_equal(node_parent(right, left), node));
    ck_assert(node_equal(tree_sibling(n, left), right));
    ck_assert(node_equal(tree_sibling(n, right), left));
    check_family(n, left);
    check_family(n, right);
}

TEST_PLAIN(children_know_their_parent_and_each_other)
{
    for (uint32_t n = 1; n <= 200; n++)
        check_family(n, tree_root(n));
    check_family(TREE_LEAVES_MAX, tree_root(TREE_LEAVES_MAX));
    check_family(TREE_LEAVES_MAX - 1, tree_root(TREE_LEAVES_MAX - 1));
}

static void check_cover(uint32_t n, uint32_t first, uint32_t count)
{
    struct node nodes[TREE_COVER_MAX];
    uint32_t used = tree_cover(n, first, count, nodes);
    uint32_t at = first;
    for (uint32_t i = 0; i < used; i++) {
        ck_assert(tree_has(n, nodes[i]));
        ck_assert_uint_eq(nodes[i].first_leaf, at);
        at += nodes[i].leaf_count;
    }
    ck_assert_uint_eq(at, first + count);
    ck_assert_uint_eq(used, naive_cover_count(tree_root(n), first, count));
}

TEST_PLAIN(a_cover_is_exact_and_has_the_fewest_nodes)
{
    for (uint32_t n = 1; n <= 70; n++) {
        for (uint32_t first = 0; first <= n; first++)
            for (uint32_t count = 0; first + count <= n; count++)
                check_cover(n, first, count);
    }
    for (uint32_t first = 0; first < 40; first++)
        check_cover(TREE_LEAVES_MAX - 5, first, TREE_LEAVES_MAX - 45);
}

TEST_PLAIN(the_widest_cover_fits_its_array)
{
    struct node nodes[TREE_COVER_MAX];
    ck_assert_uint_eq(tree_cover(TREE_LEAVES_MAX, 1, TREE_LEAVES_MAX - 2, nodes), 22);
    uint32_t used = tree_cover(UINT32_MAX, 1, UINT32_MAX - 2, nodes);
    ck_assert_uint_ge(used, 32);
    for (uint32_t i = 0; i < used; i++)
        ck_assert(tree_has(UINT32_MAX, nodes[i]));
}

TEST_PLAIN(runs_tile_the_leaves_as_evenly_as_they_can)
{
    for (uint32_t n = 1; n <= 80; n++) {
        for (uint32_t members = 1; members <= 90; members++) {
            uint32_t at = 0;
            for (uint32_t i = 0; i < members; i++) {
                struct node run = tree_run(n, members, i);
                ck_assert_uint_eq(run.first_leaf, at);
                ck_assert_uint_ge(run.leaf_count, n / members);
                ck_assert_uint_le(run.leaf_count, (n + members - 1) / members);
                at += run.leaf_count;
            }
            ck_assert_uint_eq(at, n);
        }
    }
}

TEST_PLAIN(a_run_of_a_power_of_two_leaves_is_one_node)
{
    for (uint32_t length = 1; length <= 64; length *= 2) {
        for (uint32_t members = 1; members <= 20; members++)
            for (uint32_t i = 0; i < members; i++)
                ck_assert(tree_has(length * members, tree_run(length * members, members, i)));
    }
}

TEST_PLAIN(the_reference_step_of_four_leaves_is_spread_over_its_workers)
{
    ck_assert(node_equal(tree_run(4, 1, 0), (struct node){0, 4}));
    ck_assert(node_equal(tree_run(4, 2, 1), (struct node){2, 2}));
    ck_assert(node_equal(tree_run(4, 4, 3), (struct node){3, 1}));
    uint32_t idle = 0;
    for (uint32_t i = 0; i < 7; i++)
        idle += tree_run(4, 7, i).leaf_count == 0;
    ck_assert_uint_eq(idle, 3);
}

int main(void)
{
    return suite_run("tree", NULL);
}
