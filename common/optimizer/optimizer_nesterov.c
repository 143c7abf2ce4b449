/* Nesterov's accelerated gradient, as TensorFlow's ResourceApplyKerasMomentum with use_nesterov
 * (training_ops.cc, functor::ApplyKerasMomentum) and Keras's SGD(momentum, nesterov=True), after
 * Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013:
 *
 *     accum = accum * momentum - lr * g
 *     var  += accum * momentum - lr * g */

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void nesterov(uint64_t count, float scale, float lr, float momentum,
                     const float *restrict gradient, const float *values_in, float *values_out,
                     float *restrict accumulator)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        accumulator[i] = accumulator[i] * momentum - g * lr;
        values_out[i] = values_in[i] + (accumulator[i] * momentum - g * lr);
    }
}

static void apply(const struct optimizer_update *u)
{
    nesterov(u->count, u->scale, u->learning_rate, u->settings->momentum, u->gradient, u->values_in,
             u->values_out, u->slots[0]);
}

const struct optimizer optimizer_nesterov = {
    .name = "nesterov",
    .slot_count = 1,
    .slot_names = {"momentum"},
    .default_learning_rate = 0.01f,
    .defaults = {.name = "nesterov", .momentum = 0.9f},
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
