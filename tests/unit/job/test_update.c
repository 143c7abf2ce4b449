/* test_update.c - a rule that spares biases finds them wherever a stretch begins and ends. */

#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/job/update.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

enum { ELEMENTS = 128, STEPS = 3, VARIABLES = 3 }; /* 7x5, 5 and 5x10, each in whole granules. */

struct model {
    float values[ELEMENTS], slots[OPTIMIZER_SLOTS_MAX][ELEMENTS];
};

static struct job job_with(const char *optimizer, uint64_t offsets[VARIABLES])
{
    struct job job = sample_job();
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
static void train(struct model *model, const char *optimizer, uint64_t stretch)
{
    uint64_t offsets[VARIABLES];
    float gradient[ELEMENTS];
    struct job job = job_with(optimizer, offsets);
    memset(model, 0, sizeof *model);
    fill(model->values, 0);
    for (uint32_t step = 1; step <= STEPS; step++) {
        fill(gradient, step);
        for (uint64_t first = 0; first < ELEMENTS; first += stretch) {
            struct optimizer_update update = {
                .t = step,
                .learning_rate = 0.01f,
                .scale = 0.25f,
                .count = first + stretch < ELEMENTS ? stretch : ELEMENTS - first,
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
    train(&whole, name, ELEMENTS);
    for (uint64_t stretch = 1; stretch < ELEMENTS; stretch++) {
        train(&cut, name, stretch);
        ck_assert_msg(memcmp(&whole, &cut, sizeof cut) == 0, "%s by %d", name, (int)stretch);
    }
}

TEST_PLAIN(kernels_decay_and_biases_do_not)
{
    uint64_t offsets[VARIABLES];
    struct model plain, decayed;
    struct job job = job_with("adamw", offsets);
    train(&plain, "adam", ELEMENTS);
    train(&decayed, "adamw", ELEMENTS);
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

int main(void)
{
    return suite_run("update", NULL);
}
