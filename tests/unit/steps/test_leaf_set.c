/* test_leaf_set.c - sets of leaves, how many examples they hold, and lists of them from anyone. */

#include "common/steps/leaf_set.h"

#include <string.h>

#include "common/base/random.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static struct leaf_set set_of(uint64_t seed, uint32_t leaves)
{
    struct random_sequence random;
    struct leaf_set set;
    random_sequence_init(&random, seed, RANDOM_STREAM_PROBE, 0);
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){random_below(&random, leaves), 1});
    for (uint32_t i = 0; i < leaves; i++)
        if (random_below(&random, 2) == 0)
            leaf_set_add(&set, (struct node){i, 1});
    return set;
}

TEST_PLAIN(the_last_leaf_may_have_fewer_examples)
{
    struct job job = small_job(MODE_BACKUP, 2, 1); /* 20 in batches of 8: the third has 4. */
    job.micro_batch = 3;
    struct batch_range batch = job_batch(&job, 0); /* 3, 3, 2 */
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){0, 1});
    ck_assert_uint_eq(leaf_set_examples(&set, &job, batch, tree_root(3)), 3);
    leaf_set_add(&set, (struct node){2, 1});
    ck_assert_uint_eq(leaf_set_examples(&set, &job, batch, tree_root(3)), 5);
    ck_assert_uint_eq(leaf_set_examples(&set, &job, batch, (struct node){0, 2}), 3);
    ck_assert_uint_eq(leaf_set_examples(&set, &job, batch, (struct node){1, 1}), 0);
    ck_assert_uint_eq(leaf_set_examples(NULL, &job, batch, tree_root(3)), 8);
    job_free(&job);
}

TEST_PLAIN(nodes_without_a_leaf_of_the_set_are_left_out)
{
    struct node nodes[3] = {{0, 2}, {2, 2}, {4, 1}};
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){1, 1});
    leaf_set_add(&set, (struct node){4, 1});
    ck_assert_uint_eq(leaf_set_keep(&set, nodes, 3), 2);
    ck_assert(nodes[0].first_leaf == 0 && nodes[1].first_leaf == 4);
}

static bool fit(const uint8_t *bytes, size_t count, const struct job *job)
{
    struct leaf_sets list;
    return leaf_sets_open(&list, bytes, count) && leaf_sets_fit(list, job);
}

TEST_PLAIN(a_list_is_read_as_it_was_written)
{
    static uint8_t bytes[LEAF_SETS_START_MAX + 40 * LEAF_SET_BYTES_MAX];
    struct job job = small_job(MODE_BACKUP, 2, 1);
    job.batch = 4096;
    job.micro_batch = 1;
    job.examples = 4096 * 10;
    job.steps = 100;
    size_t used = leaf_sets_put_start(bytes, 7, 40);
    for (uint64_t step = 7; step < 47; step++) {
        struct leaf_set set = set_of(step, step < 10 ? 4096 : 9);
        used += leaf_set_put(bytes + used, &set);
    }
    ck_assert(fit(bytes, used, &job));
    for (uint64_t step = 0; step < 60; step++) {
        struct leaf_set found, set = set_of(step, step < 10 ? 4096 : 9);
        bool there = step >= 7 && step < 47;
        ck_assert(leaf_sets_find(bytes, used, step, &found) == there);
        ck_assert(!there || memcmp(&found, &set, sizeof set) == 0);
    }
    for (size_t cut = 0; cut < used; cut += cut < 40 ? 1 : 97) /* Nor any that is cut short. */
        ck_assert(!fit(bytes, cut, &job));
    ck_assert(!fit(bytes, used + 1, &job));
    job.steps = 46;
    ck_assert(!fit(bytes, used, &job));
    job_free(&job);
}

TEST_PLAIN(what_is_no_set_is_refused)
{
    static const uint8_t wrong[][8] = {
        {0, 1, 0},                /* Of no runs. */
        {0, 1, 1, 0, 0},          /* A run of no leaves. */
        {0, 1, 2, 0, 1, 0, 1},    /* Two runs that are one. */
        {0, 1, 1, 0x80, 0x20, 1}, /* Behind the last leaf there can be. */
        {0, 1, 1, 0, 9},          /* More leaves than the step has. */
    };
    struct job job = small_job(MODE_BACKUP, 2, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t count = 0; count <= 8; count++)
            ck_assert(!fit(wrong[i], count, &job));
    job_free(&job);
}

int main(void)
{
    return suite_run("leaf_set", NULL);
}
