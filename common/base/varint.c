/* varint.c - base 128, and zigzag for differences. */

#include "common/base/varint.h"

size_t varint_put(uint8_t bytes[VARINT_BYTES_MAX], uint64_t value)
{
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    return count;
}

/* Modulo 2^64: of two numbers far apart the difference is a long one, and comes out right. */
uint64_t varint_from_difference(uint64_t a, uint64_t b)
{
    uint64_t difference = b - a;
    return difference << 1 ^ (0 - (difference >> 63));
}

uint64_t varint_add_difference(uint64_t a, uint64_t difference)
{
    return a + (difference >> 1 ^ (0 - (difference & 1)));
}

bool varint_take(struct varint_input *input, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && input->at + i < input->count; i++) {
        uint8_t byte = input->bytes[input->at + i];
        bool last = byte < 0x80, wide = i == VARINT_BYTES_MAX - 1 && byte > 1;
        if (wide || (last && byte == 0 && i > 0))
            return false;
        sum |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!last)
            continue;
        input->at += i + 1;
        *value = sum;
        return true;
    }
    return false;
}
