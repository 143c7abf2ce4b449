/* sha256_blocks.h - SHA-256's compression of whole blocks, by the instructions that processors have
 * for it: some five times as fast as libsodium, whose code is for all of them. FIPS 180-4, 6.2.2.
 *
 * Threads: any. */

#ifndef COMMON_BASE_SHA256_BLOCKS_H
#define COMMON_BASE_SHA256_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK_BYTES 64

/* Whether this processor has them. */
bool sha256_blocks_has(void);

/* Take bytes[count * SHA256_BLOCK_BYTES] into the hash value. Only where sha256_blocks_has. */
void sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t count);

#endif
