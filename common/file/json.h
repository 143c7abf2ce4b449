/* json.h - reading JSON; the only door to jansson. Writing is json_writer.h.
 *
 * Text is parsed strictly: UTF-8, one value and nothing after it, no member twice, no deeper than
 * JSON_DEPTH_MAX. Two ways to look at what was read:
 *
 *   lenient   json_number(root, "staleness.mean") is NaN when there is no such number; for tools
 *             that show what there is.
 *   strict    struct json_fields takes the members of one object one after the other and remembers
 *             the first that is missing, of another type or out of range, and at the end any that
 *             is not known; for declarations.
 *
 * Numbers of 2^63 and more do not fit a JSON reader's integers: they are the text "0x" and
 * hexadecimal digits, which json_u64 and json_fields_u64 read as well.
 *
 * Threads: values are read-only; any thread. Ownership: everything hangs from the root and lives
 * until json_release. Names avoid jansson's own, which share the prefix. */

#ifndef COMMON_FILE_JSON_H
#define COMMON_FILE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"

#define JSON_DEPTH_MAX 16

struct json; /* Any value. */

/* name is what errors call the text: a path. text need not end in a zero. STATUS_INVALID. */
enum status json_parse(const char *text, size_t bytes, const char *name, struct json **root,
                       struct error *error);
enum status json_read_file(const struct disk *disk, const char *path, size_t max_bytes,
                           struct json **root, struct error *error);
/* Sets *root to NULL; accepts NULL in it. */
void json_release(struct json **root);

/* --- lenient ------------------------------------------------------------------------------- */

/* The member at "a.b.c" below value; value itself for ""; NULL when there is none. */
const struct json *json_at(const struct json *value, const char *path);
/* A number; NaN when there is none. */
double json_number(const struct json *value, const char *path);
/* A whole number that is not negative; fallback when there is none. */
uint64_t json_u64(const struct json *value, const char *path, uint64_t fallback);
/* Whether value is a whole number written in digits; which. */
bool json_whole(const struct json *value, uint64_t *number);
/* Whether it is true; false when it is anything else, or not there. */
bool json_flag(const struct json *value, const char *path);
/* A text; NULL when there is none. */
const char *json_text(const struct json *value, const char *path);

/* Items of an array or members of an object at path; 0 for anything else. */
size_t json_length(const struct json *value, const char *path);
/* Item of an array, NULL beyond its end. */
const struct json *json_item(const struct json *array, size_t index);
bool json_is_a_record(const struct json *value);
bool json_is_a_list(const struct json *value);

/* The members of an object in the order of the text: start with a zeroed struct. */
struct json_member {
    const char *name;
    const struct json *value;
    void *place; /* Not for callers. */
};
bool json_next_member(const struct json *object, struct json_member *member);

/* The value once more, into a writer, under `name` (NULL in an array and at the top). */
struct json_writer;
void json_write(const struct json *value, struct json_writer *writer, const char *name);

/* --- strict -------------------------------------------------------------------------------- */

struct json_fields {
    const struct json *object;
    const char *where; /* What errors call the object: "runs/x/manifest.json: job". */
    struct error *error;
    enum status status; /* The first failure; later takes return zeros. */
    size_t taken;
};

void json_fields_init(struct json_fields *fields, const struct json *object, const char *where,
                      struct error *error);
/* Failure when a member was never taken. Returns the status of all of it. */
enum status json_fields_end(struct json_fields *fields);

uint64_t json_fields_u64(struct json_fields *fields, const char *name, uint64_t max);
double json_fields_real(struct json_fields *fields, const char *name);
float json_fields_float(struct json_fields *fields, const char *name);
bool json_fields_bool(struct json_fields *fields, const char *name);
/* Never NULL; "" on failure. */
const char *json_fields_text(struct json_fields *fields, const char *name);
/* Copy a text with its terminating zero into text[size]; longer is a failure. */
void json_fields_copy(struct json_fields *fields, const char *name, char *text, size_t size);
/* Exactly 2 * count lower-case hexadecimal digits into bytes[count]. */
void json_fields_hex(struct json_fields *fields, const char *name, uint8_t *bytes, size_t count);
/* A number written as 16 hexadecimal digits: ids. */
uint64_t json_fields_id(struct json_fields *fields, const char *name);
/* NULL on failure. */
const struct json *json_fields_object(struct json_fields *fields, const char *name);
const struct json *json_fields_array(struct json_fields *fields, const char *name, size_t max);
/* Remember a failure that the caller found in member `name`. */
void json_fields_refuse(struct json_fields *fields, const char *name, const char *why);

#endif
