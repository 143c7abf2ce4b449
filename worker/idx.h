/* idx.h - one IDX file of bytes, plain or compressed, read whole.
 *
 * IDX: big-endian magic 00 00 08 <dimensions>, a 32-bit size for each dimension, then the bytes.
 * Nothing in the file is believed: memory grows with the bytes that really arrive, so neither a
 * header that lies nor a file made to swell when it is unpacked can take more than the limit.
 *
 * Errors: one line that names the file. Threads: no shared state. */

#ifndef WORKER_IDX_H
#define WORKER_IDX_H

#include <stdint.h>

#include "common/status.h"

#define IDX_DIMENSIONS_MAX 3
#define IDX_SIDE_MAX       4096         /* Height or width of an image. */
#define IDX_BYTES_MAX      (1ull << 34) /* Decoded bytes of a file: 16 GiB. */

struct idx {
    uint32_t sizes[IDX_DIMENSIONS_MAX]; /* Examples, and for images height and width. */
    uint8_t *bytes;                     /* Owned; as many as the sizes multiply to. */
};

/* Read `path` and check that it has this many dimensions: 3 for images, 1 for labels. */
enum status idx_read(struct idx *idx, const char *path, uint32_t dimensions, struct error *error);
void idx_free(struct idx *idx);

#endif
