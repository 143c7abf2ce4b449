/* update.c - a stretch is cut where variables begin, for the rules that ask whose the elements
 * are. */

#include "common/job/update.h"

#include <assert.h>
#include <stddef.h>

/* The variable that the element, or the gap it lies in, belongs to. */
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

/* Elements [from, end) of what `whole` updates. */
static void apply_piece(const struct optimizer *optimizer, const struct optimizer_update *whole,
                        uint64_t from, uint64_t end, bool bias)
{
    struct optimizer_update piece = *whole;
    piece.bias = bias;
    piece.count = end - from;
    piece.gradient += from;
    piece.values_in += from;
    piece.values_out += from;
    for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
        piece.slots[slot] += from;
    optimizer->apply(&piece);
}

void update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                  const struct optimizer_update *update)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    struct optimizer_update whole = *update;
    whole.settings = &job->optimizer;
    assert(optimizer != NULL && job->variable_count > 0);
    if (!optimizer->spares_biases) {
        optimizer->apply(&whole);
        return;
    }
    uint32_t variable = variable_at(offsets, job->variable_count, first);
    for (uint64_t from = 0; from < whole.count; variable++) {
        bool last = variable + 1 == job->variable_count;
        uint64_t end = last ? whole.count : offsets[variable + 1] - first;
        end = end < whole.count ? end : whole.count;
        apply_piece(optimizer, &whole, from, end, job->variables[variable].rank == 1);
        from = end;
    }
}
