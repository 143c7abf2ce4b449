/* test_hash.c - digests against published ones, in pieces and whole. */

#include "common/base/hash.h"

#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(blake2b_gives_the_published_digest)
{
    /* BLAKE2b-256 of "abc", as b2sum -l 256 prints it. */
    static const char expected[] =
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    char text[HASH_HEX_LENGTH];
    hash_init(&hash);
    hash_update(&hash, "a", 1);
    hash_update(&hash, "bc", 2);
    hash_final(&hash, digest);
    hash_hex(digest, sizeof digest, text);
    ck_assert_str_eq(text, expected);
}

TEST_PLAIN(sha256_gives_the_published_digest)
{
    /* FIPS 180-4's example. */
    static const char expected[] =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct sha256 sha256;
    uint8_t digest[HASH_BYTES];
    char text[HASH_HEX_LENGTH];
    sha256_init(&sha256);
    sha256_update(&sha256, "ab", 2);
    sha256_update(&sha256, "c", 1);
    sha256_final(&sha256, digest);
    hash_hex(digest, sizeof digest, text);
    ck_assert_str_eq(text, expected);
}

/* The digest of bytes[count] taken in pieces of so many bytes. */
static void sha256_in_pieces(const uint8_t *bytes, size_t count, size_t piece,
                             uint8_t digest[HASH_BYTES])
{
    struct sha256 sha256;
    sha256_init(&sha256);
    for (size_t at = 0; at < count; at += piece)
        sha256_update(&sha256, bytes + at, count - at < piece ? count - at : piece);
    sha256_final(&sha256, digest);
}

TEST_PLAIN(sha256_of_many_blocks_is_the_same_in_pieces_of_any_length)
{
    /* sha256sum of the bytes 0, 1, ..., 250, 0, 1, ... */
    static const char expected[] =
        "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d";
    uint8_t bytes[1000], digest[HASH_BYTES];
    char text[HASH_HEX_LENGTH];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    for (size_t piece = 1; piece <= sizeof bytes; piece++) {
        sha256_in_pieces(bytes, sizeof bytes, piece, digest);
        hash_hex(digest, sizeof digest, text);
        ck_assert_str_eq(text, expected);
    }
}

/* Of any length, whole blocks and what is left of one. */
TEST_PLAIN(sha256_at_once_is_sha256_byte_by_byte)
{
    uint8_t bytes[64 * 50], whole[HASH_BYTES], one_by_one[HASH_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i / 7);
    for (size_t count = 0; count <= sizeof bytes; count += 33) {
        sha256_in_pieces(bytes, count, sizeof bytes, whole);
        sha256_in_pieces(bytes, count, 1, one_by_one);
        ck_assert_mem_eq(whole, one_by_one, HASH_BYTES);
    }
}

TEST_PLAIN(pieces_do_not_matter_but_every_byte_does)
{
    uint8_t bytes[1000], whole[HASH_BYTES], pieces[HASH_BYTES], changed[HASH_BYTES];
    struct hash hash;
    memset(bytes, 7, sizeof bytes);
    hash_init(&hash);
    hash_update(&hash, bytes, sizeof bytes);
    hash_final(&hash, whole);
    hash_init(&hash);
    for (int i = 0; i < 10; i++)
        hash_update(&hash, bytes + 100 * i, 100);
    hash_final(&hash, pieces);
    bytes[999] ^= 1;
    hash_init(&hash);
    hash_update(&hash, bytes, sizeof bytes);
    hash_final(&hash, changed);
    ck_assert_mem_eq(whole, pieces, HASH_BYTES);
    ck_assert_mem_ne(whole, changed, HASH_BYTES);
}

TEST_PLAIN(numbers_are_hashed_little_endian)
{
    static const uint8_t bytes[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    struct hash a, b;
    uint8_t number[HASH_BYTES], same[HASH_BYTES];
    hash_init(&a);
    hash_update_u64(&a, 0x0102030405060708);
    hash_final(&a, number);
    hash_init(&b);
    hash_update(&b, bytes, sizeof bytes);
    hash_final(&b, same);
    ck_assert_mem_eq(number, same, HASH_BYTES);
}

TEST_PLAIN(hexadecimal_keeps_leading_zeros)
{
    static const uint8_t bytes[] = {0, 1, 0xab, 0xff};
    char text[9];
    hash_hex(bytes, sizeof bytes, text);
    ck_assert_str_eq(text, "0001abff");
    hash_hex(bytes, 0, text);
    ck_assert_str_eq(text, "");
}

TEST_PLAIN(random_numbers_differ_and_are_never_zero)
{
    uint64_t a = hash_random_u64(), b = hash_random_u64();
    ck_assert_uint_ne(a, 0);
    ck_assert_uint_ne(a, b);
}

int main(void)
{
    return suite_run("hash", NULL);
}
