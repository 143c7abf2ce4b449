/* bases.c - differences from chunk to chunk, as whole numbers of few bytes. */

#include "common/job/bases.h"

size_t bases_encode(const uint64_t *versions, uint32_t count, uint8_t *bytes)
{
    size_t size = 0;
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        size += varint_put(bytes + size, varint_from_difference(before, versions[i]));
        before = versions[i];
    }
    return size;
}

bool bases_decode(const uint8_t *bytes, size_t size, uint64_t most, uint64_t *versions,
                  uint32_t count)
{
    struct varint_input input = {bytes, size, 0};
    uint64_t version = 0, difference;
    for (uint32_t i = 0; i < count; i++) {
        if (!varint_take(&input, &difference))
            return false;
        version = varint_add_difference(version, difference);
        if (version > most)
            return false;
        if (versions != NULL)
            versions[i] = version;
    }
    return input.at == size;
}
