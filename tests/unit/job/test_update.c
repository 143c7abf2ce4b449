/* test_update.c - a rule that spares biases finds them wherever a stretch begins and ends. */
/* promises: loss-scale */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/job/l2.h"
#include "common/job/update.h"
#include "common/job/update_sum.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

enum { ELEMENTS = 128, STEPS = 3, VARIABLES = 3 }; /* 7x5, 5 and 5x10, each in whole granules. */

struct model {
    float values[ELEMENTS], slots[OPTIMIZER_SLOTS_MAX][ELEMENTS];
};

static struct job job_with(const char *optimizer, uint64_t offsets[VARIABLES])
{
    struct job job = sample_job();
    job.l2 = 0;
    job.optimizer = optimizer_find(optimizer)->defaults;
    ck_assert_uint_eq(job.variable_count, VARIABLES);
    ck_assert_uint_eq(variables_layout(job.variables, VARIABLES, offsets), ELEMENTS);
    return job;
}

static void fill(float *values, uint32_t sub)
{
    struct random_sequence random;
    random_sequence_init(&random, 3, RANDOM_STREAM_PROBE, sub);
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = random_unit_float(random_next(&random)) - 0.5f;
}

/* Some steps in stretches of so many elements. */
static void train(struct model *model, const char *optimizer, float l2, uint64_t interval)
{
    uint64_t offsets[VARIABLES];
    float gradient[ELEMENTS];
    struct job job = job_with(optimizer, offsets);
    job.l2 = l2;
    memset(model, 0, sizeof *model);
    fill(model->values, 0);
    for (uint32_t step = 1; step <= STEPS; step++) {
        fill(gradient, step);
        for (uint64_t first = 0; first < ELEMENTS; first += interval) {
            struct optimizer_update update = {
                .t = step,
                .learning_rate = 0.01f,
                .scale = 0.25f,
                .count = first + interval < ELEMENTS ? interval : ELEMENTS - first,
                .gradient = gradient + first,
                .values_in = model->values + first,
                .values_out = model->values + first,
                .slots = {model->slots[0] + first, model->slots[1] + first},
            };
            update_apply(&job, offsets, first, &update);
        }
    }
    job_free(&job);
}

/* By hand: w += m (sum / examples - w), with adam, decay and l2 for the rest. */
TEST_PLAIN(an_average_moves_by_its_rate_towards_the_mean_and_no_rule_touches_it)
{
    uint64_t offsets[VARIABLES];
    float gradient[ELEMENTS], before[ELEMENTS];
    struct model model = {.values = {0}};
    struct job job = job_with("adamw", offsets);
    job.l2 = 0.5f;
    job.variables[0].average = 0.25f;
    fill(model.values, 0);
    fill(gradient, 1);
    memcpy(before, model.values, sizeof before);
    const struct update_sum what = {
        .examples = 8,
        .gradients = 1,
        .count = ELEMENTS,
        .sum = gradient,
        .values_in = model.values,
        .values_out = model.values,
        .slots = (float *[]){model.slots[0], model.slots[1]},
    };
    update_by_sum(&job, offsets, &what);
    for (uint64_t i = 0; i < offsets[1]; i++) {
        ck_assert(model.values[i] == before[i] + 0.25f * (gradient[i] * 0.125f - before[i]));
        ck_assert(model.slots[0][i] == 0 && model.slots[1][i] == 0);
    }
    ck_assert(model.values[offsets[1]] != before[offsets[1]] && model.slots[1][offsets[1]] > 0);
    job_free(&job);
}

static unsigned count_optimizers(void)
{
    unsigned count = 0;
    while (optimizer_at(count) != NULL)
        count++;
    return count;
}

TEST_TIMES(where_stretches_begin_and_end_decides_no_bit, count_optimizers())
{
    struct model whole, cut;
    const char *name = optimizer_at((unsigned)_i)->name;
    for (int i = 0; i < 2; i++) {
        float l2 = i == 0 ? 0 : 0.03f;
        train(&whole, name, l2, ELEMENTS);
        for (uint64_t interval = 1; interval < ELEMENTS; interval++) {
            train(&cut, name, l2, interval);
            ck_assert_msg(memcmp(&whole, &cut, sizeof cut) == 0, "%s by %d", name, (int)interval);
        }
    }
}

TEST_PLAIN(kernels_decay_and_biases_do_not)
{
    uint64_t offsets[VARIABLES];
    struct model plain, decayed;
    struct job job = job_with("adamw", offsets);
    train(&plain, "adam", 0, ELEMENTS);
    train(&decayed, "adamw", 0, ELEMENTS);
    ck_assert_mem_eq(plain.slots, decayed.slots, sizeof plain.slots);
    for (uint32_t v = 0; v < VARIABLES; v++) {
        bool bias = strstr(job.variables[v].name, "bias") != NULL;
        for (uint64_t i = 0; i < variable_elements(&job.variables[v]); i++) {
            float a = plain.values[offsets[v] + i], w = decayed.values[offsets[v] + i];
            ck_assert_msg((a == w) == bias, "%s, element %d", job.variables[v].name, (int)i);
        }
    }
    job_free(&job);
}

TEST_TIMES(l2_is_a_part_of_the_gradient_of_kernels_alone, count_optimizers())
{
    uint64_t offsets[VARIABLES];
    struct model plain, regularised;
    const char *name = optimizer_at((unsigned)_i)->name;
    struct job job = job_with(name, offsets);
    train(&plain, name, 0, ELEMENTS);
    train(&regularised, name, 0.03f, ELEMENTS);
    for (uint32_t v = 0; v < VARIABLES; v++) {
        bool bias = variable_is_bias(&job.variables[v]);
        ck_assert(bias == (strstr(job.variables[v].name, "bias") != NULL));
        for (uint64_t i = 0; i < variable_elements(&job.variables[v]); i++)
            ck_assert_msg((plain.values[offsets[v] + i] == regularised.values[offsets[v] + i]) ==
                              bias,
                          "%s, %s, element %d", name, job.variables[v].name, (int)i);
    }
    job_free(&job);
}

/* w = 1 - 0.5 (8 x 0.25 + 2 x 0.5 x 1): every term of it is exact. */
TEST_PLAIN(l2_adds_twice_its_strength_times_the_value_to_the_mean)
{
    uint64_t offsets[VARIABLES];
    struct job job = job_with("sgd", offsets);
    float values[ELEMENTS], gradient[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = 1, gradient[i] = 8;
    job.l2 = 0.5f;
    update_apply(&job, offsets, 0,
                 &(struct optimizer_update){.t = 1,
                                            .learning_rate = 0.5f,
                                            .scale = 0.25f,
                                            .count = ELEMENTS,
                                            .gradient = gradient,
                                            .values_in = values,
                                            .values_out = values});
    ck_assert(values[offsets[0]] == -0.5f);
    ck_assert(values[offsets[1]] == 0.0f); /* A bias. */
    ck_assert(values[offsets[2]] == -0.5f);
    job_free(&job);
}

TEST_PLAIN(the_loss_of_l2_is_of_kernels_and_not_of_gaps)
{
    uint64_t offsets[VARIABLES];
    struct job job = job_with("sgd", offsets);
    float values[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = 3;
    ck_assert(isnan(l2_loss(&job, values)));
    job.l2 = 0.5f;
    ck_assert(l2_loss(&job, values) == 0.5 * 9 * (7 * 5 + 5 * 10));
    values[offsets[1]] = NAN; /* A bias. */
    ck_assert(l2_loss(&job, values) == 0.5 * 9 * (7 * 5 + 5 * 10));
    job_free(&job);
}

int main(void)
{
    return suite_run("update", NULL);
}
