/* fuzz_model.c - layer lists for small images: what is accepted is accepted again as it is written
 * canonically, with the same variables, and small networks compute a gradient.
 *
 *     input: height, width, channels, classes, leaf (1 byte each) | layer list */

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "worker/model/model.h"

enum { SIDE_MAX = 16, CHANNELS_MAX = 4, LEAF_MAX = 4, ELEMENTS_MAX = 4096 };

/* Layers of so small an image may be wide all the same: MODEL_LAYERS_MAX of them, of which each
 * activation is bounded by LAYER_ELEMENTS_MAX. Larger ones than the sanitizer gives out
 * (run.sh) are refused as out of memory. */
const struct fuzz_bounds fuzz_bounds = {(size_t)4 << 30, 0};

void fuzz_start(void)
{
}

/* An array of exactly so many elements. */
static float *floats(uint64_t count)
{
    float *array = aligned_alloc(64, (count + 15) / 16 * 64);
    fuzz_must(array != NULL, "there is memory for a small model");
    for (uint64_t i = 0; i < count; i++)
        array[i] = 0.01f * (float)(i % 17) - 0.08f;
    return array;
}

static void compute(struct model *model, struct model_input input, uint32_t leaf)
{
    uint64_t elements = model_elements(model);
    uint64_t pixels = (uint64_t)input.height * input.width * input.channels;
    float *parameters = floats(elements), *gradient = floats(elements);
    uint8_t *images = malloc(leaf * pixels);
    union label labels[LEAF_MAX];
    fuzz_must(images != NULL, "there is memory for images");
    for (uint64_t i = 0; i < leaf * pixels; i++)
        images[i] = (uint8_t)(i * 37);
    for (uint32_t i = 0; i < leaf; i++)
        labels[i].class = i % input.classes;
    struct score score = {0};
    model_gradient(model, parameters, images, labels, leaf, gradient, &score);
    model_evaluate(model, parameters, images, labels, leaf, &score);
    fuzz_must(score.examples == 2 * leaf && score.correct <= score.examples,
              "every example is counted");
    free(images);
    free(gradient);
    free(parameters);
}

static void check_again(const struct model *model, struct model_input input, uint32_t leaf)
{
    struct model *again;
    struct error error;
    enum status status = model_create(&again, model_text(model), input, leaf, &error);
    if (status == STATUS_MEMORY)
        return;
    fuzz_must(status == STATUS_OK, "the canonical text is accepted");
    fuzz_must(strcmp(model_text(again), model_text(model)) == 0, "and is canonical");
    uint32_t count, count_again;
    const struct variable *one = model_variables(model, &count);
    const struct variable *other = model_variables(again, &count_again);
    fuzz_must(count == count_again, "the variables are the same");
    for (uint32_t i = 0; i < count; i++)
        fuzz_must(strcmp(one[i].name, other[i].name) == 0 &&
                      variable_elements(&one[i]) == variable_elements(&other[i]),
                  "the variables are the same");
    model_destroy(&again);
}

/* Whether a gradient is quickly computed: a few thousand parameters, each used at no more than
 * SIDE_MAX^2 places of an image. */
static bool is_small(const struct model *model)
{
    return model_elements(model) <= ELEMENTS_MAX;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input bytes = {data, size};
    struct model_input input = {0};
    input.height = (uint32_t)fuzz_take(&bytes, 1) % (SIDE_MAX + 1);
    input.width = (uint32_t)fuzz_take(&bytes, 1) % (SIDE_MAX + 1);
    input.channels = (uint32_t)fuzz_take(&bytes, 1) % (CHANNELS_MAX + 1);
    input.classes = (uint32_t)fuzz_take(&bytes, 1);
    uint32_t leaf = (uint32_t)fuzz_take(&bytes, 1) % (LEAF_MAX + 1);
    char *text = strndup((const char *)bytes.data, bytes.left);
    fuzz_must(text != NULL, "there is memory for a text");

    struct model *model;
    struct error error;
    if (model_create(&model, text, input, leaf, &error) == STATUS_OK) {
        check_again(model, input, leaf);
        if (is_small(model))
            compute(model, input, leaf);
    }
    model_destroy(&model);
    free(text);
}
