/* layer_dense.c - out = in * kernel + bias, with or without ReLU; kernel [in][out] as Keras has it.
 */

#include <stdio.h>
#include <stdlib.h>

#include "common/kernels/kernels.h"
#include "worker/model/layer.h"

struct dense {
    struct layer layer;
    bool relu;
};

enum { DENSE_KERNEL, DENSE_BIAS };

static const struct dense *dense_of(const struct layer *layer)
{
    return (const struct dense *)layer;
}

static enum status dense_create(struct layer **layer, const struct layer_words *words,
                                struct shape in, struct error *error)
{
    uint32_t outputs;
    bool relu;
    if (words->count == 0 || layer_parse_sizes(words->word[0], &outputs, 1) != 1) {
        return error_set(error, STATUS_INVALID, "write 'dense N' or 'dense N relu', N up to %d",
                         LAYER_SIDE_MAX);
    }
    enum status status = layer_parse_activation(words, 1, &relu, error);
    if (status)
        return status;
    if (!in.flat) {
        return error_set(error, STATUS_INVALID,
                         "dense needs a flat input, and its input is %ux%ux%u: put 'flatten' before"
                         " it",
                         in.height, in.width, in.channels);
    }
    struct dense *dense = calloc(1, sizeof *dense);
    if (dense == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    dense->relu = relu;
    dense->layer.in = in;
    dense->layer.out = (struct shape){1, 1, outputs, true};
    *layer = &dense->layer;
    return STATUS_OK;
}

static void dense_destroy(struct layer *layer)
{
    free(layer);
}

static void dense_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    snprintf(text, LAYER_TEXT_MAX, "dense %u%s", layer->out.channels,
             dense_of(layer)->relu ? " relu" : "");
}

static struct shape dense_reads(const struct layer *layer)
{
    return layer->in;
}

static uint32_t dense_variables(const struct layer *layer, uint32_t number,
                                struct variable variables[LAYER_VARIABLES_MAX])
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    variables[DENSE_KERNEL] = (struct variable){
        .rank = 2,
        .shape = {in, out},
        .initializer = INITIALIZER_GLOROT_UNIFORM,
        .fan_in = in,
        .fan_out = out,
    };
    variables[DENSE_BIAS] = (struct variable){
        .rank = 1,
        .shape = {out},
        .initializer = INITIALIZER_ZEROS,
        .fan_in = in,
        .fan_out = out,
    };
    snprintf(variables[DENSE_KERNEL].name, VARIABLE_NAME_MAX, "dense%u/kernel", number);
    snprintf(variables[DENSE_BIAS].name, VARIABLE_NAME_MAX, "dense%u/bias", number);
    return 2;
}

static enum status dense_prepare(struct layer *layer, uint32_t count_max)
{
    layer->scratch = kernels_multiply_turned_scratch(count_max, layer->out.channels);
    return STATUS_OK;
}

static void dense_forward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    kernels_dense(pass->count, out, in, pass->in, pass->parameters + layer->offsets[DENSE_KERNEL],
                  pass->parameters + layer->offsets[DENSE_BIAS], dense_of(layer)->relu, pass->out);
}

static void dense_backward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    if (dense_of(layer)->relu)
        kernels_relu_gradient(pass->out_gradient, pass->out, pass->count * out);
    kernels_multiply_at(in, out, pass->count, pass->in, pass->out_gradient,
                        pass->gradient + layer->offsets[DENSE_KERNEL], KERNELS_SET);
    float *bias = pass->gradient + layer->offsets[DENSE_BIAS];
    kernels_sum_rows(pass->out_gradient, pass->count, out, bias);
    if (pass->in_gradient != NULL) {
        kernels_multiply_turned(pass->count, in, out, pass->out_gradient,
                                pass->parameters + layer->offsets[DENSE_KERNEL], pass->in_gradient,
                                pass->scratch);
    }
}

const struct layer_kind layer_dense = {
    .name = "dense",
    .create = dense_create,
    .destroy = dense_destroy,
    .text = dense_text,
    .reads = dense_reads,
    .variables = dense_variables,
    .writes_kernel = true,
    .prepare = dense_prepare,
    .forward = dense_forward,
    .backward = dense_backward,
};
