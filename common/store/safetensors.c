/* safetensors.c - the JSON header is checked whole before a byte of data is read: types, shapes,
 * offsets, and that tensors tile the data. */

#include "common/store/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/file/foreign.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie");

#define METADATA "__metadata__"

/* --- what it is ---------------------------------------------------------------------------- */

enum status safetensors_look(const void *start, size_t count, uint64_t file_bytes, const char *path,
                             struct error *error)
{
    const uint8_t *bytes = start;
    uint64_t header_bytes = UINT64_MAX;
    if (count == 0)
        return error_set(error, STATUS_INVALID, "%.300s: is empty, not a safetensors file", path);
    if (count > 8)
        memcpy(&header_bytes, bytes, 8);
    if (header_bytes > SAFETENSORS_HEADER_MAX || bytes[8] != '{') {
        char what[FOREIGN_TEXT_MAX];
        bool known = foreign_describe(bytes, count, what);
        return error_set(error, STATUS_INVALID, "%.300s: is not a safetensors file%s%s", path,
                         known ? " but " : "", what);
    }
    if (header_bytes > file_bytes - 8)
        return error_set(error, STATUS_INVALID,
                         "%.300s: is cut off: it has %" PRIu64
                         " bytes, and its header alone %" PRIu64,
                         path, file_bytes, header_bytes + 8);
    return STATUS_OK;
}

/* --- reading ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bits;
} dtypes[] = {
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};

static unsigned dtype_bits(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return dtypes[i].bits;
    return 0;
}

/* The file being checked, for errors. */
struct reading {
    const char *path;
    struct error *error;
    uint64_t data_bytes; /* Of the file behind the header. */
};

static enum status refuse(const struct reading *reading, const char *tensor, const char *why)
{
    return error_set(reading->error, STATUS_INVALID, "%.300s: tensor \"%.64s\": %s", reading->path,
                     tensor, why);
}

static enum status read_shape(const struct reading *reading, const struct json *list,
                              struct safetensors_tensor *tensor)
{
    size_t rank = json_length(list, "");
    if (rank > VARIABLE_RANK_MAX)
        return refuse(reading, tensor->name, "has more than 8 dimensions");
    tensor->rank = (uint32_t)rank;
    tensor->elements = 1;
    for (size_t i = 0; i < rank; i++) {
        if (!json_whole(json_item(list, i), &tensor->shape[i]))
            return refuse(reading, tensor->name, "its shape is not made of whole numbers");
        if (__builtin_mul_overflow(tensor->elements, tensor->shape[i], &tensor->elements))
            return refuse(reading, tensor->name, "its shape overflows");
    }
    return STATUS_OK;
}

static enum status read_offsets(const struct reading *reading, const struct json *list,
                                struct safetensors_tensor *tensor)
{
    if (json_length(list, "") != 2 || !json_whole(json_item(list, 0), &tensor->begin) ||
        !json_whole(json_item(list, 1), &tensor->end))
        return refuse(reading, tensor->name, "data_offsets are not two whole numbers");
    if (tensor->end < tensor->begin)
        return refuse(reading, tensor->name, "ends before it begins");
    if (tensor->end > reading->data_bytes)
        return refuse(reading, tensor->name, "ends beyond the end of the file, which is cut off");
    return STATUS_OK;
}

static enum status check_size(const struct reading *reading,
                              const struct safetensors_tensor *tensor)
{
    uint64_t bits;
    if (__builtin_mul_overflow(tensor->elements, dtype_bits(tensor->dtype), &bits))
        return refuse(reading, tensor->name, "its size overflows");
    if (bits % 8 != 0)
        return refuse(reading, tensor->name, "its size is not a number of whole bytes");
    if (bits / 8 != tensor->end - tensor->begin)
        return refuse(reading, tensor->name, "its size and its shape disagree");
    return STATUS_OK;
}

static enum status read_tensor(const struct reading *reading, const struct json_member *member,
                               struct safetensors_tensor *tensor)
{
    tensor->name = member->name;
    struct json_fields fields;
    json_fields_init(&fields, member->value, reading->path, reading->error);
    tensor->dtype = json_fields_text(&fields, "dtype");
    const struct json *shape = json_fields_array(&fields, "shape", SIZE_MAX);
    const struct json *offsets = json_fields_array(&fields, "data_offsets", SIZE_MAX);
    enum status status = json_fields_end(&fields);
    if (status == STATUS_OK && dtype_bits(tensor->dtype) == 0)
        status = refuse(reading, tensor->name, "its dtype is unknown");
    if (status == STATUS_OK)
        status = read_shape(reading, shape, tensor);
    if (status == STATUS_OK)
        status = read_offsets(reading, offsets, tensor);
    if (status == STATUS_OK)
        status = check_size(reading, tensor);
    return status;
}

static enum status check_metadata(const struct reading *reading, const struct json *metadata)
{
    if (!json_is_a_record(metadata))
        return error_set(reading->error, STATUS_INVALID, "%.300s: " METADATA " is not an object",
                         reading->path);
    struct json_member member = {0};
    while (json_next_member(metadata, &member)) {
        if (json_text(member.value, "") == NULL)
            return error_set(reading->error, STATUS_INVALID,
                             "%.300s: " METADATA ": \"%.64s\" is not a text", reading->path,
                             member.name);
    }
    return STATUS_OK;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Together the tensors are the data, without holes, overlap or rest. */
static enum status check_tiling(const struct reading *reading, const struct safetensors_file *file)
{
    uint64_t end = 0;
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (file->tensors[i].begin != end)
            return refuse(reading, file->tensors[i].name,
                          file->tensors[i].begin < end ? "overlaps another" : "leaves a hole");
        end = file->tensors[i].end;
    }
    if (end != reading->data_bytes)
        return error_set(reading->error, STATUS_INVALID,
                         "%.300s: holds %" PRIu64 " bytes of data, but its header %" PRIu64,
                         reading->path, reading->data_bytes, end);
    return STATUS_OK;
}

static enum status read_header(struct safetensors_file *file, const struct reading *reading,
                               const uint8_t *data)
{
    size_t members = json_length(file->header, "");
    file->tensors = calloc(members + 1, sizeof *file->tensors);
    if (file->tensors == NULL)
        return error_set(reading->error, STATUS_MEMORY, "no memory for the tensors of %.300s",
                         reading->path);
    struct json_member member = {0};
    while (json_next_member(file->header, &member)) {
        enum status status;
        if (strcmp(member.name, METADATA) == 0)
            status = check_metadata(reading, member.value);
        else
            status = read_tensor(reading, &member, &file->tensors[file->tensor_count++]);
        if (status != STATUS_OK)
            return status;
    }
    qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_offsets);
    for (size_t i = 0; data != NULL && i < file->tensor_count; i++)
        file->tensors[i].data = data + file->tensors[i].begin;
    return check_tiling(reading, file);
}

static enum status open_start(struct safetensors_file *file, const void *bytes, size_t count,
                              uint64_t file_bytes, bool whole, const char *path,
                              struct error *error)
{
    memset(file, 0, sizeof *file);
    uint64_t header_bytes;
    enum status status = safetensors_look(bytes, count, file_bytes, path, error);
    if (status != STATUS_OK)
        return status;
    memcpy(&header_bytes, bytes, 8);
    if (header_bytes > count - 8) /* It was read twice, and has changed. */
        return error_set(error, STATUS_INVALID, "%s: it changes while it is read", path);
    const char *text = (const char *)bytes + 8;
    char name[DISK_PATH_MAX + 16];
    snprintf(name, sizeof name, "%s: its header", path);
    status = json_parse(text, (size_t)header_bytes, name, &file->header, error);
    if (status == STATUS_OK) {
        const struct reading reading = {path, error, file_bytes - 8 - header_bytes};
        status =
            read_header(file, &reading, whole ? (const uint8_t *)bytes + 8 + header_bytes : NULL);
    }
    if (status != STATUS_OK)
        safetensors_close(file);
    return status;
}

enum status safetensors_open(struct safetensors_file *file, const void *bytes, size_t count,
                             const char *path, struct error *error)
{
    return open_start(file, bytes, count, count, true, path, error);
}

enum status safetensors_open_header(struct safetensors_file *file, const void *bytes, size_t count,
                                    uint64_t file_bytes, const char *path, struct error *error)
{
    return open_start(file, bytes, count, file_bytes, false, path, error);
}

void safetensors_close(struct safetensors_file *file)
{
    json_release(&file->header);
    free(file->tensors);
    memset(file, 0, sizeof *file);
}

const char *safetensors_metadata(const struct safetensors_file *file, const char *key)
{
    /* A key may hold dots, which json_text would take for a path. */
    struct json_member member = {0};
    const struct json *metadata = json_at(file->header, METADATA);
    while (metadata != NULL && json_next_member(metadata, &member))
        if (strcmp(member.name, key) == 0)
            return json_text(member.value, "");
    return NULL;
}

bool safetensors_is_f32(const struct safetensors_tensor *tensor)
{
    return strcmp(tensor->dtype, "F32") == 0;
}

/* Binary32 of a binary16. Below 2^-14 it counts 2^-24 without a leading 1. */
static float half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31;
    uint32_t fraction = bits & 0x3ff;
    uint32_t wide = exponent == 31 ? 0x7f800000 : (exponent + 112) << 23;
    float small = (float)fraction * 0x1p-24f, value;
    if (exponent == 0)
        return sign != 0 ? -small : small;
    wide |= sign | fraction << 13;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* The upper half of a binary32. */
static float brain(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static float float_at(const struct safetensors_tensor *tensor, uint64_t index)
{
    uint16_t two;
    double eight;
    if (strcmp(tensor->dtype, "F64") == 0) {
        memcpy(&eight, tensor->data + index * sizeof eight, sizeof eight);
        return (float)eight;
    }
    memcpy(&two, tensor->data + index * sizeof two, sizeof two);
    return strcmp(tensor->dtype, "F16") == 0 ? half(two) : brain(two);
}

bool safetensors_is_float(const struct safetensors_tensor *tensor)
{
    return safetensors_is_f32(tensor) || strcmp(tensor->dtype, "F64") == 0 ||
           strcmp(tensor->dtype, "F16") == 0 || strcmp(tensor->dtype, "BF16") == 0;
}

void safetensors_floats(const struct safetensors_tensor *tensor, float *to)
{
    if (safetensors_is_f32(tensor))
        memcpy(to, tensor->data, tensor->elements * sizeof *to);
    else
        for (uint64_t i = 0; i < tensor->elements; i++)
            to[i] = float_at(tensor, i);
}

/* --- writing ------------------------------------------------------------------------------- */

static void add_piece(struct safetensors_writer *writer, const void *data, size_t bytes)
{
    struct disk_piece *pieces =
        array_room(writer->pieces, writer->piece_count, &writer->piece_capacity, sizeof *pieces);
    if (pieces == NULL) {
        writer->failed = true;
        return;
    }
    writer->pieces = pieces;
    writer->pieces[writer->piece_count++] = (struct disk_piece){data, bytes};
}

void safetensors_writer_init(struct safetensors_writer *writer)
{
    memset(writer, 0, sizeof *writer);
    json_writer_init(&writer->header, true);
    json_writer_object(&writer->header, NULL);
    /* Room for the header, which is known last. */
    add_piece(writer, NULL, 0);
    add_piece(writer, NULL, 0);
}

void safetensors_writer_metadata(struct safetensors_writer *writer, const char *key,
                                 const char *text)
{
    assert(writer->data_bytes == 0);
    if (writer->header.depth == 1)
        json_writer_object(&writer->header, METADATA);
    json_writer_text(&writer->header, key, text);
}

static void end_metadata(struct safetensors_writer *writer)
{
    if (writer->header.depth == 2)
        json_writer_end(&writer->header);
}

void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name,
                               const uint64_t *shape, uint32_t rank, const float *values)
{
    end_metadata(writer);
    uint64_t bytes = sizeof(float);
    json_writer_object(&writer->header, name);
    json_writer_text(&writer->header, "dtype", "F32");
    json_writer_array(&writer->header, "shape");
    for (uint32_t i = 0; i < rank; i++) {
        json_writer_u64(&writer->header, NULL, shape[i]);
        bytes *= shape[i];
    }
    json_writer_end(&writer->header);
    json_writer_array(&writer->header, "data_offsets");
    json_writer_u64(&writer->header, NULL, writer->data_bytes);
    json_writer_u64(&writer->header, NULL, writer->data_bytes + bytes);
    json_writer_end(&writer->header);
    json_writer_end(&writer->header);
    writer->data_bytes += bytes;
    add_piece(writer, values, bytes);
}

enum status safetensors_writer_finish(struct safetensors_writer *writer, struct error *error)
{
    end_metadata(writer);
    json_writer_end(&writer->header);
    while (!writer->header.failed && writer->header.bytes % 8 != 0)
        json_writer_raw(&writer->header, " ", 1);
    if (writer->header.failed || writer->failed)
        return error_set(error, STATUS_MEMORY, "no memory for a safetensors header");
    uint64_t header_bytes = writer->header.bytes;
    if (header_bytes > SAFETENSORS_HEADER_MAX)
        return error_set(error, STATUS_INVALID,
                         "too many tensors for one safetensors file: a header of %" PRIu64 " bytes",
                         header_bytes);
    memcpy(writer->header_bytes, &header_bytes, 8);
    writer->pieces[0] = (struct disk_piece){writer->header_bytes, 8};
    writer->pieces[1] = (struct disk_piece){writer->header.text, writer->header.bytes};
    return STATUS_OK;
}

void safetensors_writer_free(struct safetensors_writer *writer)
{
    json_writer_free(&writer->header);
    free(writer->pieces);
    memset(writer, 0, sizeof *writer);
}
