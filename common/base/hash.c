/* hash.c - BLAKE2b of libsodium, and SHA-256 of nettle, which has it by the processor's own instructions
 * and libsodium has not: five times as fast. Their states are kept inside our plain structs. */

#include <nettle/sha2.h>
/* Which renames two of our functions. */
#undef sha256_init
#undef sha256_update

#include "common/base/hash.h"

#include <assert.h>

#include <sodium.h>

_Static_assert(sizeof(struct hash) >= sizeof(crypto_generichash_state), "struct hash is too small");
_Static_assert(sizeof(struct sha256) >= sizeof(struct sha256_ctx), "struct sha256 is too small");
_Static_assert(_Alignof(struct sha256) >= _Alignof(struct sha256_ctx),
               "struct sha256 is not aligned enough");

static crypto_generichash_state *hash_state(struct hash *hash)
{
    return (crypto_generichash_state *)(void *)hash->state;
}

/* Idempotent and safe from any thread. Without it libsodium works, with its slowest code. */
static void sodium_ready(void)
{
    int ready = sodium_init();
    assert(ready >= 0);
    (void)ready;
}

void hash_init(struct hash *hash)
{
    sodium_ready();
    crypto_generichash_init(hash_state(hash), NULL, 0, HASH_BYTES);
}

void hash_init_keyed(struct hash *hash, const uint8_t key[HASH_BYTES])
{
    sodium_ready();
    crypto_generichash_init(hash_state(hash), key, HASH_BYTES, HASH_BYTES);
}

void hash_update(struct hash *hash, const void *bytes, size_t count)
{
    crypto_generichash_update(hash_state(hash), bytes, count);
}

void hash_update_u64(struct hash *hash, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    hash_update(hash, bytes, sizeof bytes);
}

void hash_final(struct hash *hash, uint8_t digest[HASH_BYTES])
{
    crypto_generichash_final(hash_state(hash), digest, HASH_BYTES);
}

static struct sha256_ctx *sha256_state(struct sha256 *sha256)
{
    return (struct sha256_ctx *)(void *)sha256->state;
}

void sha256_init(struct sha256 *sha256)
{
    nettle_sha256_init(sha256_state(sha256));
}

void sha256_update(struct sha256 *sha256, const void *bytes, size_t count)
{
    nettle_sha256_update(sha256_state(sha256), count, bytes);
}

void sha256_final(struct sha256 *sha256, uint8_t digest[HASH_BYTES])
{
    nettle_sha256_digest(sha256_state(sha256), HASH_BYTES, digest);
}

void hash_hex(const uint8_t *bytes, size_t count, char *text)
{
    sodium_bin2hex(text, 2 * count + 1, bytes, count);
}

uint64_t hash_random_u64(void)
{
    sodium_ready();
    uint64_t number;
    do {
        randombytes_buf(&number, sizeof number);
    } while (number == 0);
    return number;
}

void hash_random(uint8_t bytes[HASH_BYTES])
{
    sodium_ready();
    randombytes_buf(bytes, HASH_BYTES);
}

void hash_bytes(const void *bytes, size_t count, uint8_t digest[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    hash_update(&hash, bytes, count);
    hash_final(&hash, digest);
}
