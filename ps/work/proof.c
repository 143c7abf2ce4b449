/* proof.c - the first bytes of a keyed BLAKE2b, compared as one number. */

#include "ps/work/proof.h"

#include <string.h>

uint64_t proof_make(const uint8_t secret[HASH_BYTES], const struct message *message,
                    uint64_t ticket)
{
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    uint64_t proof;
    hash_init_keyed(&hash, secret);
    hash_update_u64(&hash, (uint64_t)message->role);
    hash_update_u64(&hash, message->index);
    hash_update_u64(&hash, message->incarnation);
    hash_update_u64(&hash, ticket);
    hash_final(&hash, digest);
    memcpy(&proof, digest, sizeof proof);
    return proof != 0 ? proof : 1;
}

bool proof_holds(const uint8_t secret[HASH_BYTES], const struct message *message)
{
    return (proof_make(secret, message, message->ticket) ^ message->proof) == 0;
}
