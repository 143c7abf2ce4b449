/* test_pruned.c - sums over some of a step's leaves: the pruned tree's bits, whatever was pushed and in
 * which order. */
/* promises: backup */

#include "ps/shard/aggregator.h"
#include "ps/shard/pruned.h"

#include <string.h>

#include "common/base/random.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define WIDTH 3

static float leaf_value(uint32_t leaf, uint32_t element)
{
    uint32_t block[4];
    random_block(3, RANDOM_STREAM_PROBE, element, leaf, block);
    return (random_unit_float(block[0]) - 0.5f) * (float)(1u << (block[1] % 24));
}

/* Along the tree of all leaves, and nothing for those that are absent. */
static bool sum_of(const struct leaf_set *set, struct node node, float sum[WIDTH])
{
    if (node.leaf_count == 1) {
        for (uint32_t i = 0; i < WIDTH; i++)
            sum[i] = leaf_value(node.first_leaf, i);
        return leaf_set_has(set, node.first_leaf);
    }
    struct node left, right;
    float other[WIDTH];
    tree_children(node, &left, &right);
    bool any = sum_of(set, left, sum), more = sum_of(set, right, other);
    for (uint32_t i = 0; i < WIDTH && more; i++)
        sum[i] = any ? sum[i] + other[i] : other[i];
    return any || more;
}

static struct job job_of(uint32_t leaves)
{
    struct job job = small_job(MODE_BACKUP, 4, 1);
    job.micro_batch = 2;
    job.batch = 2 * leaves - 1; /* The last leaf has one example. */
    job.examples = 10 * job.batch;
    return job;
}

static struct frame *gradient_of(const struct leaf_set *set, struct node node)
{
    struct frame *frame = frame_create(WIDTH * sizeof(float));
    ck_assert(sum_of(set, node, frame->data));
    return frame;
}

static void offer(struct pruned *pruned, const struct job *job, const struct leaf_set *set,
                  struct node node)
{
    struct leaf_set all;
    leaf_set_clear(&all);
    leaf_set_add(&all, node);
    uint32_t examples = leaf_set_examples(set, job, job_batch(job, 0), node);
    ck_assert_int_eq(
        pruned_offer(pruned, node, examples, 0, gradient_of(set != NULL ? set : &all, node)),
        PRUNED_KEPT);
    pruned_check(pruned);
}

static void offer_run(struct pruned *pruned, const struct job *job, uint32_t members,
                      uint32_t place)
{
    uint32_t leaves = job_batch(job, 0).leaves;
    struct node nodes[TREE_COVER_MAX];
    struct node run = tree_run(leaves, members, place);
    uint32_t count = tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
    for (uint32_t i = count; i-- > 0;)
        offer(pruned, job, NULL, nodes[i]);
}

static void expect_sum(struct pruned *pruned, const struct job *job, const struct leaf_set *set)
{
    const struct pruned_step step = {job, job_batch(job, 0), *set};
    float sum[WIDTH];
    sum_of(set, tree_root(step.batch.leaves), sum);
    ck_assert(pruned_is_whole(pruned, &step));
    struct frame *frame = pruned_take(pruned, &step);
    ck_assert_mem_eq(frame->data, sum, sizeof sum);
    aggregator_recycle(&pruned->spare, frame);
    ck_assert_uint_eq(pruned->part_count, 0);
}

TEST_PLAIN(whoever_is_missing_the_rest_has_the_bits_of_the_pruned_tree)
{
    for (uint32_t leaves = 1; leaves <= 24; leaves++)
        for (uint32_t members = 1; members <= 7; members++)
            for (uint32_t out = 0; out < members; out++) {
                struct job job = job_of(leaves);
                struct pruned pruned = {.parts = NULL};
                struct leaf_set set;
                leaf_set_clear(&set);
                for (uint32_t place = 0; place < members; place++)
                    if (place != out)
                        leaf_set_add(&set, tree_run(leaves, members, place));
                if (leaf_set_count(&set, tree_root(leaves)) > 0) {
                    for (uint32_t place = members; place-- > 0;)
                        offer_run(&pruned, &job, members, place); /* Also the late one's. */
                    expect_sum(&pruned, &job, &set);
                }
                pruned_free(&pruned);
                job_free(&job);
            }
}

/* The same leaves in the tree of fewer leaves: other bits. */
TEST_PLAIN(the_tree_is_not_that_of_the_leaves_that_are_left)
{
    float compact[WIDTH], pruned[WIDTH];
    struct leaf_set set, four;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){1, 4});
    leaf_set_clear(&four);
    leaf_set_add(&four, (struct node){0, 4});
    sum_of(&set, tree_root(5), pruned); /* 1, 2 + 3, 4 */
    for (uint32_t i = 0; i < WIDTH; i++)
        compact[i] = (leaf_value(1, i) + leaf_value(2, i)) + (leaf_value(3, i) + leaf_value(4, i));
    ck_assert_mem_ne(compact, pruned, sizeof compact);
}

/* Workers changed meanwhile: what was pushed before the set was known has leaves that do not count, and
 * whoever knows the set pushes what does. */
TEST_PLAIN(a_node_with_leaves_that_do_not_count_is_of_no_use)
{
    struct job job = job_of(8);
    struct pruned pruned = {.parts = NULL};
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){0, 3});
    leaf_set_add(&set, (struct node){5, 3});
    offer(&pruned, &job, NULL, (struct node){0, 4});
    offer(&pruned, &job, NULL, (struct node){4, 4});
    const struct pruned_step step = {&job, job_batch(&job, 0), set};
    ck_assert(!pruned_is_whole(&pruned, &step));
    offer(&pruned, &job, &set, (struct node){0, 4});
    ck_assert(pruned_holds(&pruned, (struct node){0, 4}, 6));
    ck_assert(!pruned_holds(&pruned, (struct node){4, 4}, 5));
    ck_assert_int_eq(pruned_offer(&pruned, (struct node){0, 4}, 6, 1, frame_create(12)),
                     PRUNED_DUPLICATE);
    offer(&pruned, &job, &set, (struct node){4, 4});
    expect_sum(&pruned, &job, &set);
    pruned_free(&pruned);
    job_free(&job);
}

int main(void)
{
    return suite_run("pruned", NULL);
}
