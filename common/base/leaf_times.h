/* leaf_times.h - how long leaves took, each counted in a bucket a sixteenth of a power of two wide.
 *
 *     bucket      0        1      ...    15       16     ...  511
 *     from      1024     1088           1984     2048         31 * 2^37 ns (71 minutes)
 *
 * What is shorter than 1024 ns counts in the first, what is longer than all in the last. So a time is
 * known to 6 %, at any size, in 2 KiB, and counts of parts add up to those of the whole.
 *
 * Threads: plain values. */

#ifndef COMMON_BASE_LEAF_TIMES_H
#define COMMON_BASE_LEAF_TIMES_H

#include <stdint.h>

#define LEAF_TIMES_BUCKETS 512

struct leaf_times {
    uint32_t counts[LEAF_TIMES_BUCKETS]; /* Each stays at the most it can be. */
};

void leaf_times_add(struct leaf_times *times, uint64_t ns);

/* The first nanosecond of a bucket, or of what is behind the last; and the bucket of a time. */
uint64_t leaf_times_least(unsigned bucket);
unsigned leaf_times_bucket(uint64_t ns);

uint64_t leaf_times_count(const struct leaf_times *times);

#endif
