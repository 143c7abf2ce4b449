/* replica_hash.c - the arrays one behind the other. */

#include "common/job/replica_hash.h"

#include "common/base/hash.h"

uint64_t replica_hash(const float *values, float *const *slots, uint32_t slot_count, uint64_t count)
{
    uint8_t digest[HASH_BYTES];
    uint64_t number = 0;
    struct hash hash;
    hash_init(&hash);
    hash_update(&hash, values, count * sizeof *values);
    for (uint32_t slot = 0; slot < slot_count; slot++)
        hash_update(&hash, slots[slot], count * sizeof *values);
    hash_final(&hash, digest);
    for (int i = 0; i < 8; i++)
        number = number << 8 | digest[i];
    return number | 1;
}
