/* test_update_sum.c - what a sum is divided by, and at which rate it is applied. */
/* promises: loss-scale */

#include "common/job/update_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"
#include "tests/reference/optimizer_reference.h"
#include "tests/reference/update_reference.h"

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

/* --- float64 -------------------------------------------------------------------------------- */

enum { CASE_COUNT = sizeof update_cases / sizeof *update_cases, BIAS = 16, ROOM = 32 };

/* A kernel and a bias of as many elements each. */
static struct job job_of_case(size_t index)
{
    struct job job = small_job(MODE_SYNC, 1, 1);
    job.variables[0] = (struct variable){
        "dense1/kernel", 2, {UPDATE_COUNT, 1}, INITIALIZER_ZEROS, UPDATE_COUNT, 1, 0};
    job.variables[1] =
        (struct variable){"dense1/bias", 1, {UPDATE_COUNT}, INITIALIZER_ZEROS, 0, 0, 0};
    job.optimizer = update_cases[index].settings;
    job.schedule.learning_rate = (double)update_cases[index].learning_rate;
    job.l2 = update_cases[index].l2;
    job.loss_scale = update_cases[index].scale;
    job.batch = UPDATE_BATCH;
    return job;
}

struct elements {
    float values[ROOM], slots[OPTIMIZER_SLOTS_MAX][ROOM];
};

static void begin(const struct job *job, struct elements *elements)
{
    const struct optimizer *rule = optimizer_find(job->optimizer.name);
    memset(elements, 0, sizeof *elements);
    for (int i = 0; i < UPDATE_COUNT; i++)
        elements->values[i] = elements->values[BIAS + i] = reference_initial[i];
    for (uint32_t slot = 0; slot < rule->slot_count; slot++)
        for (int i = 0; i < ROOM; i++)
            elements->slots[slot][i] = rule->slot_initial(&job->optimizer, slot);
}

static void make_update(const struct job *job, struct elements *elements, uint64_t step)
{
    uint64_t offsets[2] = {0, BIAS};
    float sum[ROOM] = {0}, *slots[] = {elements->slots[0], elements->slots[1]};
    for (int i = 0; i < UPDATE_COUNT; i++)
        sum[i] = sum[BIAS + i] = reference_gradient[step][i];
    update_by_sum(job, offsets,
                  &(struct update_sum){.version = step,
                                       .batches = step,
                                       .examples = update_examples[step],
                                       .gradients = 1,
                                       .count = ROOM,
                                       .sum = sum,
                                       .values_in = elements->values,
                                       .values_out = elements->values,
                                       .slots = slots});
}

/* One element against float64: a few roundings a step, of the value and of what was added to it. */
struct course {
    double before, moved;
};

static void compare(struct course *course, const char *rule, int i, float got, double expected)
{
    double first = (double)reference_initial[i];
    course->moved += fabs(expected - course->before);
    course->before = expected;
    double tolerance = 4 * (double)FLT_EPSILON * (fabs(first) + fabs(expected) + course->moved);
    ck_assert_msg(fabs((double)got - expected) <= tolerance, "%s, element %d: %.9g, not %.9g", rule,
                  i, (double)got, expected);
}

TEST_TIMES(every_rule_with_l2_and_ragged_batches_is_that_of_float64, CASE_COUNT)
{
    size_t index = (size_t)_i;
    struct job job = job_of_case(index);
    struct elements elements;
    begin(&job, &elements);
    struct course kernel[UPDATE_COUNT], bias[UPDATE_COUNT];
    for (int i = 0; i < UPDATE_COUNT; i++)
        kernel[i] = bias[i] = (struct course){(double)reference_initial[i], 0};
    for (uint64_t step = 0; step < UPDATE_STEPS; step++) {
        make_update(&job, &elements, step);
        for (int i = 0; i < UPDATE_COUNT; i++) {
            compare(&kernel[i], job.optimizer.name, i, elements.values[i],
                    update_cases[index].kernel[step][i]);
            compare(&bias[i], job.optimizer.name, i, elements.values[BIAS + i],
                    update_cases[index].bias[step][i]);
        }
    }
    job_free(&job);
}

TEST_PLAIN(every_rule_is_among_them)
{
    for (unsigned i = 0; optimizer_at(i) != NULL; i++) {
        unsigned found = 0;
        for (size_t j = 0; j < CASE_COUNT; j++)
            found += strcmp(update_cases[j].settings.name, optimizer_at(i)->name) == 0;
        ck_assert_msg(found >= 2, "%s has none", optimizer_at(i)->name);
    }
}

int main(void)
{
    return suite_run("update_sum", NULL);
}
