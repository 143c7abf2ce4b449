/* safetensors.h - the file format for tensors that Python opens without us.
 *
 *     u64 little-endian N | N bytes of JSON | data
 *     {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
 *      "data_offsets": [begin, end]}}                        offsets count from the data's start
 *
 * The reader makes every check of the reference implementation: no holes, no overlap, no byte
 * left over, no duplicate name, sizes that agree with shapes. The writer gathers: the file is a
 * list of pieces that point at the caller's arrays, so that nothing large is copied.
 *
 * Threads: one owner. Errors: STATUS_INVALID with a line that names the file. Source:
 * https://github.com/huggingface/safetensors, README "Format" and safetensors/src/tensor.rs. */

#ifndef COMMON_STORE_SAFETENSORS_H
#define COMMON_STORE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/job/variable.h"

#define SAFETENSORS_HEADER_MAX 100000000 /* Bytes; the reference's limit. */

/* --- reading ------------------------------------------------------------------------------- */

struct safetensors_tensor {
    const char *name;  /* Lives as long as the file. */
    const char *dtype; /* "F32" */
    uint32_t rank;
    uint64_t shape[VARIABLE_RANK_MAX];
    uint64_t elements;
    uint64_t begin, end; /* Bytes from the start of the data. */
    const uint8_t *data; /* [end - begin], little-endian, of any alignment; borrowed. */
};

struct safetensors_file {
    struct json *header;                /* Owned. */
    struct safetensors_tensor *tensors; /* [tensor_count] in order of their data, owned. */
    size_t tensor_count;
};

/* Whether a file of file_bytes that begins with start[count] can be one; SAFETENSORS_START bytes
 * decide it. STATUS_INVALID says what it is instead. */
#define SAFETENSORS_START 512
enum status safetensors_look(const void *start, size_t count, uint64_t file_bytes, const char *path,
                             struct error *error);

/* Check bytes[count] as a whole and index it. The bytes are the caller's and must outlive the
 * file; path is only for errors. safetensors_close accepts a zeroed or failed file. */
enum status safetensors_open(struct safetensors_file *file, const void *bytes, size_t count,
                             const char *path, struct error *error);
/* The same for a file of file_bytes of which `bytes` holds the start, at least the whole header:
 * the places of tensors are known, and their data is NULL. */
enum status safetensors_open_header(struct safetensors_file *file, const void *bytes, size_t count,
                                    uint64_t file_bytes, const char *path, struct error *error);
void safetensors_close(struct safetensors_file *file);

/* A text of the metadata, or NULL. */
const char *safetensors_metadata(const struct safetensors_file *file, const char *key);

bool safetensors_is_f32(const struct safetensors_tensor *tensor);
/* F32, F64, F16 or BF16: what safetensors_floats reads into to[elements]; F64 is rounded. */
bool safetensors_is_float(const struct safetensors_tensor *tensor);
void safetensors_floats(const struct safetensors_tensor *tensor, float *to);

/* --- writing ------------------------------------------------------------------------------- */

struct safetensors_writer {
    struct json_writer header;
    struct disk_piece *pieces; /* [piece_count], owned; the first two are the header. */
    size_t piece_count, piece_capacity;
    uint64_t data_bytes;
    uint8_t header_bytes[8];
    bool failed;
};

/* In this order: init, all metadata, all tensors, finish; free in any state. Failures stick
 * until finish, which returns STATUS_MEMORY, or STATUS_INVALID for a header beyond the limit. */
void safetensors_writer_init(struct safetensors_writer *writer);
void safetensors_writer_metadata(struct safetensors_writer *writer, const char *key,
                                 const char *text);
/* values: [product of shape], borrowed until the file is written. */
void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name,
                               const uint64_t *shape, uint32_t rank, const float *values);
/* After STATUS_OK, pieces[piece_count] is the file. */
enum status safetensors_writer_finish(struct safetensors_writer *writer, struct error *error);
void safetensors_writer_free(struct safetensors_writer *writer);

#endif
