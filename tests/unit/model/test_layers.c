/* Every layer against a naive network in double precision: the loss directly, the gradient against
 * central differences of the naive loss. */
/* promises: models */

#include "worker/model/layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/kernels/kernels.h"
#include "tests/lib/suite.h"
#include "worker/model/model.h"

/* --- the naive network --------------------------------------------------------------------- */

enum naive_kind { CONV, POOL, FLATTEN, DENSE };

struct naive_layer {
    enum naive_kind kind;
    uint32_t channels; /* Out; of conv and dense. */
    uint32_t size;     /* Of a kernel or a pool's window. */
    bool relu;
};

struct naive {
    const char *text;
    struct model_input input;
    uint32_t examples;
    uint32_t layer_count;
    struct naive_layer layers[6];
};

#define EXAMPLES_MAX 8

/* The lists below hold nothing but what this understands. */
static void naive_parse(struct naive *naive)
{
    char text[200], *rest = NULL;
    snprintf(text, sizeof text, "%s", naive->text);
    naive->layer_count = 0;
    for (char *item = strtok_r(text, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        struct naive_layer *layer = &naive->layers[naive->layer_count++];
        *layer = (struct naive_layer){.relu = strstr(item, "relu") != NULL};
        if (sscanf(item, " conv %ux%u", &layer->channels, &layer->size) == 2)
            layer->kind = CONV;
        else if (sscanf(item, " pool %u", &layer->size) == 1)
            layer->kind = POOL;
        else if (sscanf(item, " dense %u", &layer->channels) == 1)
            layer->kind = DENSE;
        else
            layer->kind = FLATTEN;
    }
}

#define ACTIVATION_MAX 20000

struct map {
    uint32_t height, width, channels;
    double x[ACTIVATION_MAX];
};

static double *map_at(struct map *map, uint32_t y, uint32_t x, uint32_t c)
{
    return &map->x[((uint64_t)y * map->width + x) * map->channels + c];
}

static double cut(double x, bool relu)
{
    return relu && x < 0 ? 0 : x;
}

static void naive_conv(const struct naive_layer *layer, const double *kernel, const double *bias,
                       struct map *in, struct map *out)
{
    uint32_t K = layer->size;
    out->height = in->height - K + 1;
    out->width = in->width - K + 1;
    out->channels = layer->channels;
    for (uint32_t y = 0; y < out->height; y++)
        for (uint32_t x = 0; x < out->width; x++)
            for (uint32_t c = 0; c < out->channels; c++) {
                double sum = bias[c];
                for (uint32_t i = 0; i < K; i++)
                    for (uint32_t j = 0; j < K; j++)
                        for (uint32_t d = 0; d < in->channels; d++)
                            sum += *map_at(in, y + i, x + j, d) *
                                   kernel[((i * K + j) * in->channels + d) * out->channels + c];
                *map_at(out, y, x, c) = cut(sum, layer->relu);
            }
}

static void naive_pool(const struct naive_layer *layer, struct map *in, struct map *out)
{
    out->height = in->height / layer->size;
    out->width = in->width / layer->size;
    out->channels = in->channels;
    for (uint32_t y = 0; y < out->height; y++)
        for (uint32_t x = 0; x < out->width; x++)
            for (uint32_t c = 0; c < out->channels; c++) {
                double best = -INFINITY;
                for (uint32_t i = 0; i < layer->size; i++)
                    for (uint32_t j = 0; j < layer->size; j++)
                        best = fmax(best, *map_at(in, y * layer->size + i, x * layer->size + j, c));
                *map_at(out, y, x, c) = best;
            }
}

static void naive_dense(const struct naive_layer *layer, const double *kernel, const double *bias,
                        struct map *in, struct map *out)
{
    *out = (struct map){.height = 1, .width = 1, .channels = layer->channels};
    for (uint32_t c = 0; c < out->channels; c++) {
        double sum = bias[c];
        for (uint32_t d = 0; d < in->channels; d++)
            sum += in->x[d] * kernel[d * out->channels + c];
        out->x[c] = cut(sum, layer->relu);
    }
}

static double naive_cross_entropy(const struct map *logits, uint32_t label)
{
    double sum = 0;
    for (uint32_t c = 0; c < logits->channels; c++)
        sum += exp(logits->x[c]);
    return log(sum) - logits->x[label];
}

/* Loss of one example; parameters and offsets as in a parameter space. */
static double naive_loss(const struct naive *naive, const double *parameters,
                         const uint64_t *offsets, const uint8_t *image, uint32_t label)
{
    static struct map maps[2];
    struct map *in = &maps[0], *out = &maps[1];
    in->height = naive->input.height;
    in->width = naive->input.width;
    in->channels = naive->input.channels;
    for (uint32_t i = 0; i < in->height * in->width * in->channels; i++)
        in->x[i] = image[i] / 255.0;
    for (uint32_t i = 0; i < naive->layer_count; i++) {
        const struct naive_layer *layer = &naive->layers[i];
        const double *kernel = parameters + offsets[0], *bias = parameters + offsets[1];
        if (layer->kind == CONV || layer->kind == DENSE)
            offsets += 2;
        if (layer->kind == CONV) {
            naive_conv(layer, kernel, bias, in, out);
        } else if (layer->kind == POOL) {
            naive_pool(layer, in, out);
        } else if (layer->kind == DENSE) {
            naive_dense(layer, kernel, bias, in, out);
        } else {
            in->channels *= in->height * in->width;
            in->height = in->width = 1;
            continue;
        }
        struct map *made = out;
        out = in;
        in = made;
    }
    return naive_cross_entropy(in, label);
}

/* --- the comparison ------------------------------------------------------------------------ */

static const struct {
    const char *text;
    struct model_input input;
    uint32_t examples;
} networks[] = {
    /* Dense alone, with and without ReLU; odd numbers of inputs and outputs. */
    {"flatten, dense 4", {3, 5, 1, 4, false, false}, 3},
    {"flatten, dense 17 relu, dense 9 relu, dense 3", {4, 4, 2, 3, false, false}, 5},
    {"flatten, dense 64 relu, dense 3 relu", {4, 4, 1, 3, false, false}, 8},
    /* Convolutions: 1x1 and 5x5 kernels, several channels, odd sizes, as wide as the image. */
    {"conv 5x1 relu, flatten, dense 3", {5, 7, 3, 3, false, false}, 4},
    {"conv 16x5 relu, flatten, dense 3", {9, 8, 2, 3, false, false}, 3},
    {"conv 32x3, flatten, dense 4", {7, 7, 1, 4, false, false}, 2},
    {"conv 7x5 relu, flatten, dense 4", {6, 5, 3, 4, false, false}, 2},
    {"conv 48x3 relu, flatten, dense 8", {3, 3, 2, 8, false, false}, 3},
    {"conv 6x3, flatten", {3, 3, 2, 6, false, false}, 3},
    /* Two in a row: the input gradient of a convolution. */
    {"conv 6x3 relu, conv 16x3 relu, flatten, dense 3", {9, 10, 2, 3, false, false}, 3},
    {"conv 32x2 relu, conv 5x4, flatten, dense 3", {8, 7, 1, 3, false, false}, 2},
    {"conv 16x1 relu, conv 64x5 relu, flatten, dense 3", {7, 7, 3, 3, false, false}, 2},
    /* Pools: absorbed by a convolution, first, twice, odd rows dropped, windows of 1, 2 and 3. */
    {"conv 16x3 relu, pool 2, flatten, dense 3", {9, 8, 2, 3, false, false}, 3},
    {"conv 5x3, pool 3, flatten, dense 3", {9, 9, 2, 3, false, false}, 3},
    {"pool 2, conv 4x2 relu, flatten, dense 3", {7, 9, 3, 3, false, false}, 3},
    {"conv 4x2 relu, pool 1, flatten, dense 3", {7, 8, 2, 3, false, false}, 2},
    {"conv 8x3 relu, pool 2, pool 2, flatten, dense 3", {13, 12, 1, 3, false, false}, 2},
    {"conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, flatten, dense 3",
     {15, 16, 1, 3, false, false},
     2},
    {"conv 3x4 relu, pool 3, conv 16x2 relu, pool 1, flatten, dense 3",
     {17, 13, 2, 3, false, false},
     2},
};

struct comparison {
    struct naive naive;
    struct model *model;
    uint64_t elements, offsets[16];
    float *parameters, *gradient;
    double *exact; /* The parameters in double precision. */
    uint8_t *images;
    union label labels[EXAMPLES_MAX];
};

static double comparison_loss(const struct comparison *c)
{
    const struct model_input *input = &c->naive.input;
    uint64_t pixels = (uint64_t)input->height * input->width * input->channels;
    double loss = 0;
    for (uint32_t i = 0; i < c->naive.examples; i++)
        loss +=
            naive_loss(&c->naive, c->exact, c->offsets, c->images + i * pixels, c->labels[i].class);
    return loss;
}

static void comparison_init(struct comparison *c, int number)
{
    struct error error = {0};
    struct naive *naive = &c->naive;
    naive->text = networks[number].text;
    naive->input = networks[number].input;
    naive->examples = networks[number].examples;
    naive_parse(naive);
    enum status status =
        model_create(&c->model, naive->text, naive->input, naive->examples, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    uint32_t count;
    const struct variable *variables = model_variables(c->model, &count);
    variables_layout(variables, count, c->offsets);
    c->elements = model_elements(c->model);
    c->parameters = malloc(c->elements * sizeof *c->parameters);
    c->gradient = malloc(c->elements * sizeof *c->gradient);
    c->exact = malloc(c->elements * sizeof *c->exact);
    uint64_t pixels = (uint64_t)naive->examples * naive->input.height * naive->input.width *
                      naive->input.channels;
    c->images = malloc(pixels);
    struct random_sequence sequence;
    random_sequence_init(&sequence, 5, RANDOM_STREAM_PROBE, 1);
    for (uint64_t i = 0; i < c->elements; i++) {
        c->parameters[i] = 0.6f * random_unit_float(random_next(&sequence)) - 0.3f;
        c->exact[i] = c->parameters[i];
    }
    for (uint64_t i = 0; i < pixels; i++)
        c->images[i] = (uint8_t)random_next(&sequence);
    for (uint32_t i = 0; i < naive->examples && i < EXAMPLES_MAX; i++)
        c->labels[i].class = random_below(&sequence, naive->input.classes);
}

static void comparison_free(struct comparison *c)
{
    model_destroy(&c->model);
    free(c->parameters);
    free(c->gradient);
    free(c->exact);
    free(c->images);
}

/* d loss / d parameter number `element`. A step of 1e-7 leaves errors near 1e-8, and hardly ever
 * crosses a corner of ReLU or of a max. */
static double central_difference(struct comparison *c, uint64_t element)
{
    const double step = 1e-7;
    double kept = c->exact[element];
    c->exact[element] = kept + step;
    double above = comparison_loss(c);
    c->exact[element] = kept - step;
    double below = comparison_loss(c);
    c->exact[element] = kept;
    return (above - below) / (2 * step);
}

TEST_TIMES(loss_and_gradient_are_the_naive_networks, sizeof networks / sizeof networks[0])
{
    struct comparison c;
    struct score score = {0};
    comparison_init(&c, _i);
    model_gradient(c.model, c.parameters, c.images, c.labels, c.naive.examples, c.gradient, &score);
    double loss = comparison_loss(&c);
    ck_assert_double_eq_tol((double)score.loss * SCORE_LOSS_UNIT, loss, 2e-6 * loss);
    uint32_t count;
    const struct variable *variables = model_variables(c.model, &count);
    for (uint32_t v = 0; v < count; v++) {
        uint64_t elements = variable_elements(&variables[v]);
        uint64_t stride = elements / 60 + 1; /* Sixty elements of each variable, spread out. */
        for (uint64_t i = 0; i < elements; i += stride) {
            double expected = central_difference(&c, c.offsets[v] + i);
            double ours = c.gradient[c.offsets[v] + i];
            ck_assert_msg(fabs(ours - expected) <= 2e-5 * (1 + fabs(expected)),
                          "%s: %s[%d]: %.9g instead of %.9g", model_text(c.model),
                          variables[v].name, (int)i, ours, expected);
        }
    }
    comparison_free(&c);
}

TEST_TIMES(evaluation_scores_the_naive_networks_loss, sizeof networks / sizeof networks[0])
{
    struct comparison c;
    struct score score = {0};
    comparison_init(&c, _i);
    model_evaluate(c.model, c.parameters, c.images, c.labels, c.naive.examples, &score);
    double loss = comparison_loss(&c);
    ck_assert_double_eq_tol((double)score.loss * SCORE_LOSS_UNIT, loss, 2e-6 * loss);
    comparison_free(&c);
}

TEST_PLAIN(sizes_are_read_strictly)
{
    uint32_t parts[3];
    ck_assert_uint_eq(layer_parse_sizes("64x3x5", parts, 3), 3);
    ck_assert_uint_eq(parts[0], 64);
    ck_assert_uint_eq(parts[2], 5);
    ck_assert_uint_eq(layer_parse_sizes("65536", parts, 1), 1);
    static const char *const wrong[] = {"",    "x3",    "3x",  "3x+4",    "3x 4",
                                        "0",   "65537", "3y4", "1x2x3x4", "99999999999999999999999",
                                        "0x10"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(layer_parse_sizes(wrong[i], parts, 3) == 0, "'%s'", wrong[i]);
}

int main(void)
{
    kernels_init();
    return suite_run("layers", NULL);
}
