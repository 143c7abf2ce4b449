/* tally.h - what a run of updates scored as they were made. Integers, so that adding is exact in any
 * order.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_TALLY_H
#define COMMON_JOB_TALLY_H

#include <stdint.h>

struct tally {
    int64_t loss; /* Sum over the examples, 2^-24 nats. */
    uint64_t correct, examples, updates;
};

#endif
