/* RMSprop (Tieleman and Hinton, Coursera lecture 6.5, 2012), not centred, as Keras's RMSprop
 * (optimizer_v2/rmsprop.py), which has two forms. Without momentum it is written in Python:
 *
 *     ms   = rho * ms + (1 - rho) * g^2
 *     var -= lr * g / (sqrt(ms) + epsilon)
 *
 * With momentum it calls ResourceApplyRMSProp (training_ops.cc, functor::ApplyRMSProp), where
 * epsilon stands under the root:
 *
 *     ms  += (g^2 - ms) * (1 - rho)
 *     mom  = mom * momentum + lr * g / sqrt(ms + epsilon)
 *     var -= mom
 *
 * Both are kept, so that numbers compare with TensorFlow's whichever is asked for. */

#include <math.h>

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void rmsprop(uint64_t count, float scale, float lr, float rho, float epsilon,
                    const float *restrict gradient, const float *values_in, float *values_out,
                    float *restrict mean_square)
{
    float one_minus_rho = 1.0f - rho;
    for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
        uint64_t end = vectorized_piece_end(first, count);
        vectorized_fetch(gradient, first);
        vectorized_fetch(values_in, first);
        vectorized_fetch(mean_square, first);
        ELEMENTWISE
        for (uint64_t i = first; i < end; i++) {
            float g = gradient[i] * scale;
            mean_square[i] = rho * mean_square[i] + one_minus_rho * (g * g);
            values_out[i] = values_in[i] - g * lr / (sqrtf(mean_square[i]) + epsilon);
        }
    }
}

VECTORIZED
static void rmsprop_momentum(uint64_t count, float scale, float lr, float rho, float momentum,
                             float epsilon, const float *restrict gradient, const float *values_in,
                             float *values_out, float *restrict mean_square,
                             float *restrict accumulator)
{
    float one_minus_rho = 1.0f - rho;
    for (uint64_t first = 0; first < count; first += VECTORIZED_PIECE) {
        uint64_t end = vectorized_piece_end(first, count);
        vectorized_fetch(gradient, first);
        vectorized_fetch(values_in, first);
        vectorized_fetch(mean_square, first);
        vectorized_fetch(accumulator, first);
        ELEMENTWISE
        for (uint64_t i = first; i < end; i++) {
            float g = gradient[i] * scale;
            mean_square[i] = mean_square[i] + (g * g - mean_square[i]) * one_minus_rho;
            accumulator[i] = accumulator[i] * momentum + g * lr / sqrtf(mean_square[i] + epsilon);
            values_out[i] = values_in[i] - accumulator[i];
        }
    }
}

static void apply(const struct optimizer_update *u)
{
    const struct optimizer_settings *s = u->settings;
    if (s->momentum == 0.0f)
        rmsprop(u->count, u->scale, u->learning_rate, s->rho, s->epsilon, u->gradient, u->values_in,
                u->values_out, u->slots[0]);
    else
        rmsprop_momentum(u->count, u->scale, u->learning_rate, s->rho, s->momentum, s->epsilon,
                         u->gradient, u->values_in, u->values_out, u->slots[0], u->slots[1]);
}

const struct optimizer optimizer_rmsprop = {
    .name = "rmsprop",
    .slot_count = 2, /* The second stays 0 without momentum. */
    .slot_names = {"rms", "momentum"},
    .default_learning_rate = 0.001f,
    .defaults = {.name = "rmsprop", .rho = 0.9f, .epsilon = 1e-7f},
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
