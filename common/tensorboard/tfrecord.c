/* tfrecord.c - puts a length and two checksums around what is there. */

#include "common/tensorboard/tfrecord.h"

#include "common/base/crc32c.h"

static void put_little_endian(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static void put_checksum(uint8_t to[4], const uint8_t *data, size_t count)
{
    uint32_t sum = crc32c(0, data, count);
    uint32_t masked = ((sum >> 15) | (sum << 17)) + UINT32_C(0xa282ead8);
    put_little_endian(to, masked, 4);
}

void tfrecord_frame(uint8_t *record, size_t count)
{
    put_little_endian(record, count, 8);
    put_checksum(record + 8, record, 8);
    put_checksum(record + TFRECORD_HEAD + count, record + TFRECORD_HEAD, count);
}
