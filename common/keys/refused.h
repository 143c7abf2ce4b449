/* refused.h - which peers have been refused, so that each is named once and the log cannot be flooded.
 *
 * A peer is its address and its key. An unauthenticated peer can make up keys as fast as it connects, so of one
 * address only a few keys are named, and of all peers only so many as fit here; the rest is
 * counted.
 *
 * Threads: plain values, zeroed to begin with. */

#ifndef COMMON_KEYS_REFUSED_H
#define COMMON_KEYS_REFUSED_H

#include "common/base/key.h"

#define REFUSED_NAMED_MAX  256
#define REFUSED_AN_ADDRESS 8 /* Keys that are named of one address. */

struct refused {
    uint64_t count; /* Refusals in all. */
    uint32_t named_count;
    struct refused_peer {
        uint64_t address, peer; /* Hashes. */
    } named[REFUSED_NAMED_MAX];
};

/* Count one; true when it is to be named. */
bool refused_note(struct refused *refused, const uint8_t key[KEY_BYTES], const char *address);

#endif
