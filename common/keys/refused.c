/* refused.c - a short list of digests of address and key; who finds no place on it is only counted.
 * */

#include "common/keys/refused.h"

#include <string.h>

#include "common/base/hash.h"

/* Unauthenticated peers choose what is hashed, so it must not be easy to find two that collide. */
static uint64_t hash_of(const void *bytes, size_t count, const char *address)
{
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    uint64_t number;
    hash_init(&hash);
    hash_update(&hash, bytes, count);
    hash_update(&hash, address, strlen(address));
    hash_final(&hash, digest);
    memcpy(&number, digest, sizeof number);
    return number;
}

bool refused_note(struct refused *refused, const uint8_t key[KEY_BYTES], const char *address)
{
    struct refused_peer peer = {hash_of("", 0, address), hash_of(key, KEY_BYTES, address)};
    uint32_t of_address = 0;
    refused->count++;
    for (uint32_t i = 0; i < refused->named_count; i++) {
        if (refused->named[i].peer == peer.peer)
            return false;
        of_address += refused->named[i].address == peer.address;
    }
    if (refused->named_count == REFUSED_NAMED_MAX || of_address >= REFUSED_AN_ADDRESS)
        return false;
    refused->named[refused->named_count++] = peer;
    return true;
}
