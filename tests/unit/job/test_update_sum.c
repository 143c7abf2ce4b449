/* test_update_sum.c - what a sum is divided by, and at which rate it is applied. */
/* promises: loss-scale */

#include "common/job/update_sum.h"

#include <string.h>

#include "deploy/verify/serial_model.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"
#include "tests/reference/optimizer_reference.h"

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
    job.schedule = (struct schedule){SCHEDULE_STEP, 8, 0, 10, 0.5, 0};
    struct update_sum what = {
        .examples = 8, .gradients = 1, .batches = 10, .version = 3, .staleness = 4};
    ck_assert(moved_by(&job, what, 8) == 4);
    job.staleness_rate = STALENESS_RATE_INVERSE;
    ck_assert(moved_by(&job, what, 8) == 1);
    job_free(&job);
}

/* --- double --------------------------------------------------------------------------------- */

enum {
    CASE_COUNT = sizeof reference_cases / sizeof *reference_cases,
    BIAS = 16,
    ROOM = 32,
    ARRAYS = 1 + OPTIMIZER_SLOTS_MAX,
};

/* Every rule, on a kernel with l2 and a bias without, in batches of 4 of which some are ragged: each step is that of
 * the formulas in double. */
TEST_TIMES(every_rule_with_l2_and_ragged_batches_is_that_of_double, 2 * CASE_COUNT)
{
    static const uint32_t examples[] = {4, 4, 2, 4, 4, 3};
    uint64_t offsets[2] = {0, BIAS};
    float arrays[ARRAYS][ROOM] = {{0}}, before[ARRAYS][ROOM], sum[ROOM] = {0};
    float *now[ARRAYS] = {arrays[0], arrays[1], arrays[2]},
          *then[ARRAYS] = {before[0], before[1], before[2]};
    struct job job = small_job(MODE_SYNC, 1, 1);
    job.variables[0] = (struct variable){
        "dense1/kernel", 2, {REFERENCE_COUNT, 1}, INITIALIZER_ZEROS, REFERENCE_COUNT, 1, 0};
    job.variables[1] =
        (struct variable){"dense1/bias", 1, {REFERENCE_COUNT}, INITIALIZER_ZEROS, 0, 0, 0};
    job.optimizer = reference_cases[_i / 2].settings;
    job.schedule.learning_rate = reference_cases[_i / 2].rate;
    job.l2 = _i / 2 % 2 == _i % 2 ? 0.01f : 0.3f;
    job.loss_scale = _i % 2 == 0 ? LOSS_SCALE_EXAMPLES : LOSS_SCALE_GLOBAL_BATCH;
    job.batch = 4;
    const struct optimizer *rule = optimizer_find(job.optimizer.name);
    for (uint32_t slot = 0; slot < rule->slot_count; slot++)
        for (int i = 0; i < ROOM; i++)
            arrays[1 + slot][i] = rule->slot_initial(&job.optimizer, slot);
    for (int i = 0; i < REFERENCE_COUNT; i++)
        arrays[0][i] = arrays[0][BIAS + i] = reference_initial[i];
    for (uint64_t step = 0; step < sizeof examples / sizeof *examples; step++) {
        memcpy(before, arrays, sizeof before);
        for (int i = 0; i < REFERENCE_COUNT; i++)
            sum[i] = sum[BIAS + i] = reference_gradient[step][i];
        update_by_sum(&job, offsets,
                      &(struct update_sum){.version = step,
                                           .batches = step,
                                           .examples = examples[step],
                                           .gradients = 1,
                                           .count = ROOM,
                                           .sum = sum,
                                           .values_in = now[0],
                                           .values_out = now[0],
                                           .slots = now + 1});
        double off = serial_model_differs(&job, offsets,
                                          &(struct model_update){.version = step,
                                                                 .batches = step,
                                                                 .examples = examples[step],
                                                                 .gradients = 1,
                                                                 .count = ROOM,
                                                                 .gradient = sum},
                                          then, now);
        ck_assert_msg(off < SERIAL_MODEL_TOLERANCE, "%s, step %d: %g", rule->name, (int)step, off);
    }
    job_free(&job);
}

int main(void)
{
    return suite_run("update_sum", NULL);
}
