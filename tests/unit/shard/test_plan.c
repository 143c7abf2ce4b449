/* test_plan.c - the most that a worker may push is never less than it has to. */

#include "ps/shard/plan.h"

#include "common/job/tree.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static struct plan *plan_of(struct job *job, uint32_t server)
{
    struct plan *plan;
    struct error error;
    ck_assert_msg(plan_create(&plan, job, server, 1, &error) == STATUS_OK, "%s", error.text);
    return plan;
}

/* Jobs of `leaves` leaves and a last step of `last`, or none shorter. */
static uint32_t pushes_max(enum mode mode, uint32_t leaves, uint32_t last)
{
    struct job job = small_job(mode, 2, 1);
    job.micro_batch = 1;
    job.batch = leaves;
    job.examples = leaves + last;
    struct plan *plan = plan_of(&job, 0);
    uint32_t pushes = plan->pushes_max;
    plan_destroy(&plan);
    job_free(&job);
    return pushes;
}

TEST_PLAIN(a_worker_pushes_no_more_than_the_plan_says_whatever_the_number_of_workers)
{
    struct node nodes[TREE_COVER_MAX];
    for (uint32_t leaves = 1; leaves <= 40; leaves++) {
        uint32_t most = pushes_max(MODE_SYNC, leaves, 0), seen = 0;
        for (uint32_t members = 1; members <= 50; members++) {
            for (uint32_t i = 0; i < members; i++) {
                struct node run = tree_run(leaves, members, i);
                uint32_t count = tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
                seen = count > seen ? count : seen;
            }
        }
        ck_assert_uint_eq(most, seen);
    }
    ck_assert_uint_eq(pushes_max(MODE_SYNC, 4, 0), 1); /* Three workers: [0,1) [1,2) [2,4). */
    ck_assert_uint_eq(pushes_max(MODE_SYNC, 6, 0), 2); /* Two: [0,2) [2,3) and [3,4) [4,6). */
}

TEST_PLAIN(the_last_step_of_an_epoch_counts_too)
{
    ck_assert_uint_eq(pushes_max(MODE_SYNC, 8, 0), pushes_max(MODE_SYNC, 8, 4));
    ck_assert_uint_gt(pushes_max(MODE_SYNC, 16, 15), pushes_max(MODE_SYNC, 1, 0));
    ck_assert_uint_ge(pushes_max(MODE_SYNC, 16, 15), pushes_max(MODE_SYNC, 15, 0));
}

TEST_PLAIN(an_async_batch_is_pushed_whole)
{
    ck_assert_uint_eq(pushes_max(MODE_ASYNC, 16, 7), 1);
}

int main(void)
{
    return suite_run("plan", NULL);
}
