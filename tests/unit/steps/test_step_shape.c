/* test_step_shape.c - which examples a leaf of a step has, and how many count. */

#include "common/steps/step_shape.h"

#include "tests/lib/suite.h"

/* Two batches of 10 and one of 3, in leaves of 4. */
static const struct job JOB = {.examples = 23, .batch = 10, .micro_batch = 4, .steps = 6};

TEST_PLAIN(leaves_follow_each_other_in_the_epochs_order)
{
    uint64_t first, next = 0;
    for (uint64_t step = 3; step < 6; step++) { /* The second epoch. */
        const struct step_shape shape = step_shape_of(&JOB, step, NULL);
        ck_assert_uint_eq(shape.batch.epoch, 1);
        for (uint32_t leaf = 0; leaf < shape.batch.leaves; leaf++) {
            uint32_t count = step_shape_leaf(&shape, &JOB, leaf, &first);
            ck_assert_uint_eq(first, next);
            ck_assert_uint_gt(count, 0);
            next += count;
        }
    }
    ck_assert_uint_eq(next, JOB.examples);
}

TEST_PLAIN(only_the_leaves_that_count_have_examples)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){1, 2});
    const struct step_shape all = step_shape_of(&JOB, 1, NULL), some = step_shape_of(&JOB, 1, &set);
    ck_assert_uint_eq(step_shape_examples(&all, &JOB, tree_root(3)), 10);
    ck_assert_uint_eq(step_shape_examples(&some, &JOB, tree_root(3)), 6);
    ck_assert_uint_eq(step_shape_examples(&some, &JOB, (struct node){0, 2}), 4);
}

int main(void)
{
    return suite_run("step_shape", NULL);
}
