/* source_layers.c - gathers the inputs of a leaf and lets the model compute. */

#include "worker/source/source_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/data/dataset.h"
#include "worker/data/shared_dataset.h"
#include "worker/model/probe_gradient.h"

/* For another worker to read the data; a longer wait means that it makes no progress. */
#define SHARED_PATIENCE_SECONDS 10.0

struct layers {
    struct source source;
    char text[MODEL_TEXT_MAX]; /* The layer list, as it was given. */
    struct dataset dataset;
    struct model *model;
    size_t input_bytes;
    uint8_t *inputs;     /* [leaf_max][input_bytes] of one leaf. */
    union label *labels; /* [leaf_max][labels_each] */
};

static struct layers *layers_of(struct source *source)
{
    return (struct layers *)source;
}

static enum status prepare(struct source *source, uint32_t leaf_max, double loss_unit,
                           struct error *error)
{
    struct layers *l = layers_of(source);
    const struct dataset *data = &l->dataset;
    (void)loss_unit; /* Their losses always have the default. */
    struct model_input input = dataset_model_input(data);
    struct error why = {0};
    enum status status = model_create(&l->model, l->text, input, leaf_max, &why);
    bool vectors = data->height * data->width == 1;
    if (vectors && strstr(why.text, "needs an image") != NULL)
        return error_set(error, status,
                         "the inputs are vectors of %u numbers, not images: give mlp, softmax or a "
                         "list of flatten and dense layers",
                         data->channels);
    if (status != STATUS_OK)
        return error_set(error, status, "%s", why.text);
    source->model = model_text(l->model);
    source->variables = model_variables(l->model, &source->variable_count);
    source->elements = model_elements(l->model);
    l->inputs = malloc(leaf_max * l->input_bytes);
    l->labels = malloc(leaf_max * data->labels_each * sizeof *l->labels);
    if (l->inputs == NULL || l->labels == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    return STATUS_OK;
}

static void take_leaf(struct layers *l, const struct source_leaf *leaf)
{
    const struct examples *train = &l->dataset.train;
    const uint8_t *inputs = train->inputs;
    uint32_t each = l->dataset.labels_each;
    for (uint32_t i = 0; i < leaf->count; i++) {
        memcpy(l->inputs + i * l->input_bytes, inputs + leaf->examples[i] * l->input_bytes,
               l->input_bytes);
        for (uint32_t k = 0; k < each; k++)
            l->labels[i * each + k] = train->labels[(uint64_t)leaf->examples[i] * each + k];
    }
}

static enum status gradient(struct source *source, const float *parameters,
                            const struct source_leaf *leaf, float *gradient, struct score *score,
                            const struct ready *ready, struct error *error)
{
    struct layers *l = layers_of(source);
    (void)error;
    if (!leaf->begun)
        take_leaf(l, leaf);
    model_gradient_ready(l->model, parameters, leaf->begun ? NULL : l->inputs, l->labels,
                         leaf->count, gradient, score, ready);
    return STATUS_OK;
}

static enum status score(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error)
{
    struct layers *l = layers_of(source);
    const struct examples *test = &l->dataset.test;
    (void)error;
    model_evaluate(l->model, parameters, (const uint8_t *)test->inputs + first * l->input_bytes,
                   test->labels + first * l->dataset.labels_each, count, score);
    return STATUS_OK;
}

static enum status probe(struct source *source, uint8_t digest[DIGEST_BYTES], struct error *error)
{
    (void)source;
    return probe_gradient(digest, error);
}

static void begin(struct source *source, const struct source_leaf *leaf)
{
    struct layers *l = layers_of(source);
    take_leaf(l, leaf);
    model_begin(l->model, l->inputs, leaf->count);
}

static uint64_t go_on(struct source *source, const float *parameters, uint64_t end)
{
    return model_go_on(layers_of(source)->model, parameters, end);
}

static void close_layers(struct source *source)
{
    struct layers *l = layers_of(source);
    model_destroy(&l->model);
    dataset_close(&l->dataset);
    free(l->inputs);
    free(l->labels);
    free(l);
}

static const struct source_kind layers = {
    .prepare = prepare,
    .gradient = gradient,
    .score = score,
    .probe = probe,
    .begin = begin,
    .go_on = go_on,
    .close = close_layers,
};

/* By itself, or with the other workers of this host. */
static enum status open_data(struct dataset *dataset, const struct source_options *options,
                             struct error *error)
{
    if (options->look)
        return dataset_look(dataset, options->data, error);
    if (options->data_fd == 0)
        return dataset_open(dataset, options->data, options->seed, error);
    enum status status = shared_dataset_open(dataset, options->data_fd, options->data,
                                             options->seed, SHARED_PATIENCE_SECONDS, error);
    close(options->data_fd);
    return status;
}

enum status source_layers_open(struct source **source, const struct source_options *options,
                               struct error *error)
{
    struct layers *l = calloc(1, sizeof *l);
    if (l == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = open_data(&l->dataset, options, error);
    if (status != STATUS_OK) {
        free(l);
        return status;
    }
    const struct dataset *data = &l->dataset;
    l->input_bytes = dataset_input_bytes(data);
    snprintf(l->text, sizeof l->text, "%s", options->model);
    l->source = (struct source){
        .kind = &layers,
        .examples = data->train.count,
        .test_examples = data->test.count,
        .scores = data->real ? SCORES_LOSS : SCORES_ACCURACY,
        .classes = data->real ? 0 : data->classes,
        .first_class = data->first_class,
        .data_bytes = (data->train.count + data->test.count) * l->input_bytes,
    };
    snprintf(l->source.data, sizeof l->source.data, "%s", data->name);
    memcpy(l->source.digest, data->digest, DIGEST_BYTES);
    *source = &l->source;
    return STATUS_OK;
}
