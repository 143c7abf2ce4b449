/* json_writer.h - builds JSON text from front to back, members in the order they are put.
 *
 * Readable (indented) or compact (no spaces). Numbers read back exactly: reals are written with as
 * few digits as that takes, and what is not finite becomes null. Bytes that are not UTF-8 become
 * U+FFFD, so the result is always valid.
 *
 * A call's name is NULL inside an array and at the top. Failure (no memory) sticks: check once, at
 * the end. Threads: one owner. */

#ifndef COMMON_FILE_JSON_WRITER_H
#define COMMON_FILE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_WRITER_DEPTH_MAX 16

struct json_writer {
    char *text; /* [bytes], owned; ends in a zero that is not counted. */
    size_t bytes, capacity;
    bool compact, failed;
    unsigned depth;
    struct {
        char closing; /* ']' or '}' */
        bool on_one_line, has_items;
    } levels[JSON_WRITER_DEPTH_MAX];
};

void json_writer_init(struct json_writer *writer, bool compact);
void json_writer_free(struct json_writer *writer);

void json_writer_object(struct json_writer *writer, const char *name);
void json_writer_array(struct json_writer *writer, const char *name);
/* The same on one line with all that is in it, for short things: [1, 2, 3]. */
void json_writer_object_line(struct json_writer *writer, const char *name);
void json_writer_array_line(struct json_writer *writer, const char *name);
void json_writer_end(struct json_writer *writer); /* The innermost object or array. */

/* text NULL: null. */
void json_writer_text(struct json_writer *writer, const char *name, const char *text);
void json_writer_bool(struct json_writer *writer, const char *name, bool value);
void json_writer_null(struct json_writer *writer, const char *name);
/* 2^63 and more are written as "0x..." (json.h reads them back). */
void json_writer_u64(struct json_writer *writer, const char *name, uint64_t value);
void json_writer_real(struct json_writer *writer, const char *name, double value);
/* With so many decimals or, with JSON_EXACT, as json_writer_real does it. */
#define JSON_EXACT (-1)
void json_writer_decimals(struct json_writer *writer, const char *name, double value, int decimals);
/* The shortest number that becomes this float again when it is read as a double and rounded. */
void json_writer_float(struct json_writer *writer, const char *name, float value);
/* Lower-case hexadecimal digits of bytes[count]. */
void json_writer_hex(struct json_writer *writer, const char *name, const uint8_t *bytes,
                     size_t count);
/* 16 hexadecimal digits. */
void json_writer_id(struct json_writer *writer, const char *name, uint64_t id);

/* Text as it is, between values: a closing newline, padding. */
void json_writer_raw(struct json_writer *writer, const char *text, size_t bytes);

#endif
