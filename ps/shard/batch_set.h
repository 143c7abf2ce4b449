/* batch_set.h - the batches that a chunk has had, so that none is applied to it twice.
 *
 * Every batch below `low` is in. The next BATCH_SET_WINDOW are bits. Leases go out in order and
 * few are open at a time, so an honest run stays within the window.
 *
 * Threads: plain values. */

#ifndef PS_SHARD_BATCH_SET_H
#define PS_SHARD_BATCH_SET_H

#include <stdbool.h>
#include <stdint.h>

#define BATCH_SET_WINDOW 4096

struct batch_set {
    uint64_t low;
    uint64_t bits[BATCH_SET_WINDOW / 64]; /* Batch b, low <= b, is bit b % BATCH_SET_WINDOW. */
};

/* Every batch below `low` and no other. */
void batch_set_init(struct batch_set *set, uint64_t low);

bool batch_set_has(const struct batch_set *set, uint64_t batch);

/* Whether the window reaches a batch that is not in the set. */
bool batch_set_can_add(const struct batch_set *set, uint64_t batch);

/* Add a batch for which batch_set_can_add is true. */
void batch_set_add(struct batch_set *set, uint64_t batch);

/* How many batches of `low` and above are in the set. */
uint64_t batch_set_above(const struct batch_set *set);

/* See common/base/invariant.h. */
void batch_set_check(const struct batch_set *set);

#endif
