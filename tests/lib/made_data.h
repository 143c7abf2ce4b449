/* made_data.h - small data files: IDX, .npy and zip archives, as other programs write them.
 *
 * Threads: pure. */

#ifndef TESTS_LIB_MADE_DATA_H
#define TESTS_LIB_MADE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each writes to `to` and returns how many bytes. type: 0x08 to 0x0E; numbers as they are in the file. */
size_t made_idx(uint8_t *to, uint8_t type, unsigned rank, const uint32_t *sizes,
                const void *numbers, size_t bytes);

/* descr "<f4", shape "(7, 3)" */
size_t made_npy(uint8_t *to, const char *descr, const char *shape, const void *numbers,
                size_t bytes);

struct made_member {
    const char *name;
    const uint8_t *bytes;
    size_t count;
    bool deflated;
};

/* wide: sizes and places are in zip64's fields. */
size_t made_zip(uint8_t *to, const struct made_member *members, unsigned count, bool wide);

#endif
