/* Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization",
 * ICLR 2019, algorithm 2), as Keras 2.11's experimental AdamW: Adam's moments know nothing of the
 * decay, and the rate of both is the scheduled one:
 *
 *     alpha, m, v  as in optimizer_adam.c
 *     var         -= lr * weight_decay * var          kernels only: biases do not decay
 *     var         -= m * alpha / (sqrt(v) + epsilon)
 *
 * A loop beside adam's, and not adam with a decay of 0: that would cost adam an operation an element,
 * and turn its -0 into 0. */

#include <math.h>

#include "common/kernels/vectorized.h"
#include "common/optimizer/optimizer.h"

VECTORIZED
static void adamw(uint64_t count, float scale, float alpha, float decay, float beta1, float beta2,
                  float epsilon, const float *restrict gradient, const float *values_in,
                  float *values_out, float *restrict m, float *restrict v)
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
            float value = values_in[i] - values_in[i] * decay;
            values_out[i] = value - m[i] * alpha / (sqrtf(v[i]) + epsilon);
        }
    }
}

static void apply(const struct optimizer_update *u)
{
    const struct optimizer_settings *s = u->settings;
    float alpha = optimizer_adam_rate(u->learning_rate, s->beta1, s->beta2, u->t);
    float decay = u->bias ? 0.0f : u->learning_rate * s->weight_decay;
    adamw(u->count, u->scale, alpha, decay, s->beta1, s->beta2, s->epsilon, u->gradient,
          u->values_in, u->values_out, u->slots[0], u->slots[1]);
}

const struct optimizer optimizer_adamw = {
    .name = "adamw",
    .slot_count = 2,
    .slot_names = {"m", "v"},
    .default_learning_rate = 0.001f,
    .defaults =
        {.name = "adamw", .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-7f, .weight_decay = 0.004f},
    .spares_biases = true,
    .slot_initial = optimizer_slot_zero,
    .apply = apply,
};
