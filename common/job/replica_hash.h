/* replica_hash.h - one number of a chunk's content, by which two sides see whether they have the
 * same.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_REPLICA_HASH_H
#define COMMON_JOB_REPLICA_HASH_H

#include <stdint.h>

/* Of values and slots, [slot_count][count]: eight bytes of their BLAKE2b, and never 0. It misses
 * a difference with a chance of 2^-63. */
uint64_t replica_hash(const float *values, float *const *slots, uint32_t slot_count,
                      uint64_t count);

#endif
