/* layer_flatten.c - an image becomes a vector in the order it lies in: height, width, channel. */

#include <stdio.h>
#include <stdlib.h>

#include "worker/model/layer.h"

static enum status flatten_create(struct layer **layer, const struct layer_words *words,
                                  struct shape in, struct error *error)
{
    if (words->count > 0)
        return error_set(error, STATUS_INVALID, "flatten takes nothing after its name");
    if (shape_elements(in) > LAYER_SIDE_MAX) {
        return error_set(error, STATUS_INVALID, "a %ux%ux%u input is too large to flatten (%d)",
                         in.height, in.width, in.channels, LAYER_SIDE_MAX);
    }
    struct layer *flatten = calloc(1, sizeof *flatten);
    if (flatten == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    flatten->in = in;
    flatten->out = (struct shape){1, 1, (uint32_t)shape_elements(in), true};
    *layer = flatten;
    return STATUS_OK;
}

static void flatten_destroy(struct layer *layer)
{
    free(layer);
}

static void flatten_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    (void)layer;
    snprintf(text, LAYER_TEXT_MAX, "flatten");
}

static struct shape flatten_reads(const struct layer *layer)
{
    return layer->in;
}

const struct layer_kind layer_flatten = {
    .name = "flatten",
    .create = flatten_create,
    .destroy = flatten_destroy,
    .text = flatten_text,
    .reads = flatten_reads,
};
