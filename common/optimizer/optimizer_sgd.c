/* Plain gradient descent, as TensorFlow's ResourceApplyGradientDescent (training_ops.cc,
 * functor::ApplyGradientDescent) and Keras's SGD without momentum:
 *
 *     var -= lr * g */

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void sgd(uint64_t count, float scale, float lr, const float *restrict gradient,
                const float *values_in, float *values_out)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        values_out[i] = values_in[i] - g * lr;
    }
}

static void apply(const struct optimizer_update *u)
{
    sgd(u->count, u->scale, u->learning_rate, u->gradient, u->values_in, u->values_out);
}

const struct optimizer optimizer_sgd = {
    .name = "sgd",
    .default_learning_rate = 0.01f,
    .defaults = {.name = "sgd"},
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
