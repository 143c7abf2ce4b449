/* packed.h - the bytes of a file as they were before they were packed: of a plain file, of a gzip
 * file, or of one member of a zip archive, stored or deflated (zip64 too).
 *
 * Nothing in the file is believed: a reader asks for as many bytes as it has room for, and what an
 * archive says of places and lengths is checked against the file.
 *
 * Errors: one line that names the file, and the member. Threads: one owner. */

#ifndef WORKER_DATA_PACKED_H
#define WORKER_DATA_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

#define PACKED_PATH_MAX 512

struct gzFile_s;
struct z_stream_s;

struct packed {
    char path[PACKED_PATH_MAX]; /* For messages: "x.npz: y_train.npy". */
    struct gzFile_s *gz;        /* Of a file by itself, owned; else NULL. */
    /* Of a member. */
    bool is_member;
    int file;                   /* The archive's, owned. */
    struct z_stream_s *inflate; /* Owned; NULL: it is stored. */
    uint8_t *in;                /* Packed bytes, owned. */
    uint64_t packed_left;       /* Bytes of the member in the file, not read yet. */
    uint32_t checksum, promised_checksum;
    uint64_t bytes; /* Of the whole once unpacked, where that is known; else UINT64_MAX. */
};

/* A file by itself. On failure nothing is open. */
enum status packed_open(struct packed *packed, const char *path, struct error *error);

/* A member of the archive at path. STATUS_NOT_FOUND: it has none of this name. */
enum status packed_open_member(struct packed *packed, const char *path, const char *member,
                               struct error *error);

/* Read up to `count` bytes; *got is less only at the end, which is then found whole. */
enum status packed_read(struct packed *packed, void *bytes, uint64_t count, uint64_t *got,
                        struct error *error);

/* A zeroed one is closed. Its path stays. */
void packed_close(struct packed *packed);

#endif
