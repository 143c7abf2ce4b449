/* computing_cost.c - runs the real code repeatedly. */

#include "deploy/calibrate/computing_cost.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/optimizer/optimizer.h"

#define LEAVES_MAX   4096
#define LEAVES_LEAST 8
#define WARM_LEAVES  3           /* Not counted. */
#define APPLIED      (64u << 10) /* Elements. */
#define APPLICATIONS 64
#define SCORES_MAX   64

static enum status compute(struct workload *workload, float *values, float *gradient, uint64_t step,
                           double *ns, struct error *error)
{
    struct score score = {0};
    const struct step_shape shape = step_shape_of(workload->gradient.job, step, NULL);
    uint64_t began_ns = clock_now_ns();
    enum status status = node_gradient_compute(&workload->gradient, values, &shape,
                                               (struct node){.first_leaf = 0, .leaf_count = 1},
                                               gradient, &score, NULL, error);
    *ns = (double)(clock_now_ns() - began_ns);
    return status;
}

static void begin(const struct workload *workload, float *values)
{
    const struct job *job = &workload->job;
    variables_initialize(job->variables, job->variable_count, job->seed, workload->initial, 0,
                         workload->source->elements, values);
}

enum status computing_cost_leaf(struct workload *workload, double seconds,
                                struct quartiles *leaf_ns, struct error *error)
{
    uint64_t elements = workload->source->elements;
    float *values = calloc(elements, sizeof *values),
          *gradient = calloc(elements, sizeof *gradient);
    double *times = calloc(LEAVES_MAX, sizeof *times);
    enum status status = STATUS_OK;
    if (values == NULL || gradient == NULL || times == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK)
        begin(workload, values);
    double unused;
    for (uint64_t i = 0; i < WARM_LEAVES && status == STATUS_OK; i++)
        status = compute(workload, values, gradient, i, &unused, error);
    size_t count = 0;
    double end = clock_now_seconds() + seconds;
    while (status == STATUS_OK && count < LEAVES_MAX &&
           (count < LEAVES_LEAST || clock_now_seconds() < end)) {
        status = compute(workload, values, gradient, count, &times[count], error);
        count++;
    }
    if (status == STATUS_OK)
        *leaf_ns = quartiles_of(times, count);
    free(values);
    free(gradient);
    free(times);
    return status;
}

static enum status score(struct workload *workload, const float *values, double *ns,
                         struct error *error)
{
    struct score score = {0};
    uint64_t began_ns = clock_now_ns();
    enum status status = node_gradient_evaluate(&workload->gradient, values, 1, 0, &score, error);
    *ns = (double)(clock_now_ns() - began_ns) / (double)workload->job.test_examples;
    return status;
}

enum status computing_cost_score(struct workload *workload, double seconds,
                                 struct quartiles *example_ns, struct error *error)
{
    double times[SCORES_MAX];
    size_t count = 0;
    *example_ns = (struct quartiles){0};
    if (workload->job.test_examples == 0)
        return STATUS_OK;
    float *values = calloc(workload->source->elements, sizeof *values);
    if (values == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    begin(workload, values);
    double end = clock_now_seconds() + seconds;
    enum status status = score(workload, values, &times[0], error); /* Not counted. */
    while (status == STATUS_OK && count < SCORES_MAX && (count < 2 || clock_now_seconds() < end))
        status = score(workload, values, &times[count++], error);
    if (status == STATUS_OK)
        *example_ns = quartiles_of(times, count);
    free(values);
    return status;
}

static double apply(const struct optimizer *rule, float *arrays[2 + OPTIMIZER_SLOTS_MAX],
                    uint64_t t)
{
    struct optimizer_update update = {.settings = &rule->defaults,
                                      .t = t,
                                      .learning_rate = 1e-6f,
                                      .scale = 1,
                                      .count = APPLIED,
                                      .gradient = arrays[0],
                                      .values_in = arrays[1],
                                      .values_out = arrays[1]};
    for (uint32_t i = 0; i < rule->slot_count; i++)
        update.slots[i] = arrays[2 + i];
    uint64_t began_ns = clock_now_ns();
    rule->apply(&update);
    return (double)(clock_now_ns() - began_ns) / (APPLIED * sizeof(float));
}

enum status computing_cost_apply(const char *optimizer, struct quartiles *byte_ns,
                                 struct error *error)
{
    const struct optimizer *rule = optimizer_find(optimizer);
    float *arrays[2 + OPTIMIZER_SLOTS_MAX], *all;
    size_t count = sizeof arrays / sizeof *arrays;
    double times[APPLICATIONS];
    all = aligned_alloc(64, count * APPLIED * sizeof *all);
    if (all == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count * APPLIED; i++)
        all[i] = 0.01f;
    for (size_t i = 0; i < count; i++)
        arrays[i] = all + i * APPLIED;
    for (uint64_t i = 0; i < APPLICATIONS; i++)
        times[i] = apply(rule, arrays, i + 1);
    *byte_ns = quartiles_of(times, APPLICATIONS);
    free(all);
    return STATUS_OK;
}
