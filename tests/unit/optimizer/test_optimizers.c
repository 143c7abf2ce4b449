/* test_optimizers.c - every optimizer against PyTorch's figures, its naive loop, and itself cut and
 * placed otherwise. */
/* promises: optimizers */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/job/job_fields.h"
#include "common/kernels/vectorized.h"
#include "tests/lib/suite.h"
#include "tests/reference/optimizer_reference.h"

enum {
    CASE_COUNT = sizeof reference_cases / sizeof *reference_cases,
    COUNT_MAX = 2 * VECTORIZED_PIECE + 3, /* Two pieces of the longest loop, and a tail. */
    STEPS = 5,
};

/* One variable under training: what an update reads and writes. */
struct state {
    const struct optimizer *optimizer;
    const struct optimizer_settings *settings;
    uint64_t t; /* Updates made. */
    uint64_t count;
    float values[COUNT_MAX];
    float slots[OPTIMIZER_SLOTS_MAX][COUNT_MAX];
};

static void state_init(struct state *state, const struct optimizer_settings *settings,
                       const float *values, uint64_t count)
{
    memset(state, 0, sizeof *state);
    state->optimizer = optimizer_find(settings->name);
    ck_assert_ptr_nonnull(state->optimizer);
    state->settings = settings;
    state->count = count;
    memcpy(state->values, values, count * sizeof *values);
    for (uint32_t slot = 0; slot < state->optimizer->slot_count; slot++)
        for (uint64_t i = 0; i < count; i++)
            state->slots[slot][i] = state->optimizer->slot_initial(settings, slot);
}

/* One update in place. */
static void state_update(struct state *state, float rate, float scale, const float *gradient)
{
    struct optimizer_update update = {
        .settings = state->settings,
        .t = ++state->t,
        .learning_rate = rate,
        .scale = scale,
        .count = state->count,
        .gradient = gradient,
        .values_in = state->values,
        .values_out = state->values,
        .slots = {state->slots[0], state->slots[1]},
    };
    state->optimizer->apply(&update);
}

/* --- the rules ----------------------------------------------------------------------------- */

/* float against float64: a few roundings a step, of the value and of what was added to it. */
static double tolerance(double initial, double expected, double moved)
{
    return 4 * (double)FLT_EPSILON * (fabs(initial) + fabs(expected) + moved);
}

TEST_TIMES(every_rule_comes_to_what_pytorch_does, CASE_COUNT)
{
    struct state state;
    double moved[REFERENCE_COUNT] = {0};
    state_init(&state, &reference_cases[_i].settings, reference_initial, REFERENCE_COUNT);
    for (int step = 0; step < REFERENCE_STEPS; step++) {
        double rate = reference_cases[_i].rate * (1 / (1 + 0.25 * step));
        float before[REFERENCE_COUNT];
        memcpy(before, state.values, sizeof before);
        state_update(&state, (float)rate, reference_scale, reference_gradient[step]);
        for (int i = 0; i < REFERENCE_COUNT; i++)
            moved[i] += fabs((double)state.values[i] - (double)before[i]);
    }
    for (int i = 0; i < REFERENCE_COUNT; i++) {
        double expected = reference_cases[_i].values[i], is = (double)state.values[i];
        ck_assert_msg(
            fabs(is - expected) <= tolerance((double)reference_initial[i], expected, moved[i]),
            "%s, case %d, element %d: %.9g, not %.9g", state.settings->name, _i, i, is, expected);
    }
}

TEST_PLAIN(every_optimizer_has_a_reference)
{
    unsigned count = 0;
    for (; optimizer_at(count) != NULL; count++) {
        const char *name = optimizer_at(count)->name;
        bool found = false;
        for (size_t i = 0; i < CASE_COUNT; i++)
            found = found || strcmp(reference_cases[i].settings.name, name) == 0;
        ck_assert_msg(found, "%s has none", name);
        ck_assert_ptr_eq(optimizer_find(name), optimizer_at(count));
        ck_assert_str_eq(optimizer_at(count)->defaults.name, name);
    }
    ck_assert_uint_eq(count, 7);
}

TEST_PLAIN(the_defaults_are_those_of_keras)
{
    const struct optimizer *sgd = optimizer_find("sgd");
    const struct optimizer *momentum = optimizer_find("momentum");
    const struct optimizer *nesterov = optimizer_find("nesterov");
    const struct optimizer *adagrad = optimizer_find("adagrad");
    const struct optimizer *rmsprop = optimizer_find("rmsprop");
    const struct optimizer *adam = optimizer_find("adam");
    ck_assert(sgd->default_learning_rate == 0.01f);
    ck_assert(momentum->default_learning_rate == 0.01f && momentum->defaults.momentum == 0.9f);
    ck_assert(nesterov->default_learning_rate == 0.01f && nesterov->defaults.momentum == 0.9f);
    ck_assert(adagrad->default_learning_rate == 0.001f && adagrad->defaults.epsilon == 1e-7f);
    ck_assert(adagrad->defaults.initial_accumulator == 0.1f);
    ck_assert(rmsprop->default_learning_rate == 0.001f && rmsprop->defaults.epsilon == 1e-7f);
    ck_assert(rmsprop->defaults.rho == 0.9f && rmsprop->defaults.momentum == 0.0f);
    ck_assert(adam->default_learning_rate == 0.001f && adam->defaults.epsilon == 1e-7f);
    ck_assert(adam->defaults.beta1 == 0.9f && adam->defaults.beta2 == 0.999f);
    const struct optimizer *adamw = optimizer_find("adamw");
    ck_assert(adamw->default_learning_rate == 0.001f && adamw->defaults.epsilon == 1e-7f);
    ck_assert(adamw->defaults.beta1 == 0.9f && adamw->defaults.beta2 == 0.999f);
    ck_assert(adamw->defaults.weight_decay == 0.004f);
}

TEST_PLAIN(adams_correction_is_exact_after_a_million_updates)
{
    /* TensorFlow multiplies up beta2's power in float; ours comes from t. */
    struct optimizer_settings settings = optimizer_find("adam")->defaults;
    float one = 1.0f;
    struct state state;
    state_init(&state, &settings, &one, 1);
    state.t = 999999;
    state_update(&state, 0.001f, 1.0f, &one);
    double m = 1 - (double)settings.beta1, v = 1 - (double)settings.beta2;
    double expected = 1 - (double)0.001f * m / (sqrt(v) + 1e-7);
    ck_assert_double_eq_tol((double)state.values[0], expected, 1e-7);
}

/* --- the bits ------------------------------------------------------------------------------ */

/* Values and gradients of all magnitudes, zeros and denormals among them. */
static void fill(float *out, uint64_t count, uint32_t sub)
{
    struct random_sequence random;
    random_sequence_init(&random, 11, RANDOM_STREAM_PROBE, sub);
    for (uint64_t i = 0; i < count; i++) {
        float unit = 2 * random_unit_float(random_next(&random)) - 1;
        int exponent = (int)random_below(&random, 12) - 10;
        uint32_t kind = random_below(&random, 20);
        out[i] = kind == 0 ? 0.0f : kind == 1 ? unit * 1e-40f : ldexpf(unit, exponent);
    }
}

static void assert_same_bits(const struct state *a, uint64_t a_first, const struct state *b,
                             uint64_t b_first, uint64_t count, const char *when)
{
    size_t bytes = count * sizeof(float);
    bool same = memcmp(a->values + a_first, b->values + b_first, bytes) == 0;
    for (uint32_t slot = 0; slot < a->optimizer->slot_count; slot++)
        same = same && memcmp(a->slots[slot] + a_first, b->slots[slot] + b_first, bytes) == 0;
    ck_assert_msg(same, "%s: other bits %s", a->settings->name, when);
}

struct problem {
    float initial[COUNT_MAX];
    float gradient[STEPS][COUNT_MAX];
};

static void problem_init(struct problem *problem)
{
    fill(problem->initial, COUNT_MAX, 100);
    for (uint32_t step = 0; step < STEPS; step++)
        fill(problem->gradient[step], COUNT_MAX, step);
}

/* Train elements [first, first + count) alone. */
static void train(struct state *state, const struct optimizer_settings *settings,
                  const struct problem *problem, uint64_t first, uint64_t count)
{
    state_init(state, settings, problem->initial + first, count);
    for (int step = 0; step < STEPS; step++)
        state_update(state, 0.01f / (float)(step + 1), 1.0f / 3, problem->gradient[step] + first);
}

TEST_TIMES(an_element_has_the_same_bits_wherever_it_is_and_whatever_is_with_it, CASE_COUNT)
{
    const struct optimizer_settings *settings = &reference_cases[_i].settings;
    struct problem problem;
    struct state whole, alone, part;
    problem_init(&problem);
    train(&whole, settings, &problem, 0, COUNT_MAX);
    for (uint64_t i = 0; i < COUNT_MAX; i++) {
        train(&alone, settings, &problem, i, 1);
        assert_same_bits(&whole, i, &alone, 0, 1, "alone");
    }
    for (uint64_t count = 0; count <= COUNT_MAX; count++) {
        uint64_t first = COUNT_MAX - count; /* Every tail length at every alignment. */
        train(&part, settings, &problem, first, count);
        assert_same_bits(&whole, first, &part, 0, count, "in a part");
        train(&part, settings, &problem, 0, count);
        assert_same_bits(&whole, 0, &part, 0, count, "in a shorter chunk");
    }
}

TEST_TIMES(out_of_place_gives_the_same_bits_and_leaves_its_input, CASE_COUNT)
{
    const struct optimizer_settings *settings = &reference_cases[_i].settings;
    struct problem problem;
    struct state in_place, state;
    problem_init(&problem);
    for (uint64_t count = 1; count <= COUNT_MAX; count += 13) {
        float out[COUNT_MAX + 1];
        train(&in_place, settings, &problem, 0, count);
        state_init(&state, settings, problem.initial, count);
        for (int step = 0; step < STEPS; step++) {
            float before[COUNT_MAX];
            memcpy(before, state.values, sizeof before);
            out[count] = 12345.0f;
            struct optimizer_update update = {
                .settings = settings,
                .t = ++state.t,
                .learning_rate = 0.01f / (float)(step + 1),
                .scale = 1.0f / 3,
                .count = count,
                .gradient = problem.gradient[step],
                .values_in = state.values,
                .values_out = out,
                .slots = {state.slots[0], state.slots[1]},
            };
            state.optimizer->apply(&update);
            ck_assert_mem_eq(state.values, before, sizeof before);
            ck_assert(out[count] == 12345.0f);
            memcpy(state.values, out, count * sizeof *out);
        }
        assert_same_bits(&in_place, 0, &state, 0, count, "out of place");
    }
}

/* The rules once more, an element at a time, compiled here for the baseline instruction set: what
 * the loader picked for this processor must agree with it bit for bit. */
static void naive_update(struct state *state, uint64_t i, float lr, float g)
{
    const struct optimizer_settings *s = state->settings;
    const char *name = s->name;
    float *value = &state->values[i], *a = &state->slots[0][i], *b = &state->slots[1][i];
    if (strcmp(name, "sgd") == 0) {
        *value -= g * lr;
    } else if (strcmp(name, "momentum") == 0) {
        *a = *a * s->momentum - g * lr;
        *value += *a;
    } else if (strcmp(name, "nesterov") == 0) {
        *a = *a * s->momentum - g * lr;
        *value += *a * s->momentum - g * lr;
    } else if (strcmp(name, "adagrad") == 0) {
        *a += g * g;
        *value -= g * lr / (sqrtf(*a) + s->epsilon);
    } else if (strcmp(name, "rmsprop") == 0 && s->momentum == 0) {
        *a = s->rho * *a + (1 - s->rho) * (g * g);
        *value -= g * lr / (sqrtf(*a) + s->epsilon);
    } else if (strcmp(name, "rmsprop") == 0) {
        *a += (g * g - *a) * (1 - s->rho);
        *b = *b * s->momentum + g * lr / sqrtf(*a + s->epsilon);
        *value -= *b;
    } else {
        double t = (double)state->t;
        float alpha = (float)((double)lr * sqrt(1 - pow((double)s->beta2, t)) /
                              (1 - pow((double)s->beta1, t)));
        *a += (g - *a) * (1 - s->beta1);
        *b += (g * g - *b) * (1 - s->beta2);
        if (strcmp(name, "adamw") == 0)
            *value -= *value * (lr * s->weight_decay);
        *value -= *a * alpha / (sqrtf(*b) + s->epsilon);
    }
}

TEST_TIMES(the_fast_loops_agree_with_the_naive_ones, CASE_COUNT)
{
    const struct optimizer_settings *settings = &reference_cases[_i].settings;
    struct problem problem;
    struct state fast, naive;
    problem_init(&problem);
    train(&fast, settings, &problem, 0, COUNT_MAX);
    state_init(&naive, settings, problem.initial, COUNT_MAX);
    for (int step = 0; step < STEPS; step++) {
        naive.t++;
        for (uint64_t i = 0; i < COUNT_MAX; i++)
            naive_update(&naive, i, 0.01f / (float)(step + 1),
                         problem.gradient[step][i] * (1.0f / 3));
    }
    assert_same_bits(&fast, 0, &naive, 0, COUNT_MAX, "one at a time");
}

TEST_TIMES(no_elements_are_no_work, CASE_COUNT)
{
    const struct optimizer_settings *settings = &reference_cases[_i].settings;
    const struct optimizer_update update = {
        .settings = settings, .t = 1, .learning_rate = 0.1f, .scale = 1};
    optimizer_find(settings->name)->apply(&update);
}

/* --- settings ------------------------------------------------------------------------------ */

static enum status check_settings(const struct optimizer_settings *settings, struct error *error)
{
    struct job job = {.optimizer = *settings};
    enum status status = job_fields_check(&job, "optimizer.", error);
    return status != STATUS_OK ? status : optimizer_settings_check(settings, error);
}

static void expect_settings(const char *name, size_t field, float value, const char *says)
{
    struct optimizer_settings settings = optimizer_find(name)->defaults;
    memcpy((char *)&settings + field, &value, sizeof value);
    struct error error = {.text = ""};
    enum status status = check_settings(&settings, &error);
    ck_assert_int_eq(status, says[0] != '\0' ? STATUS_INVALID : STATUS_OK);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
    ck_assert_int_eq(check_settings(&settings, NULL), status);
}

#define SETTINGS(name, field, value, says)                                                         \
    expect_settings(name, offsetof(struct optimizer_settings, field), value, says)

TEST_PLAIN(settings_out_of_range_are_refused)
{
    SETTINGS("momentum", momentum, 1.0f, "momentum");
    SETTINGS("momentum", momentum, -1.1f, "momentum");
    SETTINGS("momentum", momentum, NAN, "momentum");
    SETTINGS("adam", beta1, 1.0f, "beta1");
    SETTINGS("adam", beta2, -1.0f, "beta2");
    SETTINGS("adam", beta2, NAN, "beta2");
    SETTINGS("adam", epsilon, -1e-7f, "epsilon");
    SETTINGS("adam", epsilon, NAN, "epsilon");
    SETTINGS("adam", epsilon, INFINITY, "epsilon");
    SETTINGS("rmsprop", rho, 1.0f, "rho");
    SETTINGS("adagrad", initial_accumulator, -1.0f, "accumulator");
    SETTINGS("adagrad", initial_accumulator, INFINITY, "accumulator");
    /* Whatever comes over the wire is checked, read or not. */
    SETTINGS("sgd", rho, NAN, "rho");
}

TEST_PLAIN(an_epsilon_of_zero_is_refused_where_it_would_divide_zero_by_zero)
{
    SETTINGS("adam", epsilon, 0.0f, "0/0");
    SETTINGS("rmsprop", epsilon, 0.0f, "0/0");
    SETTINGS("adagrad", epsilon, 0.0f, "0/0");
    SETTINGS("sgd", epsilon, 0.0f, "");
    SETTINGS("momentum", epsilon, 0.0f, "");
}

TEST_PLAIN(settings_in_range_pass)
{
    for (size_t i = 0; i < CASE_COUNT; i++)
        ck_assert_int_eq(check_settings(&reference_cases[i].settings, NULL), STATUS_OK);
    SETTINGS("momentum", momentum, -0.9f, "");
    SETTINGS("momentum", momentum, 0.0f, "");
    SETTINGS("adam", beta1, 0.0f, "");
    SETTINGS("adagrad", initial_accumulator, 0.0f, "");
}

TEST_PLAIN(an_unknown_name_is_refused_with_the_known_ones)
{
    struct optimizer_settings settings = {.name = "lion"};
    struct error error;
    ck_assert_int_eq(check_settings(&settings, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "there is no optimizer 'lion'; there are sgd, momentum, nesterov, "
                                 "adagrad, rmsprop, adam, adamw");
    memset(settings.name, 'a', sizeof settings.name);
    ck_assert_int_eq(check_settings(&settings, &error), STATUS_INVALID);
    ck_assert_ptr_null(optimizer_find(""));
    ck_assert_ptr_null(optimizer_find("Adam"));
}

int main(void)
{
    return suite_run("optimizers", NULL);
}
