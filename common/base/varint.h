/* varint.h - whole numbers in as few bytes as they need: seven bits a byte, lowest first, the eighth
 * says that more follow; as protobuf has them (and its sint64 for numbers that may be negative).
 *
 * Threads: pure. */

#ifndef COMMON_BASE_VARINT_H
#define COMMON_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_BYTES_MAX 10

/* Returns how many bytes it took. */
size_t varint_put(uint8_t bytes[VARINT_BYTES_MAX], uint64_t value);

/* The difference b - a of any two numbers, in both directions short when they are close. */
uint64_t varint_from_difference(uint64_t a, uint64_t b);
/* b again. */
uint64_t varint_add_difference(uint64_t a, uint64_t difference);

/* Bytes to be read, from anyone. */
struct varint_input {
    const uint8_t *bytes;
    size_t count, at;
};

/* False when they end within the number, or it does not fit, or has a byte more than it needs: what
 * is read has one spelling. *value is then as it was. */
bool varint_take(struct varint_input *input, uint64_t *value);

#endif
