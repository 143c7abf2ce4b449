/* Adagrad (Duchi, Hazan and Singer, JMLR 2011), as TensorFlow's ResourceApplyAdagradV2
 * (training_ops.cc, functor::ApplyAdagradV2) and Keras's Adagrad:
 *
 *     accum += g^2
 *     var   -= lr * g / (sqrt(accum) + epsilon) */

#include <math.h>

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void adagrad(uint64_t count, float scale, float lr, float epsilon,
                    const float *restrict gradient, const float *values_in, float *values_out,
                    float *restrict accumulator)
{
    for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
        uint64_t end = vectorized_piece_end(first, count);
        vectorized_fetch(gradient, first);
        vectorized_fetch(values_in, first);
        vectorized_fetch(accumulator, first);
        ELEMENTWISE
        for (uint64_t i = first; i < end; i++) {
            float g = gradient[i] * scale;
            accumulator[i] = accumulator[i] + g * g;
            values_out[i] = values_in[i] - g * lr / (sqrtf(accumulator[i]) + epsilon);
        }
    }
}

static void apply(const struct optimizer_update *u)
{
    adagrad(u->count, u->scale, u->learning_rate, u->settings->epsilon, u->gradient, u->values_in,
            u->values_out, u->slots[0]);
}

static float slot_initial(const struct optimizer_settings *settings, uint32_t slot)
{
    (void)slot;
    return settings->initial_accumulator;
}

const struct optimizer optimizer_adagrad = {
    .name = "adagrad",
    .slot_count = 1,
    .slot_names = {"accumulator"},
    .default_learning_rate = 0.001f,
    .defaults = {.name = "adagrad", .epsilon = 1e-7f, .initial_accumulator = 0.1f},
    .slot_initial = slot_initial,
    .apply = apply,
};
