/* Gradient descent with momentum, as TensorFlow's ResourceApplyKerasMomentum (training_ops.cc,
 * functor::ApplyKerasMomentum) and Keras's SGD(momentum):
 *
 *     accum = accum * momentum - lr * g
 *     var  += accum
 *
 * The rate is inside the accumulator, so a change of the rate takes hold as the old accumulator
 * fades (PyTorch's rule has it outside; for a constant rate the two are the same). */

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void momentum(uint64_t count, float scale, float lr, float momentum,
                     const float *restrict gradient, const float *values_in, float *values_out,
                     float *restrict accumulator)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        accumulator[i] = accumulator[i] * momentum - g * lr;
        values_out[i] = values_in[i] + accumulator[i];
    }
}

static void apply(const struct optimizer_update *u)
{
    momentum(u->count, u->scale, u->learning_rate, u->settings->momentum, u->gradient, u->values_in,
             u->values_out, u->slots[0]);
}

const struct optimizer optimizer_momentum = {
    .name = "momentum",
    .slot_count = 1,
    .slot_names = {"momentum"},
    .default_learning_rate = 0.01f,
    .defaults = {.name = "momentum", .momentum = 0.9f},
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
