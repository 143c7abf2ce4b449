/* layer_flatten.c - an image becomes a vector in the order it lies in: height, width, channel. */

#include <stdio.h>

#include "worker/model/layer.h"

static enum status flatten_init(struct layer *layer, const struct layer_words *words,
                                struct error *error)
{
    struct shape in = layer->in;
    if (words->count > 0)
        return error_set(error, STATUS_INVALID, "flatten takes nothing after its name");
    if (shape_elements(in) > LAYER_SIDE_MAX) {
        return error_set(error, STATUS_INVALID, "a %ux%ux%u input is too large to flatten (%d)",
                         in.height, in.width, in.channels, LAYER_SIDE_MAX);
    }
    layer->out = (struct shape){1, 1, (uint32_t)shape_elements(in), true};
    return STATUS_OK;
}

static void flatten_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    (void)layer;
    snprintf(text, LAYER_TEXT_MAX, "flatten");
}

const struct layer_kind layer_flatten = {
    .name = "flatten",
    .bytes = sizeof(struct layer),
    .init = flatten_init,
    .text = flatten_text,
};
