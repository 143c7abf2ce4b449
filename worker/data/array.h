/* array.h - numbers of one type in up to four dimensions, from an IDX or a .npy file: looked at, and
 * then read whole.
 *
 *   IDX    big-endian magic 00 00 <type> <dimensions>, a 32-bit size for each dimension, the numbers
 *   .npy   NumPy's: a line of Python that says type, order and sizes, then the numbers, which must be
 *          little-endian and in C order
 *
 * The first dimension counts examples. Nothing in the file is believed: memory grows with the bytes
 * that really arrive, so neither a header that lies nor a file made to swell when it is unpacked can
 * take more than the limit.
 *
 * Errors: one line that names the file, and what to type where NumPy can mend it.
 * Threads: no shared state. */

#ifndef WORKER_DATA_ARRAY_H
#define WORKER_DATA_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "worker/data/packed.h"

#define ARRAY_RANK_MAX     4
#define ARRAY_SIDE_MAX     65536        /* Every size but the first. */
#define ARRAY_BYTES_MAX    (1ull << 34) /* Of all numbers: 16 GiB. */
#define ARRAY_EXAMPLES_MAX UINT32_MAX

enum array_kind { ARRAY_UNSIGNED, ARRAY_SIGNED, ARRAY_FLOAT };

struct array {
    struct packed packed; /* Open behind the header until the numbers are read. Its path stays. */
    enum array_kind kind;
    uint32_t width; /* Bytes of a number: 1, 2, 4 or 8. */
    uint32_t rank;
    uint64_t sizes[ARRAY_RANK_MAX]; /* [rank]; the rest is 1. */
    uint64_t bytes;                 /* Of all numbers. */
    bool swaps;                     /* They are big-endian in the file. */
    uint8_t *data;                  /* [bytes] once they are read, in the machine's order, owned. */
};

/* A file by itself, plain or compressed; or a member of a zip archive. On failure nothing is
 * open. */
enum status array_open(struct array *array, const char *path, struct error *error);
enum status array_open_member(struct array *array, const char *path, const char *member,
                              struct error *error);

/* Read the numbers; once is enough. */
enum status array_read(struct array *array, struct error *error);

void array_free(struct array *array);

/* Of one example. */
uint64_t array_row(const struct array *array);

/* Number `i` of all: exact for integers below 2^53. */
double array_number(const struct array *array, uint64_t i);

/* "(60000, 28, 28) uint8" */
const char *array_describe(const struct array *array, char text[120]);

/* --- the two headers, pure -------------------------------------------------------------------- */

#define NPY_START      10   /* Up to where a .npy file says how long its header is. */
#define NPY_HEADER_MAX 4096 /* Of the line of Python. */

/* From bytes[count]: kind, width, rank, sizes. *length: of the header. STATUS_AGAIN: it has more bytes
 * than these. The text does not name the file. */
enum status idx_header(struct array *array, const uint8_t *bytes, uint64_t count, uint64_t *length,
                       struct error *error);
enum status npy_header(struct array *array, const uint8_t *bytes, uint64_t count, uint64_t *length,
                       struct error *error);

#endif
