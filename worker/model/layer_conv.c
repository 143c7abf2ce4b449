/* layer_conv.c - two-dimensional convolution, stride 1, valid, with or without ReLU.
 *
 * It works image by image, so that everything stays near, straight from the image or by Winograd's
 * algorithm; patches are never laid out. A max-pool that follows is done here too: kernels take the
 * usual 2x2 along, so that the map before it is never stored. What a pool drops is never
 * computed. */

#include <stdio.h>
#include <string.h>

#include "common/kernels/kernels.h"
#include "common/kernels/kernels_sparse.h"
#include "worker/model/layer.h"

struct conv {
    struct layer layer;
    uint32_t size; /* Of the kernel, which is square. */
    bool relu;
    uint32_t pool; /* Window of the absorbed max-pool; 1: there is none. */

    /* How it is computed, fixed by prepare from the layer alone, never from the number of
     * examples. */
    bool forward_winograd;    /* Output by Winograd's algorithm. */
    bool input_winograd;      /* The input's gradient likewise. */
    struct conv_scratch {     /* Where in the scratch memory things lie. */
        uint64_t map;         /* [positions][channels], one image's before the pool. */
        uint64_t turned;      /* The kernel as kernels_turn makes it, or kernels_transpose. */
        uint64_t transformed; /* A kernel as kernels_winograd_kernel makes it. */
        uint64_t padded;      /* One image's map in its border, as kernels_pad makes it. */
        uint64_t work;        /* Scratch of kernels_winograd. */
        uint64_t sums;        /* The kernel's gradient, turned as kernels_sparse.h has it. */
        uint64_t sparse;      /* Scratch of kernels_sparse_gradient and kernels_few_gradient. */
        uint64_t end;
    } at;
};

static const struct conv *conv_of(const struct layer *layer)
{
    return (const struct conv *)layer;
}

static enum status conv_check_fit(uint32_t channels, uint32_t size, struct shape in,
                                  struct error *error)
{
    if (in.flat)
        return error_set(error, STATUS_INVALID, "conv needs an image, and its input is flat");
    if (size > in.height || size > in.width) {
        return error_set(error, STATUS_INVALID, "a %ux%u kernel does not fit a %ux%u input", size,
                         size, in.height, in.width);
    }
    uint64_t positions = (uint64_t)(in.height - size + 1) * (in.width - size + 1);
    uint64_t patch = (uint64_t)size * size * in.channels;
    if (positions * channels > LAYER_ELEMENTS_MAX || positions > LAYER_ELEMENTS_MAX / patch ||
        patch > LAYER_ELEMENTS_MAX / channels) {
        return error_set(error, STATUS_INVALID,
                         "%u channels and a %ux%u kernel on a %ux%ux%u input are too large",
                         channels, size, size, in.height, in.width, in.channels);
    }
    return STATUS_OK;
}

static enum status conv_init(struct layer *layer, const struct layer_words *words,
                             struct error *error)
{
    struct conv *conv = (struct conv *)layer;
    uint32_t sizes[3] = {0};
    uint32_t count = words->count > 0 ? layer_parse_sizes(words->word[0], sizes, 3) : 0;
    if (count < 2 || (count == 3 && sizes[1] != sizes[2])) {
        return error_set(error, STATUS_INVALID,
                         "write 'conv CxK' or 'conv CxK relu': C channels, a KxK kernel");
    }
    uint32_t channels = sizes[0], border = sizes[1] - 1;
    enum status status = layer_parse_activation(words, 1, &conv->relu, error);
    status = status ? status : conv_check_fit(channels, sizes[1], layer->in, error);
    if (status)
        return status;
    conv->size = sizes[1];
    conv->pool = 1;
    layer->out =
        (struct shape){layer->in.height - border, layer->in.width - border, channels, false};
    return STATUS_OK;
}

static void conv_text(const struct layer *layer, char text[LAYER_TEXT_MAX])
{
    const struct conv *conv = conv_of(layer);
    snprintf(text, LAYER_TEXT_MAX, "conv %ux%u%s", layer->out.channels, conv->size,
             conv->relu ? " relu" : "");
}

static bool conv_absorb(struct layer *layer, const struct layer *next)
{
    struct conv *conv = (struct conv *)layer;
    if (next->kind != &layer_pool || conv->pool > 1)
        return false;
    conv->pool = layer_pool_size(next);
    layer->out = next->out;
    return true;
}

static struct shape conv_reads(const struct layer *layer)
{
    const struct conv *conv = conv_of(layer);
    uint32_t border = conv->size - 1;
    return (struct shape){layer->out.height * conv->pool + border,
                          layer->out.width * conv->pool + border, layer->in.channels, false};
}

static uint32_t conv_variables(const struct layer *layer, uint32_t number,
                               struct variable variables[LAYER_VARIABLES_MAX])
{
    uint64_t size = conv_of(layer)->size, in = layer->in.channels, out = layer->out.channels;
    struct variable kernel = {
        .rank = 4,
        .shape = {size, size, in, out},
        .fan_in = size * size * in,
        .fan_out = size * size * out,
    };
    return layer_kernel_and_bias(layer, number, &kernel, variables);
}

/* The kernel's positions on one image: those that the pool reads. */
static struct kernels_window conv_window(const struct layer *layer)
{
    const struct conv *conv = conv_of(layer);
    return (struct kernels_window){
        .in_height = layer->in.height,
        .in_width = layer->in.width,
        .channels = layer->in.channels,
        .size = conv->size,
        .out_height = layer->out.height * conv->pool,
        .out_width = layer->out.width * conv->pool,
    };
}

/* The absorbed pool's windows on the map that those positions make. */
static struct kernels_window conv_pool_window(const struct layer *layer)
{
    const struct conv *conv = conv_of(layer);
    return (struct kernels_window){
        .in_height = layer->out.height * conv->pool,
        .in_width = layer->out.width * conv->pool,
        .channels = layer->out.channels,
        .size = conv->pool,
        .out_height = layer->out.height,
        .out_width = layer->out.width,
    };
}

/* Numbers that forward and backward both start from. */
struct conv_sizes {
    uint64_t in, out;   /* Elements of one image's input and output. */
    uint64_t channels;  /* Of the output. */
    uint64_t patch;     /* Elements under the kernel at one position. */
    uint64_t positions; /* Per image. */
};

static struct conv_sizes conv_sizes_of(const struct layer *layer)
{
    struct kernels_window window = conv_window(layer);
    return (struct conv_sizes){
        .in = shape_elements(layer->in),
        .out = shape_elements(layer->out),
        .channels = layer->out.channels,
        .patch = (uint64_t)window.size * window.size * window.channels,
        .positions = (uint64_t)window.out_height * window.out_width,
    };
}

/* The convolution that makes the input's gradient from the map's, see kernels_turn. */
static struct kernels_window conv_input_window(const struct layer *layer)
{
    struct kernels_window window = conv_window(layer);
    uint32_t border = window.size - 1;
    return (struct kernels_window){
        .in_height = window.out_height + 2 * border,
        .in_width = window.out_width + 2 * border,
        .channels = layer->out.channels,
        .size = window.size,
        .out_height = window.out_height + border,
        .out_width = window.out_width + border,
    };
}

/* Behind a max-pool most of the map's gradient is zero, see kernels_sparse.h. */
static bool conv_sparse_fits(const struct conv *conv)
{
    return conv->size == 3 && conv->pool > 1;
}

/* The same with the pool, for the way back. */
static struct kernels_sparse conv_sparse(const struct layer *layer)
{
    return (struct kernels_sparse){conv_window(layer), conv_of(layer)->pool, layer->out.channels};
}

/* The next free place after `count` elements at *end, on a 64-byte boundary. */
static uint64_t scratch_place(uint64_t *end, uint64_t count)
{
    uint64_t place = *end;
    *end += (count + PARAMETER_ALIGNMENT - 1) / PARAMETER_ALIGNMENT * PARAMETER_ALIGNMENT;
    return place;
}

static uint64_t conv_work_elements(const struct conv *conv, struct conv_sizes n)
{
    const struct layer *layer = &conv->layer;
    uint64_t forward = 0, backward = 0;
    if (conv->forward_winograd)
        forward = kernels_winograd_scratch(conv_window(layer), n.channels);
    if (conv->input_winograd)
        backward = kernels_winograd_scratch(conv_input_window(layer), layer->in.channels);
    return forward > backward ? forward : backward;
}

static void conv_place_scratch(struct conv *conv)
{
    struct conv_sizes n = conv_sizes_of(&conv->layer);
    struct kernels_window input = conv_input_window(&conv->layer);
    struct conv_scratch *at = &conv->at;
    bool winograd = conv->forward_winograd || conv->input_winograd;
    uint64_t transformed = kernels_winograd_kernel_elements(conv->layer.in.channels, n.channels);
    at->map = scratch_place(&at->end, n.positions * n.channels);
    at->turned = scratch_place(&at->end, n.patch * n.channels);
    at->transformed = scratch_place(&at->end, winograd ? transformed : 0);
    at->padded = scratch_place(&at->end, (uint64_t)input.in_height * input.in_width * n.channels);
    at->work = scratch_place(&at->end, conv_work_elements(conv, n));
    if (conv_sparse_fits(conv)) {
        uint64_t lists = kernels_sparse_scratch(conv_sparse(&conv->layer));
        uint64_t few = kernels_few_scratch(conv_sparse(&conv->layer));
        at->sums = scratch_place(&at->end, n.patch * n.channels);
        at->sparse = scratch_place(&at->end, lists > few ? lists : few);
    }
}

static enum status conv_prepare(struct layer *layer, uint32_t count_max)
{
    struct conv *conv = (struct conv *)layer;
    struct conv_sizes n = conv_sizes_of(layer);
    conv->forward_winograd = kernels_winograd_fits(conv_window(layer), n.channels);
    conv->input_winograd = kernels_winograd_fits(conv_input_window(layer), layer->in.channels);
    conv_place_scratch(conv);
    layer->scratch = conv->at.end;
    return conv->pool > 1 ? layer_take_which(layer, count_max) : STATUS_OK;
}

/* One image: output, or the map when the pool behind is not one that the kernels take along. */
static void conv_convolve(const struct layer *layer, const struct layer_pass *pass,
                          const float *image, struct kernels_finish finish, float *out)
{
    const struct conv *conv = conv_of(layer);
    if (conv->forward_winograd) {
        kernels_winograd(conv_window(layer), image, pass->scratch + conv->at.transformed,
                         layer->out.channels, finish, out, pass->scratch + conv->at.work);
    } else {
        kernels_convolve(conv_window(layer), image, pass->parameters + layer->offsets[LAYER_KERNEL],
                         layer->out.channels, finish, out);
    }
}

static void conv_forward_image(const struct layer *layer, const struct layer_pass *pass, uint32_t i)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    const float *image = pass->in + i * n.in;
    float *out = pass->out + i * n.out, *map = pass->scratch + conv->at.map;
    uint8_t *which = pass->learn && layer->which != NULL ? layer->which + i * n.out : NULL;
    struct kernels_finish finish = {
        .bias = pass->parameters + layer->offsets[LAYER_BIAS],
        .relu = conv->relu,
        .pool = conv->pool == 2 ? 2 : 1,
        .which = conv->pool == 2 ? which : NULL,
    };
    if (conv->pool <= 2) {
        conv_convolve(layer, pass, image, finish, out);
    } else {
        conv_convolve(layer, pass, image, finish, map);
        kernels_pool(conv_pool_window(layer), map, out, which);
    }
}

static void conv_forward(struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    if (conv->forward_winograd) {
        kernels_winograd_kernel(pass->parameters + layer->offsets[LAYER_KERNEL], layer->in.channels,
                                layer->out.channels, pass->scratch + conv->at.transformed);
    }
    for (uint32_t i = 0; i < pass->count; i++)
        conv_forward_image(layer, pass, i);
}

/* The input's gradient of one image, given that of its map. It reaches all of the input: no layer
 * before this one makes more than the kernel reads, and the first has no use for it. */
static void conv_input_gradient(const struct layer *layer, const struct layer_pass *pass,
                                const float *map, float *in_gradient)
{
    const struct conv *conv = conv_of(layer);
    struct kernels_window window = conv_window(layer), input = conv_input_window(layer);
    struct kernels_finish finish = {.pool = 1};
    float *padded = pass->scratch + conv->at.padded;
    kernels_pad(map, window.out_height, window.out_width, layer->out.channels, window.size - 1,
                padded);
    if (conv->input_winograd) {
        kernels_winograd(input, padded, pass->scratch + conv->at.transformed, layer->in.channels,
                         finish, in_gradient, pass->scratch + conv->at.work);
    } else {
        kernels_convolve(input, padded, pass->scratch + conv->at.turned, layer->in.channels, finish,
                         in_gradient);
    }
}

static void conv_backward_image(const struct layer *layer, const struct layer_pass *pass,
                                uint32_t i)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *map = pass->out_gradient + i * n.out;
    if (conv->pool > 1) {
        map = pass->scratch + conv->at.map;
        kernels_pool_gradient(conv_pool_window(layer), pass->out_gradient + i * n.out,
                              layer->which + i * n.out, map);
    }
    kernels_convolve_gradient(conv_window(layer), pass->in + i * n.in, map, n.channels,
                              pass->gradient + layer->offsets[LAYER_KERNEL]);
    if (pass->in_gradient != NULL)
        conv_input_gradient(layer, pass, map, pass->in_gradient + i * n.in);
}

static void conv_backward_sparse(const struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *turned = pass->scratch + conv->at.turned, *sums = pass->scratch + conv->at.sums;
    kernels_transpose(n.patch, n.channels, pass->parameters + layer->offsets[LAYER_KERNEL],
                      n.channels, turned, n.patch);
    memset(sums, 0, n.patch * n.channels * sizeof *sums);
    for (uint32_t i = 0; i < pass->count; i++) {
        kernels_sparse_gradient(conv_sparse(layer), pass->in + i * n.in, turned,
                                pass->out_gradient + i * n.out, layer->which + i * n.out, sums,
                                pass->in_gradient != NULL ? pass->in_gradient + i * n.in : NULL,
                                pass->scratch + conv->at.sparse);
    }
    kernels_transpose(n.channels, n.patch, sums, n.patch,
                      pass->gradient + layer->offsets[LAYER_KERNEL], n.channels);
}

static void conv_backward_few(const struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    for (uint32_t i = 0; i < pass->count; i++) {
        kernels_few_gradient(conv_sparse(layer), pass->in + i * n.in,
                             pass->out_gradient + i * n.out, layer->which + i * n.out,
                             pass->gradient + layer->offsets[LAYER_KERNEL],
                             pass->scratch + conv->at.sparse);
    }
}

static void conv_backward_dense(const struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    float *turned = pass->scratch + conv->at.turned;
    kernels_turn(pass->parameters + layer->offsets[LAYER_KERNEL], conv->size, layer->in.channels,
                 layer->out.channels, turned);
    if (conv->input_winograd) {
        kernels_winograd_kernel(turned, layer->out.channels, layer->in.channels,
                                pass->scratch + conv->at.transformed);
    }
    for (uint32_t i = 0; i < pass->count; i++)
        conv_backward_image(layer, pass, i);
}

static void conv_backward(struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    if (conv->relu)
        kernels_relu_gradient(pass->out_gradient, pass->out, pass->count * n.out);
    float *bias = pass->gradient + layer->offsets[LAYER_BIAS];
    kernels_sum_rows(pass->out_gradient, pass->count * n.out / n.channels, n.channels, bias);
    if (!conv_sparse_fits(conv))
        conv_backward_dense(layer, pass);
    else if (pass->in_gradient == NULL && kernels_few_fits(conv_sparse(layer)))
        conv_backward_few(layer, pass);
    else
        conv_backward_sparse(layer, pass);
}

const struct layer_kind layer_conv = {
    .name = "conv",
    .bytes = sizeof(struct conv),
    .init = conv_init,
    .text = conv_text,
    .absorb = conv_absorb,
    .reads = conv_reads,
    .variables = conv_variables,
    .prepare = conv_prepare,
    .forward = conv_forward,
    .backward = conv_backward,
};
