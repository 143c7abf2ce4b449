/* leaf_times.c - a bucket is what of a time's binary digits comes first: where they begin, and four more. */

#include "common/base/leaf_times.h"

#define FIRST_POWER 10 /* 2^10 ns. */
#define SIXTEENTHS  16u

unsigned leaf_times_bucket(uint64_t ns)
{
    if (ns < UINT64_C(1) << FIRST_POWER)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(ns);
    unsigned sixteenth = (unsigned)(ns >> (power - 4)) & (SIXTEENTHS - 1);
    unsigned bucket = (power - FIRST_POWER) * SIXTEENTHS + sixteenth;
    return bucket < LEAF_TIMES_BUCKETS ? bucket : LEAF_TIMES_BUCKETS - 1;
}

uint64_t leaf_times_least(unsigned bucket)
{
    unsigned power = FIRST_POWER + bucket / SIXTEENTHS;
    return (uint64_t)(SIXTEENTHS + bucket % SIXTEENTHS) << (power - 4);
}

void leaf_times_add(struct leaf_times *times, uint64_t ns)
{
    uint32_t *count = &times->counts[leaf_times_bucket(ns)];
    *count += *count < UINT32_MAX;
}

uint64_t leaf_times_count(const struct leaf_times *times)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++)
        count += times->counts[i];
    return count;
}
