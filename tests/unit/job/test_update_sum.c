/* test_update_sum.c - what a sum is divided by, and at which rate it is applied. */

#include "common/job/update_sum.h"

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { COUNT = 64 };

/* One update by sgd of values that are 0: what it moves them by. */
static float moved_by(const struct job *job, struct update_sum what, float sum)
{
    uint64_t offsets[2] = {0, 48};
    float sums[COUNT], values[COUNT] = {0}, *none[1] = {NULL};
    for (int i = 0; i < COUNT; i++)
        sums[i] = sum;
    what.count = COUNT;
    what.sum = sums;
    what.values_in = what.values_out = values;
    what.slots = none;
    update_by_sum(job, offsets, &what);
    for (int i = 1; i < COUNT; i++)
        ck_assert(values[i] == values[0]);
    return -values[0];
}

/* Batches of 8; the last of an epoch has 4. */
TEST_PLAIN(a_sum_is_divided_by_its_examples_or_by_the_batch_of_each_gradient)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    struct update_sum ragged = {.examples = 4, .gradients = 1},
                      three = {.examples = 20, .gradients = 3};
    ck_assert(moved_by(&job, ragged, 16) == 4);
    ck_assert(moved_by(&job, three, 20) == 1);
    ck_assert(update_scale(&job, 4, 1) == 0.25f);
    job.loss_scale = LOSS_SCALE_GLOBAL_BATCH;
    ck_assert(moved_by(&job, ragged, 16) == 2);
    ck_assert(moved_by(&job, three, 24) == 1);
    ck_assert(update_scale(&job, 4, 1) == 0.125f);
    job_free(&job);
}

TEST_PLAIN(a_full_batch_has_the_same_bits_by_both)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    for (uint32_t gradients = 1; gradients < 1000; gradients += 7)
        for (int scale = 0; scale < LOSS_SCALE_COUNT; scale++) {
            job.loss_scale = (enum loss_scale)scale;
            ck_assert(update_scale(&job, gradients * job.batch, gradients) ==
                      1.0f / (float)(gradients * job.batch));
        }
    job_free(&job);
}

TEST_PLAIN(the_rate_is_that_of_the_place_in_the_schedule_and_of_staleness)
{
    struct job job = small_job(MODE_ASYNC, 5, 1);
    job.schedule = (struct schedule){SCHEDULE_STEP, 8, 0, 10, 0.5};
    struct update_sum what = {
        .examples = 8, .gradients = 1, .batches = 10, .version = 3, .staleness = 4};
    ck_assert(moved_by(&job, what, 8) == 4);
    job.staleness_rate = STALENESS_RATE_INVERSE;
    ck_assert(moved_by(&job, what, 8) == 1);
    job_free(&job);
}

int main(void)
{
    return suite_run("update_sum", NULL);
}
