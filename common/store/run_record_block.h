/* run_record_block.h - the types of a record's blocks, for its writer and its reader.
 *
 *     u32 type | u32 length | body [length] | u32 CRC-32C of the block before and all that, chained
 *
 * Little-endian. Threads: constants. */

#ifndef COMMON_STORE_RUN_RECORD_BLOCK_H
#define COMMON_STORE_RUN_RECORD_BLOCK_H

#include <stdint.h>

enum run_record_block {
    RUN_RECORD_NONE,
    RUN_RECORD_GENERATION,
    RUN_RECORD_COMPUTATIONS,
    RUN_RECORD_GONE,
    RUN_RECORD_ENTRIES,
    RUN_RECORD_SNAPSHOT,
    RUN_RECORD_SETS,
};

#define RUN_RECORD_MAGIC_BYTES 16 /* Then the format, the length of the segment, and its body. */
#define RUN_RECORD_START       (RUN_RECORD_MAGIC_BYTES + 8)
#define RUN_RECORD_BLOCK_START 8
#define RUN_RECORD_BLOCK_END   4

/* Bits of an entry, below the difference of its computation's number. */
#define RUN_RECORD_SKIPPED 1u
#define RUN_RECORD_CLOSES  2u
#define RUN_RECORD_BITS    2

static inline uint32_t run_record_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t run_record_u64(const uint8_t *bytes)
{
    return run_record_u32(bytes) | (uint64_t)run_record_u32(bytes + 4) << 32;
}

#endif
