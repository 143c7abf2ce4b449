/* layer_pool.c - max-pool with stride = window; the odd last rows and columns are dropped.
 *
 * A max-pool right after a convolution is absorbed by it (layer_conv.c); this file serves the
 * others. */

#include <stdio.h>

#include "common/kernels/kernels.h"
#include "worker/model/layer.h"

struct pool {
    struct layer layer;
    uint32_t size;
};

static const struct pool *pool_of(const struct layer *layer)
{
    return (const struct pool *)layer;
}

static enum status pool_init(struct layer *layer, const struct layer_words *words,
                             struct error *error)
{
    struct pool *pool = (struct pool *)layer;
    struct shape in = layer->in;
    uint32_t sizes[2] = {0};
    uint32_t count = words->count == 1 ? layer_parse_sizes(words->word[0], sizes, 2) : 0;
    if (count == 0 || (count == 2 && sizes[0] != sizes[1]) || sizes[0] > KERNELS_POOL_MAX) {
        return error_set(error, STATUS_INVALID, "write 'pool N' with a window of 1 to %d",
                         KERNELS_POOL_MAX);
    }
    uint32_t size = sizes[0];
    if (in.flat)
        return error_set(error, STATUS_INVALID, "pool needs an image, and its input is flat");
    if (size > in.height || size > in.width) {
        return error_set(error, STATUS_INVALID, "a %ux%u window does not fit a %ux%u input", size,
                         size, in.height, in.width);
    }
    pool->size = size;
    layer->out = (struct shape){in.height / size, in.width / size, in.channels, false};
    return STATUS_OK;
}

static void pool_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    snprintf(text, LAYER_TEXT_MAX, "pool %u", pool_of(layer)->size);
}

static struct shape pool_reads(const struct layer *layer)
{
    uint32_t size = pool_of(layer)->size;
    struct shape out = layer->out;
    return (struct shape){out.height * size, out.width * size, out.channels, false};
}

static struct kernels_window pool_window(const struct layer *layer)
{
    return (struct kernels_window){
        .in_height = layer->in.height,
        .in_width = layer->in.width,
        .channels = layer->in.channels,
        .size = pool_of(layer)->size,
        .out_height = layer->out.height,
        .out_width = layer->out.width,
    };
}

static void pool_forward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = shape_elements(layer->in), out = shape_elements(layer->out);
    for (uint32_t i = 0; i < pass->count; i++) {
        kernels_pool(pool_window(layer), pass->in + i * in, pass->out + i * out,
                     pass->learn ? layer->which + i * out : NULL);
    }
}

static void pool_backward(struct layer *layer, const struct layer_pass *pass)
{
    uint64_t in = shape_elements(layer->in), out = shape_elements(layer->out);
    for (uint32_t i = 0; pass->in_gradient != NULL && i < pass->count; i++) {
        kernels_pool_gradient(pool_window(layer), pass->out_gradient + i * out,
                              layer->which + i * out, pass->in_gradient + i * in);
    }
}

uint32_t layer_pool_size(const struct layer *layer)
{
    return pool_of(layer)->size;
}

const struct layer_kind layer_pool = {
    .name = "pool",
    .bytes = sizeof(struct pool),
    .init = pool_init,
    .text = pool_text,
    .reads = pool_reads,
    .prepare = layer_take_which,
    .forward = pool_forward,
    .backward = pool_backward,
};
