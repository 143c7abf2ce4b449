/* order.h - which example stands where in an epoch, from (seed, epoch, place) alone.
 *
 * Each epoch is one uniformly random permutation of all examples (Fisher-Yates over a counter-based
 * generator), so every example is used exactly once an epoch and there is no state to lose: the
 * order keeps the permutation of the epoch asked for last only to save time.
 *
 * Threads: one order per thread. */

#ifndef WORKER_DATA_ORDER_H
#define WORKER_DATA_ORDER_H

#include <stdint.h>

#include "common/base/status.h"

struct example_order {
    uint64_t seed;
    uint64_t examples;
    uint64_t epoch;        /* Of `permutation`; UINT64_MAX before the first. */
    uint32_t *permutation; /* [examples], owned. */
};

enum status order_init(struct example_order *order, uint64_t seed, uint64_t examples);
void order_free(struct example_order *order);

/* Example numbers at places [first, first + count) of an epoch. Valid until the next call. */
const uint32_t *order_places(struct example_order *order, uint64_t epoch, uint64_t first,
                             uint32_t count);

#endif
