/* order.c - Fisher-Yates over random_below, a permutation an epoch. */

#include "worker/data/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"

enum status order_init(struct example_order *order, uint64_t seed, uint64_t examples)
{
    memset(order, 0, sizeof *order);
    if (examples == 0 || examples > UINT32_MAX)
        return STATUS_INVALID;
    order->seed = seed;
    order->examples = examples;
    order->epoch = UINT64_MAX;
    order->permutation = malloc(examples * sizeof *order->permutation);
    return order->permutation != NULL ? STATUS_OK : STATUS_MEMORY;
}

void order_free(struct example_order *order)
{
    free(order->permutation);
    memset(order, 0, sizeof *order);
}

/* Epochs past 2^32 would repeat the first ones; no run is as long. */
static void permutation_draw(struct example_order *order, uint64_t epoch)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, order->seed, RANDOM_STREAM_ORDER, (uint32_t)epoch);
    uint32_t *permutation = order->permutation;
    for (uint64_t i = 0; i < order->examples; i++)
        permutation[i] = (uint32_t)i;
    for (uint32_t i = (uint32_t)order->examples - 1; i > 0; i--) {
        uint32_t j = random_below(&sequence, i + 1);
        uint32_t kept = permutation[i];
        permutation[i] = permutation[j];
        permutation[j] = kept;
    }
    order->epoch = epoch;
}

const uint32_t *order_places(struct example_order *order, uint64_t epoch, uint64_t first,
                             uint32_t count)
{
    assert(epoch != UINT64_MAX);
    assert(first <= order->examples && count <= order->examples - first);
    if (epoch != order->epoch)
        permutation_draw(order, epoch);
    return order->permutation + first;
}
