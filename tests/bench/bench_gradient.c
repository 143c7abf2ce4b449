/* bench_gradient.c - images a second of the presets' gradient and of evaluation, on one core. */

#include <stdio.h>
#include <stdlib.h>

#include "common/kernels.h"
#include "common/variable.h"
#include "tests/lib/measure.h"
#include "worker/dataset.h"
#include "worker/model.h"

#define EVALUATED 500

struct work {
    struct model *model;
    const struct dataset *dataset;
    float *parameters, *gradient; /* [elements] */
    uint32_t leaf;
};

static void gradient(void *context)
{
    struct work *work = context;
    struct score score = {0};
    model_gradient(work->model, work->parameters, work->dataset->train.images,
                   work->dataset->train.labels, work->leaf, work->gradient, &score);
}

static void evaluate(void *context)
{
    struct work *work = context;
    struct score score = {0};
    model_evaluate(work->model, work->parameters, work->dataset->test.images,
                   work->dataset->test.labels, EVALUATED, &score);
}

static void initialize(struct work *work)
{
    uint32_t count;
    const struct variable *variables = model_variables(work->model, &count);
    uint64_t *offsets = calloc(count, sizeof *offsets);
    if (offsets == NULL)
        exit(EXIT_FAILURE);
    variables_layout(variables, count, offsets);
    for (uint32_t i = 0; i < count; i++)
        variable_initialize(&variables[i], i, 1, 0, variable_elements(&variables[i]),
                            work->parameters + offsets[i]);
    free(offsets);
}

static void measure(const struct dataset *dataset, const char *text, uint32_t leaf)
{
    struct error error;
    struct model_input input = {dataset->height, dataset->width, dataset->channels,
                                dataset->classes};
    struct work work = {.dataset = dataset, .leaf = leaf};
    if (model_create(&work.model, text, input, leaf, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(EXIT_FAILURE);
    }
    size_t bytes = model_elements(work.model) * sizeof(float);
    work.parameters = aligned_alloc(64, bytes);
    work.gradient = aligned_alloc(64, bytes);
    if (work.parameters == NULL || work.gradient == NULL)
        exit(EXIT_FAILURE);
    initialize(&work);

    struct spread train, test;
    measure_pair(gradient, &work, evaluate, &work, 4, &train, &test);
    double training = leaf / train.median, evaluation = EVALUATED / test.median;
    printf("%-8s leaf %3u  gradient %8.0f images/s (%.0f to %.0f)  evaluation %8.0f images/s, "
           "%.1f %% of an epoch\n",
           text, leaf, training, leaf / train.most, leaf / train.least, evaluation,
           100 * ((double)dataset->test.count / evaluation) /
               ((double)dataset->train.count / training));
    free(work.parameters);
    free(work.gradient);
    model_destroy(&work.model);
}

int main(void)
{
    struct dataset dataset;
    struct error error;
    kernels_init();
    if (dataset_open(&dataset, "fashion-mnist", 1, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    printf("forward and backward on one core, initial parameters; kernels %s\n",
           kernels_core_name());
    measure(&dataset, "cnn", 16);
    measure(&dataset, "cnn", 64);
    measure(&dataset, "mlp", 16);
    measure(&dataset, "softmax", 16);
    dataset_close(&dataset);
    return 0;
}
