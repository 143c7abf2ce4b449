/* Adam (Kingma and Ba, ICLR 2015), as TensorFlow's ResourceApplyAdam (training_ops.cc,
 * functor::ApplyAdamNonCuda) and Keras's Adam. It is the form just before section 2.1 of the
 * paper, whose epsilon is "epsilon hat":
 *
 *     alpha = lr * sqrt(1 - beta2^t) / (1 - beta1^t)
 *     m    += (g - m) * (1 - beta1)
 *     v    += (g^2 - v) * (1 - beta2)
 *     var  -= m * alpha / (sqrt(v) + epsilon)
 *
 * alpha is computed from t in double and rounded once, where TensorFlow multiplies up powers of
 * beta in float: nothing to keep in a checkpoint, and no drift. */

#include <math.h>

#include "common/base/elementary.h"
#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void adam(uint64_t count, float scale, float alpha, float beta1, float beta2, float epsilon,
                 const float *restrict gradient, const float *values_in, float *values_out,
                 float *restrict m, float *restrict v)
{
    float one_minus_beta1 = 1.0f - beta1;
    float one_minus_beta2 = 1.0f - beta2;
    for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
        uint64_t end = vectorized_piece_end(first, count);
        vectorized_fetch(gradient, first);
        vectorized_fetch(values_in, first);
        vectorized_fetch(m, first);
        vectorized_fetch(v, first);
        ELEMENTWISE
        for (uint64_t i = first; i < end; i++) {
            float g = gradient[i] * scale;
            m[i] = m[i] + (g - m[i]) * one_minus_beta1;
            v[i] = v[i] + (g * g - v[i]) * one_minus_beta2;
            values_out[i] = values_in[i] - m[i] * alpha / (sqrtf(v[i]) + epsilon);
        }
    }
}

float optimizer_adam_rate(float lr, float beta1, float beta2, uint64_t t)
{
    double correction1 = 1.0 - elementary_power((double)beta1, t);
    double correction2 = 1.0 - elementary_power((double)beta2, t);
    return (float)((double)lr * sqrt(correction2) / correction1);
}

static void apply(const struct optimizer_update *u)
{
    const struct optimizer_settings *s = u->settings;
    float alpha = optimizer_adam_rate(u->learning_rate, s->beta1, s->beta2, u->t);
    adam(u->count, u->scale, alpha, s->beta1, s->beta2, s->epsilon, u->gradient, u->values_in,
         u->values_out, u->slots[0], u->slots[1]);
}

const struct optimizer optimizer_adam = {
    .name = "adam",
    .slot_count = 2,
    .slot_names = {"m", "v"},
    .default_learning_rate = 0.001f,
    .defaults = {.name = "adam", .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-7f},
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
