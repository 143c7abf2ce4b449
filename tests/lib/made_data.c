/* made_data.c - writes the formats by hand, so that a reader is not tested with its own writer. */

#include "tests/lib/made_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

static size_t put(uint8_t *to, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, number >>= 8)
        to[i] = (uint8_t)number;
    return bytes;
}

size_t made_idx(uint8_t *to, uint8_t type, unsigned rank, const uint32_t *sizes,
                const void *numbers, size_t bytes)
{
    size_t at = 4;
    memcpy(to, (const uint8_t[]){0, 0, type, (uint8_t)rank}, 4);
    for (unsigned i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8)
            to[at++] = (uint8_t)(sizes[i] >> shift);
    memcpy(to + at, numbers, bytes);
    return at + bytes;
}

size_t made_npy(uint8_t *to, const char *descr, const char *shape, const void *numbers,
                size_t bytes)
{
    char line[118];
    int length = snprintf(line, sizeof line,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    memset(line + length, ' ', sizeof line - (size_t)length);
    line[sizeof line - 1] = '\n';
    memcpy(to, "\x93NUMPY\1\0", 8);
    put(to + 8, sizeof line, 2);
    memcpy(to + 10, line, sizeof line);
    memcpy(to + 10 + sizeof line, numbers, bytes);
    return 10 + sizeof line + bytes;
}

/* As it is, or packed; returns how many bytes. */
static size_t put_member(uint8_t *to, const struct made_member *member)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)member->bytes,
                  .avail_in = (unsigned)member->count,
                  .next_out = to,
                  .avail_out = (unsigned)member->count + 100};
    if (!member->deflated) {
        memcpy(to, member->bytes, member->count);
        return member->count;
    }
    if (deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END || deflateEnd(&z) != Z_OK)
        abort();
    return z.total_out;
}

/* The fields that a member's header and its entry in the directory have in common. */
static size_t put_common(uint8_t *to, const struct made_member *member, uint64_t packed, bool wide)
{
    size_t at = put(to, 0, 2); /* Flags. */
    at += put(to + at, member->deflated ? 8 : 0, 2);
    at += put(to + at, 0, 4); /* Time. */
    at += put(to + at, crc32(0, member->bytes, (unsigned)member->count), 4);
    at += put(to + at, wide ? UINT32_MAX : packed, 4);
    at += put(to + at, wide ? UINT32_MAX : member->count, 4);
    return at + put(to + at, strlen(member->name), 2);
}

static size_t put_entry(uint8_t *to, const struct made_member *member, uint64_t packed,
                        uint64_t place, bool wide)
{
    size_t at = put(to, 0x02014b50, 4), length = strlen(member->name);
    at += put(to + at, 45, 2);
    at += put(to + at, 45, 2);
    at += put_common(to + at, member, packed, wide);
    at += put(to + at, wide ? 28 : 0, 2); /* Bytes of extra fields. */
    at += put(to + at, 0, 2);             /* Of a comment. */
    at += put(to + at, 0, 8);             /* Disk, attributes. */
    at += put(to + at, wide ? UINT32_MAX : place, 4);
    memcpy(to + at, member->name, length);
    at += length;
    if (wide) {
        at += put(to + at, 1, 2);
        at += put(to + at, 24, 2);
        at += put(to + at, member->count, 8);
        at += put(to + at, packed, 8);
        at += put(to + at, place, 8);
    }
    return at;
}

static size_t put_end(uint8_t *to, size_t begin, size_t at, unsigned count, bool wide)
{
    uint64_t end64 = at, directory = at - begin;
    if (wide) {
        at += put(to + at, 0x06064b50, 4);
        at += put(to + at, 44, 8);
        at += put(to + at, 0, 12); /* Versions, disks. */
        at += put(to + at, count, 8);
        at += put(to + at, count, 8);
        at += put(to + at, directory, 8);
        at += put(to + at, begin, 8);
        at += put(to + at, 0x07064b50, 4);
        at += put(to + at, 0, 4);
        at += put(to + at, end64, 8);
        at += put(to + at, 1, 4);
    }
    at += put(to + at, 0x06054b50, 4);
    at += put(to + at, 0, 4); /* Disks. */
    at += put(to + at, count, 2);
    at += put(to + at, count, 2);
    at += put(to + at, wide ? UINT32_MAX : directory, 4);
    at += put(to + at, wide ? UINT32_MAX : begin, 4);
    return at + put(to + at, 0, 2);
}

size_t made_zip(uint8_t *to, const struct made_member *members, unsigned count, bool wide)
{
    uint64_t places[8], packed[8];
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct made_member *member = &members[i];
        size_t length = strlen(member->name), begin = at;
        places[i] = begin;
        at += put(to + at, 0x04034b50, 4) + put(to + at + 4, 45, 2) + 20 + 4 + length;
        memcpy(to + begin + 30, member->name, length);
        packed[i] = put_member(to + at, member);
        put_common(to + begin + 6, member, packed[i], true); /* As NumPy does. */
        put(to + begin + 28, 0, 2);
        at += packed[i];
    }
    size_t begin = at;
    for (unsigned i = 0; i < count; i++)
        at += put_entry(to + at, &members[i], packed[i], places[i], wide);
    return put_end(to, begin, at, count, wide);
}
