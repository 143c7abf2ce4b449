/* batch_set.c - a low-water mark, and above it a bitmap as a ring. */

#include "ps/shard/batch_set.h"

#include <assert.h>
#include <string.h>

#include "common/base/invariant.h"

static uint64_t *word(struct batch_set *set, uint64_t batch)
{
    return &set->bits[batch % BATCH_SET_WINDOW / 64];
}

void batch_set_init(struct batch_set *set, uint64_t low)
{
    memset(set, 0, sizeof *set);
    set->low = low;
}

bool batch_set_has(const struct batch_set *set, uint64_t batch)
{
    if (batch < set->low)
        return true;
    if (batch - set->low >= BATCH_SET_WINDOW)
        return false;
    return set->bits[batch % BATCH_SET_WINDOW / 64] >> (batch % 64) & 1;
}

bool batch_set_can_add(const struct batch_set *set, uint64_t batch)
{
    return !batch_set_has(set, batch) && batch - set->low < BATCH_SET_WINDOW;
}

void batch_set_add(struct batch_set *set, uint64_t batch)
{
    assert(batch_set_can_add(set, batch));
    *word(set, batch) |= (uint64_t)1 << (batch % 64);
    while (*word(set, set->low) >> (set->low % 64) & 1) {
        *word(set, set->low) &= ~((uint64_t)1 << (set->low % 64));
        set->low++;
    }
}

uint64_t batch_set_above(const struct batch_set *set)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < BATCH_SET_WINDOW / 64; i++)
        count += (uint64_t)__builtin_popcountll(set->bits[i]);
    return count;
}

void batch_set_check(const struct batch_set *set)
{
    INVARIANT("batch set",
              (set->bits[set->low % BATCH_SET_WINDOW / 64] >> (set->low % 64) & 1) == 0,
              "the first batch above the low-water mark is not in the set");
}
