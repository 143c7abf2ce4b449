/* replica_hash.h - one number for what a chunk is, by which two sides see whether they have the same.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_REPLICA_HASH_H
#define COMMON_JOB_REPLICA_HASH_H

#include <stdint.h>

/* Of values and slots, [slot_count][count]: eight bytes of their BLAKE2b, and never 0. A chance in
 * 2^63 that a difference is not seen. */
uint64_t replica_hash(const float *values, float *const *slots, uint32_t slot_count,
                      uint64_t count);

#endif
