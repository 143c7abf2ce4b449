/* layer_conv.c - two-dimensional convolution, stride 1, valid, with or without ReLU.
 *
 * A few images at a time, so that everything stays in the second-level cache, the patches under the
 * kernel's positions are laid out as rows of a matrix and multiplied by the kernel:
 *
 *     patches [positions][K * K * in]  x  kernel [K * K * in][out]  ->  [positions][out]
 *
 * Where the processor has ways to do the same without laying them out (kernels_convolve_fits,
 * kernels_winograd_fits), those are taken: they make the network more than twice as fast.
 *
 * A max-pool that follows is done here too, before bias and ReLU: both keep order, so the result is
 * the same, only the winners are touched, and the map before the pool is never kept. What the pool
 * drops is never computed. Patches are cheaper to lay out again on the way back than to keep. */

#include <stdio.h>
#include <stdlib.h>

#include "common/kernels.h"
#include "worker/layer.h"

struct conv {
    struct layer layer;
    uint32_t size; /* Of the kernel, which is square. */
    bool relu;
    uint32_t pool;  /* Window of the absorbed max-pool; 1: there is none. */
    uint32_t group; /* Images worked on together when patches are laid out. */

    /* How it is computed, fixed by prepare from the layer alone, never from the number of
     * examples. */
    bool direct;              /* Output and kernel's gradient straight from the images. */
    bool forward_winograd;    /* Output by Winograd's algorithm. */
    bool input_winograd;      /* The input's gradient likewise. */
    struct conv_scratch {     /* Where in the scratch memory things lie. */
        uint64_t patches;     /* [group][positions][patch] */
        uint64_t map;         /* [group][positions][channels], before the pool. */
        uint64_t turned;      /* The kernel as kernels_turn makes it. */
        uint64_t transformed; /* A kernel as kernels_winograd_kernel makes it. */
        uint64_t padded;      /* One image's map in its border, as kernels_pad makes it. */
        uint64_t work;        /* Scratch of kernels_winograd. */
        uint64_t end;
    } at;
    uint8_t *which; /* [count_max][out] of the absorbed pool, owned; NULL without a pool. */
};

enum { CONV_KERNEL, CONV_BIAS };

/* Elements of a group's patches and map: 640 KiB, which leaves room for the rest in a cache of 1 or
 * 2 MiB. */
#define CONV_GROUP_ELEMENTS (160 << 10)

static const struct conv *conv_of(const struct layer *layer)
{
    return (const struct conv *)layer;
}

static enum status conv_check_fit(uint32_t channels, uint32_t size, struct shape in,
                                  struct error *error)
{
    if (in.flat) {
        return error_set(error, STATUS_INVALID, "conv needs an image, and its input is flat");
    }
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

static enum status conv_create(struct layer **layer, const struct layer_words *words,
                               struct shape in, struct error *error)
{
    uint32_t sizes[3] = {0};
    uint32_t count = words->count > 0 ? layer_parse_sizes(words->word[0], sizes, 3) : 0;
    if (count < 2 || (count == 3 && sizes[1] != sizes[2])) {
        return error_set(error, STATUS_INVALID,
                         "write 'conv CxK' or 'conv CxK relu': C channels, a KxK kernel");
    }
    bool relu;
    enum status status = layer_parse_activation(words, 1, &relu, error);
    status = status ? status : conv_check_fit(sizes[0], sizes[1], in, error);
    if (status) {
        return status;
    }
    struct conv *conv = calloc(1, sizeof *conv);
    if (!conv) {
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    conv->size = sizes[1];
    conv->relu = relu;
    conv->pool = 1;
    conv->layer.in = in;
    conv->layer.out =
        (struct shape){in.height - sizes[1] + 1, in.width - sizes[1] + 1, sizes[0], false};
    *layer = &conv->layer;
    return STATUS_OK;
}

static void conv_destroy(struct layer *layer)
{
    struct conv *conv = (struct conv *)layer;
    free(conv->which);
    free(conv);
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
    if (next->kind != &layer_pool || conv->pool > 1) {
        return false;
    }
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
    variables[CONV_KERNEL] = (struct variable){
        .rank = 4,
        .shape = {size, size, in, out},
        .initializer = INITIALIZER_GLOROT_UNIFORM,
        .fan_in = size * size * in,
        .fan_out = size * size * out,
    };
    variables[CONV_BIAS] = (struct variable){
        .rank = 1,
        .shape = {out},
        .initializer = INITIALIZER_ZEROS,
        .fan_in = size * size * in,
        .fan_out = size * size * out,
    };
    snprintf(variables[CONV_KERNEL].name, VARIABLE_NAME_MAX, "conv%u/kernel", number);
    snprintf(variables[CONV_BIAS].name, VARIABLE_NAME_MAX, "conv%u/bias", number);
    return 2;
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
    if (conv->forward_winograd) {
        forward = kernels_winograd_scratch(conv_window(layer), n.channels);
    }
    if (conv->input_winograd) {
        backward = kernels_winograd_scratch(conv_input_window(layer), layer->in.channels);
    }
    return forward > backward ? forward : backward;
}

static void conv_place_scratch(struct conv *conv)
{
    struct conv_sizes n = conv_sizes_of(&conv->layer);
    struct kernels_window input = conv_input_window(&conv->layer);
    struct conv_scratch *at = &conv->at;
    bool patches = !conv->direct || !conv->input_winograd;
    bool winograd = conv->forward_winograd || conv->input_winograd;
    uint64_t transformed = kernels_winograd_kernel_elements(conv->layer.in.channels, n.channels);
    uint64_t padded = (uint64_t)input.in_height * input.in_width * n.channels;
    at->patches = scratch_place(&at->end, patches ? conv->group * n.positions * n.patch : 0);
    at->map = scratch_place(&at->end, conv->group * n.positions * n.channels);
    at->turned = scratch_place(&at->end, conv->input_winograd ? n.patch * n.channels : 0);
    at->transformed = scratch_place(&at->end, winograd ? transformed : 0);
    at->padded = scratch_place(&at->end, conv->input_winograd ? padded : 0);
    at->work = scratch_place(&at->end, conv_work_elements(conv, n));
}

static enum status conv_prepare(struct layer *layer, uint32_t count_max)
{
    struct conv *conv = (struct conv *)layer;
    struct conv_sizes n = conv_sizes_of(layer);
    struct kernels_window window = conv_window(layer), input = conv_input_window(layer);
    uint64_t group = CONV_GROUP_ELEMENTS / (n.positions * (n.patch + n.channels));
    conv->group = (uint32_t)(group > 0 ? group : 1);
    conv->direct = kernels_convolve_fits(n.channels);
    conv->forward_winograd = kernels_winograd_fits(window, n.channels);
    /* Only what the kernel reaches has a gradient, and here that must be all of the input. */
    conv->input_winograd = input.out_height == layer->in.height &&
                           input.out_width == layer->in.width &&
                           kernels_winograd_fits(input, layer->in.channels);
    conv_place_scratch(conv);
    layer->scratch = conv->at.end;
    if (conv->pool > 1) {
        conv->which = malloc(count_max * n.out);
    }
    return conv->pool == 1 || conv->which ? STATUS_OK : STATUS_MEMORY;
}

/* Matrices are multiplied best for a few images at once; everything else likes one at a time. */
static uint32_t conv_group(const struct conv *conv, bool patches)
{
    return patches ? conv->group : 1;
}

static void conv_patches(const struct layer *layer, const struct layer_pass *pass, uint32_t first,
                         uint32_t count)
{
    struct conv_sizes n = conv_sizes_of(layer);
    float *patches = pass->scratch + conv_of(layer)->at.patches;
    for (uint32_t i = 0; i < count; i++) {
        kernels_patches(conv_window(layer), pass->in + (first + i) * n.in,
                        patches + i * n.positions * n.patch);
    }
}

/* map [count][positions][channels] = the kernel everywhere on images [first, first + count). */
static void conv_convolve(const struct layer *layer, const struct layer_pass *pass, uint32_t first,
                          uint32_t count, float *map)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    const float *kernel = pass->parameters + layer->offsets[CONV_KERNEL];
    if (!conv->direct) {
        conv_patches(layer, pass, first, count);
        kernels_multiply(count * n.positions, n.channels, n.patch, pass->scratch + conv->at.patches,
                         kernel, map, KERNELS_SET);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const float *image = pass->in + (first + i) * n.in;
        float *out = map + i * n.positions * n.channels;
        if (conv->forward_winograd) {
            kernels_winograd(conv_window(layer), image, pass->scratch + conv->at.transformed,
                             n.channels, out, pass->scratch + conv->at.work);
        } else {
            kernels_convolve(conv_window(layer), image, kernel, n.channels, out);
        }
    }
}

static void conv_forward_group(const struct layer *layer, const struct layer_pass *pass,
                               uint32_t first, uint32_t count)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *out = pass->out + first * n.out;
    float *map = conv->pool == 1 ? out : pass->scratch + conv->at.map;
    conv_convolve(layer, pass, first, count, map);
    for (uint32_t i = 0; conv->pool > 1 && i < count; i++) {
        kernels_pool(conv_pool_window(layer), map + i * n.positions * n.channels, out + i * n.out,
                     pass->learn ? conv->which + (first + i) * n.out : NULL);
    }
    kernels_bias_rows(out, count * n.out / n.channels, n.channels,
                      pass->parameters + layer->offsets[CONV_BIAS], conv->relu);
}

static void conv_forward(struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    if (conv->forward_winograd) {
        kernels_winograd_kernel(pass->parameters + layer->offsets[CONV_KERNEL], layer->in.channels,
                                layer->out.channels, pass->scratch + conv->at.transformed);
    }
    uint32_t group = conv_group(conv, !conv->direct);
    for (uint32_t first = 0; first < pass->count; first += group) {
        uint32_t left = pass->count - first;
        conv_forward_group(layer, pass, first, left < group ? left : group);
    }
}

/* Add to the kernel's gradient what images [first, first + count) bring, given that of map. */
static void conv_kernel_gradient(const struct layer *layer, const struct layer_pass *pass,
                                 uint32_t first, uint32_t count, const float *map)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *kernel = pass->gradient + layer->offsets[CONV_KERNEL];
    if (!conv->direct) {
        conv_patches(layer, pass, first, count);
        kernels_multiply_at(n.patch, n.channels, count * n.positions,
                            pass->scratch + conv->at.patches, map, kernel, KERNELS_ADD);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        kernels_convolve_gradient(conv_window(layer), pass->in + (first + i) * n.in,
                                  map + i * n.positions * n.channels, n.channels, kernel);
    }
}

/* The input's gradient of one image by Winograd; the kernel was turned and transformed before. */
static void conv_input_winograd(const struct layer *layer, const struct layer_pass *pass,
                                const float *map, float *in_gradient)
{
    const struct conv *conv = conv_of(layer);
    struct kernels_window window = conv_window(layer);
    float *padded = pass->scratch + conv->at.padded;
    kernels_pad(map, window.out_height, window.out_width, layer->out.channels, window.size - 1,
                padded);
    kernels_winograd(conv_input_window(layer), padded, pass->scratch + conv->at.transformed,
                     layer->in.channels, in_gradient, pass->scratch + conv->at.work);
}

static void conv_input_gradient(const struct layer *layer, const struct layer_pass *pass,
                                uint32_t first, uint32_t count, const float *map)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *patches = pass->scratch + conv->at.patches;
    if (!conv->input_winograd) {
        kernels_multiply_bt(count * n.positions, n.patch, n.channels, map,
                            pass->parameters + layer->offsets[CONV_KERNEL], patches, KERNELS_SET);
    }
    for (uint32_t i = 0; i < count; i++) {
        float *in_gradient = pass->in_gradient + (first + i) * n.in;
        if (conv->input_winograd) {
            conv_input_winograd(layer, pass, map + i * n.positions * n.channels, in_gradient);
        } else {
            kernels_patches_sum(conv_window(layer), patches + i * n.positions * n.patch,
                                in_gradient);
        }
    }
}

static void conv_backward_group(const struct layer *layer, const struct layer_pass *pass,
                                uint32_t first, uint32_t count)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    float *map = pass->out_gradient + first * n.out;
    if (conv->pool > 1) {
        map = pass->scratch + conv->at.map;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t image = (first + i) * n.out;
            kernels_pool_gradient(conv_pool_window(layer), pass->out_gradient + image,
                                  conv->which + image, map + i * n.positions * n.channels);
        }
    }
    conv_kernel_gradient(layer, pass, first, count, map);
    if (pass->in_gradient) {
        conv_input_gradient(layer, pass, first, count, map);
    }
}

static void conv_backward(struct layer *layer, const struct layer_pass *pass)
{
    const struct conv *conv = conv_of(layer);
    struct conv_sizes n = conv_sizes_of(layer);
    if (conv->relu) {
        kernels_relu_gradient(pass->out_gradient, pass->out, pass->count * n.out);
    }
    float *bias = pass->gradient + layer->offsets[CONV_BIAS];
    kernels_sum_rows(pass->out_gradient, pass->count * n.out / n.channels, n.channels, bias);
    if (conv->input_winograd && pass->in_gradient) {
        float *turned = pass->scratch + conv->at.turned;
        kernels_turn(pass->parameters + layer->offsets[CONV_KERNEL], conv->size, layer->in.channels,
                     n.channels, turned);
        kernels_winograd_kernel(turned, n.channels, layer->in.channels,
                                pass->scratch + conv->at.transformed);
    }
    uint32_t group =
        conv_group(conv, !conv->direct || (pass->in_gradient && !conv->input_winograd));
    for (uint32_t first = 0; first < pass->count; first += group) {
        uint32_t left = pass->count - first;
        conv_backward_group(layer, pass, first, left < group ? left : group);
    }
}

const struct layer_kind layer_conv = {
    .name = "conv",
    .create = conv_create,
    .destroy = conv_destroy,
    .text = conv_text,
    .absorb = conv_absorb,
    .reads = conv_reads,
    .variables = conv_variables,
    .prepare = conv_prepare,
    .forward = conv_forward,
    .backward = conv_backward,
};
