/* layer_dense.c - out = in * kernel + bias, with or without ReLU; kernel [in][out] as Keras has it.
 */

#include <stdio.h>

#include "common/kernels/kernels.h"
#include "worker/model/layer.h"

struct dense {
    struct layer layer;
    bool relu;
};

static const struct dense *dense_of(const struct layer *layer)
{
    return (const struct dense *)layer;
}

static enum status dense_init(struct layer *layer, const struct layer_words *words,
                              struct error *error)
{
    struct shape in = layer->in;
    uint32_t outputs;
    if (words->count == 0 || layer_parse_sizes(words->word[0], &outputs, 1) != 1) {
        return error_set(error, STATUS_INVALID, "write 'dense N' or 'dense N relu', N up to %d",
                         LAYER_SIDE_MAX);
    }
    enum status status = layer_parse_activation(words, 1, &((struct dense *)layer)->relu, error);
    if (status)
        return status;
    if (!in.flat) {
        return error_set(error, STATUS_INVALID,
                         "dense needs a flat input, and its input is %ux%ux%u: put 'flatten' before"
                         " it",
                         in.height, in.width, in.channels);
    }
    layer->out = (struct shape){1, 1, outputs, true};
    return STATUS_OK;
}

static void dense_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    snprintf(text, LAYER_TEXT_MAX, "dense %u%s", layer->out.channels,
             dense_of(layer)->relu ? " relu" : "");
}

static uint32_t dense_variables(const struct layer *layer, uint32_t number,
                                struct variable variables[LAYER_VARIABLES_MAX])
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    struct variable kernel = {.rank = 2, .shape = {in, out}, .fan_in = in, .fan_out = out};
    return layer_kernel_and_bias(layer, number, &kernel, variables);
}

static enum status dense_prepare(struct layer *layer, uint32_t count_max)
{
    layer->scratch = kernels_multiply_turned_scratch(count_max, layer->out.channels);
    return STATUS_OK;
}

static void dense_forward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    kernels_dense(pass->count, out, in, pass->in, pass->parameters + layer->offsets[LAYER_KERNEL],
                  pass->parameters + layer->offsets[LAYER_BIAS], dense_of(layer)->relu, pass->out);
}

static void dense_backward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = layer->in.channels, out = layer->out.channels;
    if (dense_of(layer)->relu)
        kernels_relu_gradient(pass->out_gradient, pass->out, pass->count * out);
    kernels_multiply_at(in, out, pass->count, pass->in, pass->out_gradient,
                        pass->gradient + layer->offsets[LAYER_KERNEL], KERNELS_SET);
    float *bias = pass->gradient + layer->offsets[LAYER_BIAS];
    kernels_sum_rows(pass->out_gradient, pass->count, out, bias);
    if (pass->in_gradient != NULL) {
        kernels_multiply_turned(pass->count, in, out, pass->out_gradient,
                                pass->parameters + layer->offsets[LAYER_KERNEL], pass->in_gradient,
                                pass->scratch);
    }
}

const struct layer_kind layer_dense = {
    .name = "dense",
    .bytes = sizeof(struct dense),
    .init = dense_init,
    .text = dense_text,
    .variables = dense_variables,
    .writes_kernel = true,
    .prepare = dense_prepare,
    .forward = dense_forward,
    .backward = dense_backward,
};
