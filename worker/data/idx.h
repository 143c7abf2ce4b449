/* idx.h - one IDX file of bytes, plain or compressed: looked at, and then read whole.
 *
 * IDX: big-endian magic 00 00 08 <dimensions>, a 32-bit size for each dimension, then the bytes.
 * Nothing in the file is believed: memory grows with the bytes that really arrive, so neither a
 * header that lies nor a file made to swell when it is unpacked can take more than the limit.
 *
 * Errors: one line that names the file. Threads: no shared state. */

#ifndef WORKER_DATA_IDX_H
#define WORKER_DATA_IDX_H

#include <stdint.h>

#include "common/base/status.h"

#define IDX_DIMENSIONS_MAX 3
#define IDX_SIDE_MAX       4096         /* Height or width of an image. */
#define IDX_BYTES_MAX      (1ull << 34) /* Decoded bytes of a file: 16 GiB. */

#define IDX_PATH_MAX 512

struct gzFile_s;

struct idx {
    char path[IDX_PATH_MAX];
    struct gzFile_s *file;              /* Open behind its header; NULL: closed. Owned. */
    uint32_t sizes[IDX_DIMENSIONS_MAX]; /* Examples, and for images height and width. */
    uint64_t total;                     /* Bytes that the sizes multiply to. */
    uint8_t *bytes;                     /* [total] once they are read, owned. */
};

/* Read the header of `path` and check that it has this many dimensions: 3 for images, 1 for labels.
 * A plain file must be as long as its header promises; of a compressed one that is known once it
 * has been read. On failure idx is zeroed. */
enum status idx_open(struct idx *idx, const char *path, uint32_t dimensions, struct error *error);

/* Read the rest, once. On failure idx is zeroed. */
enum status idx_read(struct idx *idx, struct error *error);

void idx_free(struct idx *idx);

#endif
