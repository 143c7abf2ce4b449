/* idx.c - the header of an IDX file. */

#include <string.h>

#include "worker/data/array.h"

static const struct {
    uint8_t code;
    enum array_kind kind;
    uint32_t width;
} types[] = {
    {0x08, ARRAY_UNSIGNED, 1}, {0x09, ARRAY_SIGNED, 1}, {0x0B, ARRAY_SIGNED, 2},
    {0x0C, ARRAY_SIGNED, 4},   {0x0D, ARRAY_FLOAT, 4},  {0x0E, ARRAY_FLOAT, 8},
};

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool read_type(struct array *array, uint8_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code == code) {
            array->kind = types[i].kind;
            array->width = types[i].width;
            return true;
        }
    }
    return false;
}

enum status idx_header(struct array *array, const uint8_t *bytes, uint64_t count, uint64_t *length,
                       struct error *error)
{
    *length = 4;
    if (count < 4)
        return STATUS_AGAIN;
    if (!read_type(array, bytes[2]))
        return error_set(error, STATUS_INVALID, "is IDX of a type that there is not, %u", bytes[2]);
    array->rank = bytes[3];
    array->swaps = array->width > 1;
    if (array->rank < 1 || array->rank > ARRAY_RANK_MAX)
        return error_set(error, STATUS_INVALID, "has %u dimensions; 1 to %d can be read",
                         array->rank, ARRAY_RANK_MAX);
    *length = 4 + 4 * (uint64_t)array->rank;
    if (count < *length)
        return STATUS_AGAIN;
    for (uint32_t i = 0; i < array->rank; i++)
        array->sizes[i] = big_endian(bytes + 4 + 4 * i);
    return STATUS_OK;
}
