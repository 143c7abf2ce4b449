/* update.c - an interval of elements is split where variables begin, for the rules that differ
 * by variable. */

#include "common/job/update.h"

#include <assert.h>
#include <stddef.h>

#include "common/kernels/vectorized.h"

#define BLOCK 2048 /* Elements. */

/* The variable of the element, or of the gap that it lies in. */
static uint32_t variable_at(const uint64_t *offsets, uint32_t count, uint64_t element)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The mean gradient with l2's, announced to the rule as a mean already: a multiplication by 1
 * changes no bit. */
VECTORIZED
static void add_l2(uint64_t count, float scale, float twice, const float *restrict sum,
                   const float *restrict values, float *restrict into)
{
    ELEMENTWISE
    for (uint64_t i = 0; i < count; i++)
        into[i] = sum[i] * scale + twice * values[i];
}

/* Block by block, in memory that stays in the cache. */
static void apply_regularised(const struct optimizer *optimizer,
                              const struct optimizer_update *whole, float l2)
{
    _Alignas(64) float gradient[BLOCK];
    struct optimizer_update block = *whole;
    block.gradient = gradient;
    block.scale = 1.0f;
    for (uint64_t from = 0; from < whole->count; from += BLOCK) {
        block.count = whole->count - from < BLOCK ? whole->count - from : BLOCK;
        add_l2(block.count, whole->scale, 2.0f * l2, whole->gradient + from,
               whole->values_in + from, gradient);
        block.values_in = whole->values_in + from;
        block.values_out = whole->values_out + from;
        for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
            block.slots[slot] = whole->slots[slot] + from;
        optimizer->apply(&block);
    }
}

VECTORIZED
static void apply_average(uint64_t count, float rate, float mean_scale, const float *restrict sum,
                          const float *values_in, float *values_out)
{
    for (uint64_t i = 0; i < count; i++)
        values_out[i] = values_in[i] + rate * (sum[i] * mean_scale - values_in[i]);
}

/* Elements [from, end) of the update `whole`. */
static void apply_piece(const struct optimizer *optimizer, const struct optimizer_update *whole,
                        uint64_t from, uint64_t end, bool bias, float l2)
{
    struct optimizer_update piece = *whole;
    piece.bias = bias;
    piece.count = end - from;
    piece.gradient += from;
    piece.values_in += from;
    piece.values_out += from;
    for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
        piece.slots[slot] += from;
    if (bias || !(l2 > 0.0f))
        optimizer->apply(&piece);
    else
        apply_regularised(optimizer, &piece, l2);
}

void update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                  const struct optimizer_update *update)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    struct optimizer_update whole = *update;
    whole.settings = &job->optimizer;
    assert(optimizer != NULL && job->variable_count > 0);
    bool averages = job->variables[0].average > 0.0f;
    if (!optimizer->spares_biases && !(job->l2 > 0.0f) && !averages) {
        optimizer->apply(&whole);
        return;
    }
    uint32_t variable = variable_at(offsets, job->variable_count, first);
    for (uint64_t from = 0; from < whole.count; variable++) {
        bool last = variable + 1 == job->variable_count;
        uint64_t end = last ? whole.count : offsets[variable + 1] - first;
        end = end < whole.count ? end : whole.count;
        const struct variable *of = &job->variables[variable];
        if (of->average > 0.0f)
            apply_average(end - from, of->average, whole.mean_scale, whole.gradient + from,
                          whole.values_in + from, whole.values_out + from);
        else
            apply_piece(optimizer, &whole, from, end, variable_is_bias(of), job->l2);
        from = end;
    }
}
