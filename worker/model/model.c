/* model.c - reads the layer list, fits layers to each other, takes all memory at once, and walks
 * the layers forward and backward. */

#include "worker/model/model.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/kernels/kernels.h"
#include "worker/model/layer.h"
#include "worker/model/loss.h"

#define MODEL_LAYERS_MAX 64
#define PRESET_MAX       128 /* Characters of a preset's layer list. */

/* Examples in one piece of an evaluation. A constant, so that a score does not depend on
 * batch_max; large enough that reading the weights is paid for by many examples, small enough that
 * the activations stay in the cache. */
#define EVALUATION_COUNT 32

/* Parameters: 8 GiB of them are a mistake in a layer list. */
#define MODEL_ELEMENTS_MAX (1ull << 31)

/* Activations of all examples that are worked on at once: 16 GiB of them likewise. A list may come
 * with a file that another program has written. */
#define MODEL_ACTIVATIONS_MAX (1ull << 32)

static const struct layer_kind *const kinds[] = {
    &layer_conv,
    &layer_pool,
    &layer_flatten,
    &layer_dense,
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

/* An output for each class follows. */
static const struct preset {
    const char *name, *text;
} presets[] = {
    {"cnn", "conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, flatten, dense 64 relu, dense"},
    {"mlp", "flatten, dense 128 relu, dense"},
    {"softmax", "flatten, dense"},
};

struct model {
    char text[MODEL_TEXT_MAX];
    struct model_input input;
    uint32_t batch_max;

    struct layer *layers[MODEL_LAYERS_MAX]; /* [layer_count], owned. */
    uint32_t layer_count;
    struct variable variables[MODEL_LAYERS_MAX * LAYER_VARIABLES_MAX];
    uint32_t variable_count;
    uint64_t elements; /* Of the parameter space. */

    uint32_t begun;      /* Examples of the forward pass under way, ... */
    uint32_t next_layer; /* ... which is before this layer. */

    /* Memory, all owned. C = batch_max or EVALUATION_COUNT, whichever is larger. */
    float *input_floats;              /* [C][input] */
    float *outputs[MODEL_LAYERS_MAX]; /* [C][layer's out]; NULL where it is the input itself. */
    float *gradients[2];              /* [batch_max][largest activation] */
    float *scratch;                   /* [largest scratch of a layer] */
    double *exponentials;             /* [classes] of one example. */
};

/* --- reading a layer list ------------------------------------------------------------------ */

static const char *preset_expand(const char *text, uint32_t classes, char expanded[PRESET_MAX])
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (spelling_same(text, presets[i].name)) {
            snprintf(expanded, PRESET_MAX, "%s %u", presets[i].text, classes);
            return expanded;
        }
    }
    return text;
}

static const struct layer_kind *kind_find(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (spelling_same(name, kinds[i]->name))
            return kinds[i];
    return NULL;
}

/* Split one item of the list, [*at, end), at its blanks. The first word is the layer's name. */
static enum status item_split(const char *at, const char *end, char name[LAYER_TEXT_MAX],
                              struct layer_words *words)
{
    memset(words, 0, sizeof *words);
    name[0] = '\0';
    uint32_t limit = sizeof words->word / sizeof words->word[0];
    for (bool first = true;; first = false) {
        while (at < end && isspace((unsigned char)*at))
            at++;
        const char *start = at;
        while (at < end && !isspace((unsigned char)*at))
            at++;
        size_t length = (size_t)(at - start);
        if (length == 0)
            return STATUS_OK;
        if (length >= LAYER_TEXT_MAX || (!first && words->count == limit))
            return STATUS_INVALID;
        memcpy(first ? name : words->word[words->count++], start, length);
        if (first)
            name[length] = '\0';
    }
}

static struct shape model_shape(const struct model *model)
{
    if (model->layer_count > 0)
        return model->layers[model->layer_count - 1]->out;
    const struct model_input *input = &model->input;
    return (struct shape){input->height, input->width, input->channels,
                          input->height == 1 && input->width == 1};
}

static enum status text_append(struct model *model, const struct layer *layer, struct error *error)
{
    char text[LAYER_TEXT_MAX];
    layer->kind->text(layer, text);
    size_t length = strlen(model->text);
    int wrote = snprintf(model->text + length, sizeof model->text - length, "%s%s",
                         length > 0 ? ", " : "", text);
    if (wrote < 0 || (size_t)wrote >= sizeof model->text - length) {
        return error_set(error, STATUS_INVALID, "the layer list is longer than %d characters",
                         MODEL_TEXT_MAX - 1);
    }
    return STATUS_OK;
}

static void variables_append(struct model *model, const struct layer *layer)
{
    if (layer->kind->variables == NULL)
        return;
    uint32_t number = 1;
    for (uint32_t i = 0; i < model->layer_count; i++)
        number += model->layers[i]->kind == layer->kind;
    model->variable_count +=
        layer->kind->variables(layer, number, model->variables + model->variable_count);
}

static void layer_destroy(struct layer *layer)
{
    free(layer->which);
    free(layer);
}

static enum status layer_append(struct model *model, struct layer *layer, struct error *error)
{
    enum status status = text_append(model, layer, error);
    if (status) {
        layer_destroy(layer);
        return status;
    }
    variables_append(model, layer);
    struct layer *previous = model->layer_count ? model->layers[model->layer_count - 1] : NULL;
    if (previous != NULL && previous->kind->absorb != NULL &&
        previous->kind->absorb(previous, layer)) {
        layer_destroy(layer);
        return STATUS_OK;
    }
    model->layers[model->layer_count++] = layer;
    return STATUS_OK;
}

static enum status unknown_layer(uint32_t number, const char *item, int length, const char *name,
                                 struct error *error)
{
    char hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    spelling_begin(&spelling, name);
    for (size_t i = 0; i < KIND_COUNT; i++)
        spelling_try(&spelling, kinds[i]->name);
    for (size_t i = 0; i < sizeof presets / sizeof presets[0] && number == 1; i++)
        spelling_try(&spelling, presets[i].name);
    return error_set(error, STATUS_INVALID,
                     "layer %u '%.*s': not a layer; there are conv CxK, pool N, flatten and dense "
                     "N, and the models cnn, mlp and softmax%s; --program takes any other",
                     number, length, item, spelling_hint(&spelling, "", hint));
}

/* One item of the list; `number` counts them from 1. */
static enum status item_read(struct model *model, uint32_t number, const char *at, const char *end,
                             struct error *error)
{
    char name[LAYER_TEXT_MAX];
    struct layer_words words;
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    int length = end - at > 60 ? 60 : (int)(end - at);
    if (length == 0)
        return error_set(error, STATUS_INVALID, "layer %u is empty", number);
    bool fits = item_split(at, end, name, &words) == STATUS_OK;
    const struct layer_kind *kind = kind_find(name);
    if (kind != NULL && !fits) {
        return error_set(error, STATUS_INVALID, "layer %u '%.*s': has too many words", number,
                         length, at);
    }
    if (kind == NULL)
        return unknown_layer(number, at, length, name, error);
    if (model->layer_count == MODEL_LAYERS_MAX)
        return error_set(error, STATUS_INVALID, "more than %d layers", MODEL_LAYERS_MAX);
    struct layer *layer = calloc(1, kind->bytes);
    if (layer == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    layer->kind = kind;
    layer->in = model_shape(model);
    struct error why = {0};
    enum status status = kind->init(layer, &words, &why);
    if (status == STATUS_OK)
        return layer_append(model, layer, error);
    layer_destroy(layer);
    return error_set(error, status, "layer %u '%.*s': %.400s", number, length, at, why.text);
}

static enum status layers_read(struct model *model, const char *text, struct error *error)
{
    if (strlen(text) >= MODEL_TEXT_MAX) {
        return error_set(error, STATUS_INVALID, "the layer list is longer than %d characters",
                         MODEL_TEXT_MAX - 1);
    }
    char expanded[PRESET_MAX];
    const char *at = preset_expand(text, model->input.classes, expanded);
    for (uint32_t number = 1;; number++) {
        const char *end = at + strcspn(at, ",;");
        enum status status = item_read(model, number, at, end, error);
        if (status || *end == '\0')
            return status;
        at = end + 1;
    }
}

/* --- building ------------------------------------------------------------------------------ */

static enum status input_check(struct model_input input, uint32_t batch_max, struct error *error)
{
    uint32_t largest = input.height > input.width ? input.height : input.width;
    largest = input.channels > largest ? input.channels : largest;
    if (input.height == 0 || input.width == 0 || input.channels == 0 || largest > LAYER_SIDE_MAX ||
        (uint64_t)input.height * input.width > LAYER_ELEMENTS_MAX / input.channels) {
        return error_set(error, STATUS_INVALID, "images of %ux%ux%u are not supported",
                         input.height, input.width, input.channels);
    }
    if (input.classes == 0 || input.classes > MODEL_CLASSES_MAX) {
        return error_set(error, STATUS_INVALID, "%u classes are not supported (1 to %d)",
                         input.classes, MODEL_CLASSES_MAX);
    }
    if (batch_max == 0 || batch_max > BATCH_MAX) {
        return error_set(error, STATUS_INVALID, "leaves of %u examples are not supported (1 to %d)",
                         batch_max, BATCH_MAX);
    }
    return STATUS_OK;
}

static enum status output_check(struct model *model, struct error *error)
{
    struct shape out = model_shape(model);
    uint32_t classes = model->input.classes;
    if (!out.flat) {
        return error_set(
            error, STATUS_INVALID,
            "the last layer's output is %ux%ux%u, not flat: end the list with 'flatten, "
            "dense %u', an output for each class",
            out.height, out.width, out.channels, classes);
    }
    bool fits = model->input.real ? out.channels == classes : out.channels >= classes;
    if (!fits)
        return error_set(error, STATUS_INVALID,
                         "the last layer has %u outputs for %u %s: end the list with 'dense %u'",
                         out.channels, classes, model->input.real ? "targets" : "classes", classes);
    model->input.classes = out.channels; /* The data may lack some. */
    if (model->variable_count == 0)
        return error_set(error, STATUS_INVALID, "the model has no variables to train");
    return STATUS_OK;
}

/* Lay out the parameter space and tell every layer where its variables are. */
static enum status variables_place(struct model *model, struct error *error)
{
    uint64_t offsets[MODEL_LAYERS_MAX * LAYER_VARIABLES_MAX];
    struct variable unused[LAYER_VARIABLES_MAX];
    model->elements = variables_layout(model->variables, model->variable_count, offsets);
    if (model->elements > MODEL_ELEMENTS_MAX) {
        return error_set(error, STATUS_INVALID, "the model has %llu parameters; at most %llu",
                         (unsigned long long)model->elements,
                         (unsigned long long)MODEL_ELEMENTS_MAX);
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        struct layer *layer = model->layers[i];
        uint32_t count =
            layer->kind->variables != NULL ? layer->kind->variables(layer, 1, unused) : 0;
        for (uint32_t v = 0; v < count; v++)
            layer->offsets[v] = offsets[next++];
    }
    return STATUS_OK;
}

/* From the last layer back: make no more than the next layer reads. */
static void layers_fit(struct model *model)
{
    for (uint32_t i = model->layer_count - 1; i > 0; i--) {
        struct layer *layer = model->layers[i];
        assert(layer != NULL);
        if (layer->kind->reads != NULL)
            layer->in = layer->kind->reads(layer);
        model->layers[i - 1]->out = layer->in;
    }
}

static float *floats_new(uint64_t count)
{
    return aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
}

static uint64_t capacity_of(const struct model *model)
{
    return model->batch_max > EVALUATION_COUNT ? model->batch_max : EVALUATION_COUNT;
}

/* Layers are bounded one by one (LAYER_ELEMENTS_MAX), so nothing here overflows. */
static enum status activations_check(const struct model *model, struct error *error)
{
    uint64_t sum = shape_elements(model->layers[0]->in);
    for (uint32_t i = 0; i < model->layer_count; i++)
        sum += shape_elements(model->layers[i]->out);
    if (sum > MODEL_ACTIVATIONS_MAX / capacity_of(model)) {
        return error_set(error, STATUS_INVALID,
                         "leaves of %u examples have %llu activations each in this model; at most "
                         "%llu in all",
                         model->batch_max, (unsigned long long)sum, MODEL_ACTIVATIONS_MAX);
    }
    return STATUS_OK;
}

static enum status memory_take(struct model *model)
{
    uint64_t capacity = capacity_of(model);
    uint64_t scratch = 1, largest = 1;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        struct layer *layer = model->layers[i];
        if (layer->kind->prepare != NULL && layer->kind->prepare(layer, (uint32_t)capacity))
            return STATUS_MEMORY;
        uint64_t out = shape_elements(layer->out);
        scratch = layer->scratch > scratch ? layer->scratch : scratch;
        largest = out > largest ? out : largest;
        if (layer->kind->forward != NULL &&
            (model->outputs[i] = floats_new(capacity * out)) == NULL)
            return STATUS_MEMORY;
    }
    model->input_floats = floats_new(capacity * shape_elements(model->layers[0]->in));
    model->gradients[0] = floats_new(model->batch_max * largest);
    model->gradients[1] = floats_new(model->batch_max * largest);
    model->scratch = floats_new(scratch);
    model->exponentials = malloc(model->input.classes * sizeof *model->exponentials);
    return model->input_floats != NULL && model->gradients[0] != NULL &&
                   model->gradients[1] != NULL && model->scratch != NULL &&
                   model->exponentials != NULL
               ? STATUS_OK
               : STATUS_MEMORY;
}

enum status model_create(struct model **out, const char *text, struct model_input input,
                         uint32_t batch_max, struct error *error)
{
    *out = NULL;
    enum status status = input_check(input, batch_max, error);
    if (status)
        return status;
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    model->input = input;
    model->batch_max = batch_max;
    if ((status = layers_read(model, text, error)) || (status = output_check(model, error)) ||
        (status = variables_place(model, error)))
        goto fail;
    layers_fit(model);
    if ((status = activations_check(model, error)))
        goto fail;
    if ((status = memory_take(model))) {
        error_set(error, status, "out of memory for leaves of %u examples of this model",
                  batch_max);
        goto fail;
    }
    *out = model;
    return STATUS_OK;
fail:
    model_destroy(&model);
    return status;
}

void model_destroy(struct model **pointer)
{
    struct model *model = *pointer;
    *pointer = NULL;
    if (model == NULL)
        return;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        layer_destroy(model->layers[i]);
        free(model->outputs[i]);
    }
    free(model->input_floats);
    free(model->gradients[0]);
    free(model->gradients[1]);
    free(model->scratch);
    free(model->exponentials);
    free(model);
}

const char *model_text(const struct model *model)
{
    return model->text;
}

const struct variable *model_variables(const struct model *model, uint32_t *count)
{
    *count = model->variable_count;
    return model->variables;
}

uint64_t model_elements(const struct model *model)
{
    return model->elements;
}

/* --- computing ----------------------------------------------------------------------------- */

/* The activation that layer i reads: the last one made before it. */
static const float *layer_input(const struct model *model, uint32_t i)
{
    while (i > 0)
        if (model->outputs[--i] != NULL)
            return model->outputs[i];
    return model->input_floats;
}

static void take_inputs(struct model *model, const void *inputs, uint32_t count)
{
    uint64_t input = shape_elements(model->layers[0]->in);
    if (model->input.floats)
        memcpy(model->input_floats, inputs, count * input * sizeof(float));
    else
        kernels_bytes_to_unit(inputs, count * input, model->input_floats);
    model->begun = count;
    model->next_layer = 0;
}

static void forward_layer(struct model *model, const float *parameters, bool learn)
{
    struct layer *layer = model->layers[model->next_layer];
    struct layer_pass pass = {
        .count = model->begun,
        .parameters = parameters,
        .in = layer_input(model, model->next_layer),
        .out = model->outputs[model->next_layer],
        .scratch = model->scratch,
        .learn = learn,
    };
    if (layer->kind->forward != NULL)
        layer->kind->forward(layer, &pass);
    model->next_layer++;
}

/* What is left of it. Returns the logits, [count][classes]. */
static const float *forward(struct model *model, const float *parameters, bool learn)
{
    while (model->next_layer < model->layer_count)
        forward_layer(model, parameters, learn);
    model->begun = 0;
    return layer_input(model, model->layer_count);
}

/* Up to which element of the parameters the layer reads: to where those of the next one begin. */
static uint64_t layer_end(const struct model *model, uint32_t i)
{
    if (model->layers[i]->kind->variables == NULL)
        return 0;
    while (++i < model->layer_count)
        if (model->layers[i]->kind->variables != NULL)
            return model->layers[i]->offsets[0];
    return model->elements;
}

void model_begin(struct model *model, const void *inputs, uint32_t count)
{
    assert(count > 0 && count <= model->batch_max);
    take_inputs(model, inputs, count);
}

uint64_t model_go_on(struct model *model, const float *parameters, uint64_t end)
{
    assert(model->begun > 0);
    for (; model->next_layer < model->layer_count; forward_layer(model, parameters, true))
        if (layer_end(model, model->next_layer) > end)
            return layer_end(model, model->next_layer);
    return 0;
}

/* Whether any layer before i has variables: if none has, there is no use for layer i's input gradient. */
static bool gradient_wanted(const struct model *model, uint32_t i)
{
    while (i > 0)
        if (model->layers[--i]->kind->variables != NULL)
            return true;
    return false;
}

/* model->gradients[0] holds the gradient of the logits. */
static void backward(struct model *model, const float *parameters, uint32_t count, float *gradient,
                     const struct ready *ready)
{
    float *out_gradient = model->gradients[0], *in_gradient = model->gradients[1];
    for (uint32_t i = model->layer_count; i-- > 0;) {
        struct layer *layer = model->layers[i];
        if (layer->kind->backward == NULL)
            continue;
        struct layer_pass pass = {
            .count = count,
            .parameters = parameters,
            .in = layer_input(model, i),
            .out = model->outputs[i],
            .scratch = model->scratch,
            .learn = true,
            .out_gradient = out_gradient,
            .in_gradient = gradient_wanted(model, i) ? in_gradient : NULL,
            .gradient = gradient,
        };
        layer->kind->backward(layer, &pass);
        if (ready != NULL && layer->kind->variables != NULL && layer->offsets[0] > 0)
            ready->tell(ready->context, layer->offsets[0]);
        float *done = out_gradient;
        out_gradient = in_gradient;
        in_gradient = done;
    }
}

/* Zeros everywhere, also between variables, but where a layer will write in any case. */
static void gradient_clear(const struct model *model, float *gradient)
{
    struct variable variables[LAYER_VARIABLES_MAX];
    uint64_t done = 0;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        const struct layer *layer = model->layers[i];
        if (layer->kind->writes_kernel) {
            layer->kind->variables(layer, 1, variables);
            memset(gradient + done, 0, (layer->offsets[0] - done) * sizeof *gradient);
            done = layer->offsets[0] + variable_elements(&variables[0]);
        }
    }
    memset(gradient + done, 0, (model->elements - done) * sizeof *gradient);
}

static void score_outputs(struct model *model, const float *outputs, const union label *labels,
                          uint32_t count, float *gradient, struct score *score)
{
    uint32_t classes = model->input.classes;
    if (model->input.real)
        loss_squares(outputs, labels, count, classes, gradient, score);
    else
        loss_softmax(outputs, labels, count, classes, model->exponentials, gradient, score);
}

void model_gradient_ready(struct model *model, const float *parameters, const void *inputs,
                          const union label *labels, uint32_t count, float *gradient,
                          struct score *score, const struct ready *ready)
{
    assert(count <= model->batch_max);
    if (count == 0) {
        memset(gradient, 0, model->elements * sizeof *gradient);
        return;
    }
    gradient_clear(model, gradient);
    assert(inputs != NULL || model->begun == count);
    if (inputs != NULL)
        take_inputs(model, inputs, count);
    const float *outputs = forward(model, parameters, true);
    score_outputs(model, outputs, labels, count, model->gradients[0], score);
    backward(model, parameters, count, gradient, ready);
}

void model_gradient(struct model *model, const float *parameters, const void *inputs,
                    const union label *labels, uint32_t count, float *gradient, struct score *score)
{
    model_gradient_ready(model, parameters, inputs, labels, count, gradient, score, NULL);
}

void model_evaluate(struct model *model, const float *parameters, const void *inputs,
                    const union label *labels, uint64_t count, struct score *score)
{
    uint64_t bytes =
        shape_elements(model->layers[0]->in) * (model->input.floats ? sizeof(float) : 1);
    uint32_t each = model->input.real ? model->input.classes : 1;
    for (uint64_t first = 0; first < count; first += EVALUATION_COUNT) {
        uint64_t left = count - first;
        uint32_t piece = (uint32_t)(left < EVALUATION_COUNT ? left : EVALUATION_COUNT);
        take_inputs(model, (const char *)inputs + first * bytes, piece);
        const float *outputs = forward(model, parameters, false);
        score_outputs(model, outputs, labels + first * each, piece, NULL, score);
    }
}
