/* probe_gradient.c - a small network with convolutions, a pool and dense layers on invented
 * examples; gradient, loss and the updates of probe.h make the digest. */

#include "worker/model/probe_gradient.h"

#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/job/probe.h"
#include "worker/model/model.h"

#define PROBE_MODEL "conv 8x3 relu, pool 2, conv 12x3 relu, flatten, dense 16 relu, dense 10"
#define PROBE_SIDE  14
#define PROBE_LEAF  5

static struct score gradient_of(struct model *model, float *parameters, float *gradient)
{
    struct random_sequence sequence;
    struct score score = {0};
    uint8_t images[PROBE_LEAF * PROBE_SIDE * PROBE_SIDE];
    union label labels[PROBE_LEAF];
    uint64_t count = model_elements(model);
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    for (uint64_t i = 0; i < count; i++)
        parameters[i] = 0.2f * (random_unit_float(random_next(&sequence)) - 0.5f);
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)random_next(&sequence);
    for (size_t i = 0; i < PROBE_LEAF; i++)
        labels[i].class = random_below(&sequence, 10);
    model_gradient(model, parameters, images, labels, PROBE_LEAF, gradient, &score);
    return score;
}

enum status probe_gradient(uint8_t digest[DIGEST_BYTES], struct error *error)
{
    struct model *model;
    struct model_input input = {
        .height = PROBE_SIDE, .width = PROBE_SIDE, .channels = 1, .classes = 10};
    enum status status = model_create(&model, PROBE_MODEL, input, PROBE_LEAF, error);
    if (status != STATUS_OK)
        return status;
    size_t bytes = model_elements(model) * sizeof(float);
    float *parameters = aligned_alloc(64, bytes), *gradient = aligned_alloc(64, bytes);
    if (parameters == NULL || gradient == NULL) {
        status = error_set(error, STATUS_MEMORY, "out of memory");
    } else {
        struct hash hash;
        uint8_t updates[DIGEST_BYTES];
        struct score score = gradient_of(model, parameters, gradient);
        probe_updates(updates);
        hash_init(&hash);
        hash_update(&hash, updates, sizeof updates);
        hash_update(&hash, gradient, bytes);
        hash_update(&hash, &score.loss, sizeof score.loss);
        hash_final(&hash, digest);
    }
    free(parameters);
    free(gradient);
    model_destroy(&model);
    return status;
}
