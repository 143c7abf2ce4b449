/* hash.h - digests and random numbers; the only door to libsodium and nettle.
 *
 *   hash      BLAKE2b with 32 bytes: "is this the same data, the same checkpoint?"
 *   sha256    the same for files that other tools will check (sha256sum)
 *   hash_hex  digests for people
 *   hash_random_u64   unpredictable numbers: incarnations and run ids
 *   hash_random       the same as bytes: secrets
 *
 * Threads: any; one struct per thread. Errors: none.
 * Ownership: the structs are plain values without owned memory. struct hash asks for 64-byte
 * alignment, which the stack gives and malloc does not: keep it on the stack. */

#ifndef COMMON_BASE_HASH_H
#define COMMON_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES      32
#define HASH_HEX_LENGTH (2 * HASH_BYTES + 1) /* With the terminating zero. */

/* BLAKE2b under way. */
struct hash {
    _Alignas(64) uint8_t state[384];
};

void hash_init(struct hash *hash);
/* The same under a key: without it the digest cannot be made, and no digest gives the key away. */
void hash_init_keyed(struct hash *hash, const uint8_t key[HASH_BYTES]);
void hash_update(struct hash *hash, const void *bytes, size_t count);
/* Little-endian, so that digests of numbers agree between machines. */
void hash_update_u64(struct hash *hash, uint64_t value);
void hash_final(struct hash *hash, uint8_t digest[HASH_BYTES]);

/* All at once. */
void hash_bytes(const void *bytes, size_t count, uint8_t digest[HASH_BYTES]);

/* SHA-256 under way. */
struct sha256 {
    _Alignas(8) uint8_t state[112];
};

void sha256_init(struct sha256 *sha256);
void sha256_update(struct sha256 *sha256, const void *bytes, size_t count);
void sha256_final(struct sha256 *sha256, uint8_t digest[HASH_BYTES]);

/* Lower-case hexadecimal digits of bytes[count] and a terminating zero: text[2 * count + 1]. */
void hash_hex(const uint8_t *bytes, size_t count, char *text);

/* 64 bits from the operating system. Never 0, so that 0 can mean "none yet". */
uint64_t hash_random_u64(void);
void hash_random(uint8_t bytes[HASH_BYTES]);

#endif
