/* array.c - tells the formats apart by their first bytes; sizes of the header are compared with the
 * file's, and memory doubles as bytes really come. */

#include "worker/data/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/foreign.h"

#define FIRST_PIECE (1u << 20) /* Bytes of the first allocation. */
#define HEADER_MAX  (NPY_START + 2 + NPY_HEADER_MAX)
#define MAGIC       4u  /* Bytes that tell the formats apart. */
#define START_MAX   16u /* And that tell what a file of neither is. */

/* Put the file's name before what is wrong with it. */
static enum status about(const struct array *array, enum status status, const struct error *why,
                         struct error *error)
{
    return error_set(error, status, "%.300s: %.200s", array->packed.path, why->text);
}

/* start[START_MAX], of which `count` are read. */
static enum status refuse_foreign(struct array *array, uint8_t *start, uint64_t count,
                                  struct error *error)
{
    char what[FOREIGN_TEXT_MAX];
    uint64_t more = 0;
    if (count < MAGIC)
        return error_set(error, STATUS_INVALID, "%s: is cut off: %llu bytes of a header",
                         array->packed.path, (unsigned long long)count);
    (void)packed_read(&array->packed, start + count, START_MAX - count, &more, NULL);
    if (foreign_describe(start, count + more, what))
        return error_set(error, STATUS_INVALID, "%s: is %s, not IDX or .npy", array->packed.path,
                         what);
    return error_set(error, STATUS_INVALID,
                     "%s: is neither IDX nor .npy: it starts with %02x %02x %02x %02x",
                     array->packed.path, start[0], start[1], start[2], start[3]);
}

typedef enum status parse_header(struct array *array, const uint8_t *bytes, uint64_t count,
                                 uint64_t *length, struct error *error);

static parse_header *recognise(const uint8_t *start, uint64_t count)
{
    if (count == MAGIC && memcmp(start, "\x93NUM", MAGIC) == 0)
        return npy_header;
    return count == MAGIC && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] < 16
               ? idx_header
               : NULL;
}

static enum status header_read(struct array *array, uint64_t *length, struct error *error)
{
    uint8_t bytes[HEADER_MAX];
    uint64_t count, more;
    struct error why = {0};
    enum status status = packed_read(&array->packed, bytes, MAGIC, &count, error);
    if (status != STATUS_OK)
        return status;
    parse_header *parse = recognise(bytes, count);
    if (parse == NULL)
        return refuse_foreign(array, bytes, count, error);
    while ((status = parse(array, bytes, count, length, &why)) == STATUS_AGAIN) {
        status = packed_read(&array->packed, bytes + count, *length - count, &more, error);
        if (status != STATUS_OK)
            return status;
        count += more;
        if (count < *length)
            return error_set(error, STATUS_INVALID,
                             "%s: is cut off: %llu bytes of a header of %llu", array->packed.path,
                             (unsigned long long)count, (unsigned long long)*length);
    }
    return status == STATUS_OK ? STATUS_OK : about(array, status, &why, error);
}

/* Sizes that can be, and what they multiply to. */
static enum status sizes_check(struct array *array, struct error *error)
{
    array->bytes = array->width;
    for (uint32_t i = 0; i < ARRAY_RANK_MAX; i++) {
        uint64_t size = array->sizes[i] = i < array->rank ? array->sizes[i] : 1;
        uint64_t limit = i == 0 ? ARRAY_EXAMPLES_MAX : ARRAY_SIDE_MAX;
        if (size == 0 || size > limit || array->bytes > ARRAY_BYTES_MAX / size)
            return error_set(error, STATUS_INVALID, "%s: dimension %u has an impossible size, %llu",
                             array->packed.path, i + 1, (unsigned long long)size);
        array->bytes *= size;
    }
    return STATUS_OK;
}

static enum status too_short(const struct array *array, uint64_t bytes, struct error *error)
{
    return error_set(
        error, STATUS_INVALID, "%s: is cut off: %llu bytes where its header promises %llu",
        array->packed.path, (unsigned long long)bytes, (unsigned long long)array->bytes);
}

static enum status too_long(const struct array *array, struct error *error)
{
    return error_set(error, STATUS_INVALID, "%s: is longer than the %llu bytes its header promises",
                     array->packed.path, (unsigned long long)array->bytes);
}

/* A file that is not compressed shows how many bytes there are to come. */
static enum status length_check(const struct array *array, uint64_t header, struct error *error)
{
    uint64_t bytes = array->packed.bytes;
    if (bytes == UINT64_MAX)
        return STATUS_OK;
    bytes = bytes > header ? bytes - header : 0;
    return bytes < array->bytes   ? too_short(array, bytes, error)
           : bytes > array->bytes ? too_long(array, error)
                                  : STATUS_OK;
}

static enum status look(struct array *array, struct error *error)
{
    uint64_t length = 0;
    enum status status = header_read(array, &length, error);
    status = status ? status : sizes_check(array, error);
    status = status ? status : length_check(array, length, error);
    if (status != STATUS_OK)
        array_free(array);
    return status;
}

enum status array_open(struct array *array, const char *path, struct error *error)
{
    memset(array, 0, sizeof *array);
    enum status status = packed_open(&array->packed, path, error);
    return status ? status : look(array, error);
}

enum status array_open_member(struct array *array, const char *path, const char *member,
                              struct error *error)
{
    memset(array, 0, sizeof *array);
    enum status status = packed_open_member(&array->packed, path, member, error);
    return status ? status : look(array, error);
}

static void swap(struct array *array)
{
    for (uint8_t *number = array->data; number < array->data + array->bytes;
         number += array->width) {
        for (uint32_t i = 0; i < array->width / 2; i++) {
            uint8_t byte = number[i];
            number[i] = number[array->width - 1 - i];
            number[array->width - 1 - i] = byte;
        }
    }
}

/* Exactly as many bytes as promised; the room doubles as long as they keep coming. */
static enum status body_read(struct array *array, struct error *error)
{
    uint64_t room = 0, done = 0, total = array->bytes, got;
    enum status status;
    while (done < total) {
        room = room ? 2 * room : FIRST_PIECE;
        room = room < total ? room : total;
        uint8_t *data = realloc(array->data, room);
        if (data == NULL)
            return error_set(error, STATUS_MEMORY, "%s: out of memory", array->packed.path);
        array->data = data;
        if ((status = packed_read(&array->packed, data + done, room - done, &got, error)))
            return status;
        done += got;
        if (done < room)
            return too_short(array, done, error);
    }
    uint8_t more;
    status = packed_read(&array->packed, &more, 1, &got, error);
    return status != STATUS_OK || got == 0 ? status : too_long(array, error);
}

enum status array_read(struct array *array, struct error *error)
{
    if (array->data != NULL)
        return STATUS_OK;
    enum status status = body_read(array, error);
    if (status != STATUS_OK) {
        array_free(array);
        return status;
    }
    if (array->swaps)
        swap(array);
    packed_close(&array->packed);
    return STATUS_OK;
}

void array_free(struct array *array)
{
    packed_close(&array->packed);
    free(array->data);
    memset(array, 0, sizeof *array);
}

uint64_t array_row(const struct array *array)
{
    return array->sizes[1] * array->sizes[2] * array->sizes[3];
}

double array_number(const struct array *array, uint64_t i)
{
    const uint8_t *at = array->data + i * array->width;
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } number = {0};
    memcpy(&number, at, array->width);
    bool wide = array->width == 8;
    if (array->kind == ARRAY_FLOAT)
        return wide ? number.f64 : (double)number.f32;
    bool is_signed = array->kind == ARRAY_SIGNED;
    switch (array->width) {
    case 1:
        return is_signed ? number.i8 : number.u8;
    case 2:
        return is_signed ? number.i16 : number.u16;
    case 4:
        return is_signed ? (double)number.i32 : (double)number.u32;
    default:
        return is_signed ? (double)number.i64 : (double)number.u64;
    }
}

const char *array_describe(const struct array *array, char text[120])
{
    static const char *const kinds[] = {"uint", "int", "float"};
    int at = snprintf(text, 120, "(");
    for (uint32_t i = 0; i < array->rank; i++)
        at += snprintf(text + at, 120 - (size_t)at, i > 0 ? ", %llu" : "%llu",
                       (unsigned long long)array->sizes[i]);
    snprintf(text + at, 120 - (size_t)at, ") %s%u", kinds[array->kind], 8 * array->width);
    return text;
}
