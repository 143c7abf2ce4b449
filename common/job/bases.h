/* bases.h - the version of every chunk in a computation's base, as bytes: in GRADIENT, and with
 * servers until it is in the record. Chunks are at versions close to each other, so each is
 * stored as its distance from the one before: mostly one byte a chunk.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_BASES_H
#define COMMON_JOB_BASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/varint.h"

/* Of one chunk, at most. */
#define BASES_BYTES_A_CHUNK VARINT_BYTES_MAX

/* Into bytes[BASES_BYTES_A_CHUNK * count]; returns the bytes used. */
size_t bases_encode(const uint64_t *versions, uint32_t count, uint8_t *bytes);

/* False unless they are the versions of so many chunks, none above `most`. versions[count] may be
 * NULL. */
bool bases_decode(const uint8_t *bytes, size_t size, uint64_t most, uint64_t *versions,
                  uint32_t count);

#endif
