/* test_told_steps.c - which leaves count of the steps that START tells of. */

#include "worker/mode/told_steps.h"

#include <string.h>

#include "tests/lib/suite.h"

static const struct job JOB = {.examples = 80, .batch = 8, .micro_batch = 2, .steps = 10};

/* Of the steps 4 and 5 one leaf each: 1 and 2. */
static struct frame *list(void)
{
    uint8_t bytes[LEAF_SETS_START_MAX + 2 * LEAF_SET_BYTES_MAX];
    size_t used = leaf_sets_put_start(bytes, 4, 2);
    for (uint32_t leaf = 1; leaf < 3; leaf++) {
        struct leaf_set set;
        leaf_set_clear(&set);
        leaf_set_add(&set, (struct node){leaf, 1});
        used += leaf_set_put(bytes + used, &set);
    }
    struct frame *frame = frame_create(used);
    ck_assert_ptr_nonnull(frame);
    memcpy(frame->data, bytes, used);
    return frame;
}

static struct step_shape shape_of(struct told_steps *told, uint64_t step)
{
    struct step_shape shape;
    ck_assert_int_eq(told_steps_shape(told, step, &shape), STATUS_OK);
    return shape;
}

TEST_PLAIN(a_step_that_is_told_has_its_set_and_others_have_none)
{
    const struct message_start start = {.assignment = 1};
    struct told_steps told = {.job = &JOB};
    ck_assert_ptr_null(shape_of(&told, 4).set);
    ck_assert_int_eq(told_steps_take(&told, &JOB, &start, list()), STATUS_OK);
    ck_assert_ptr_null(shape_of(&told, 3).set);
    ck_assert_ptr_null(shape_of(&told, 6).set);
    for (uint32_t leaf = 1; leaf < 3; leaf++) {
        struct step_shape shape = shape_of(&told, 3 + leaf);
        ck_assert_uint_eq(shape.batch.first, (3 + leaf) * 8);
        ck_assert_ptr_nonnull(shape.set);
        ck_assert_uint_eq(leaf_set_count(shape.set, tree_root(4)), 1);
        ck_assert(leaf_set_has(shape.set, leaf));
    }
    ck_assert_int_eq(told_steps_take(&told, &JOB, &start, NULL),
                     STATUS_OK); /* A later START that tells of none. */
    ck_assert_ptr_null(shape_of(&told, 4).set);
    told_steps_free(&told);
}

int main(void)
{
    return suite_run("told_steps", NULL);
}
