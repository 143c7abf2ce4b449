/* json.c - jansson behind two ways of looking; and a walk over the text beforehand, because
 * jansson's own limit of depth is too generous for our stack. */

#include "common/file/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/file/json_writer.h"

static const json_t *inner(const struct json *value)
{
    return (const json_t *)(const void *)value;
}

static const struct json *outer(const json_t *value)
{
    return (const struct json *)(const void *)value;
}

/* --- parsing ------------------------------------------------------------------------------- */

/* The deepest nesting of brackets, strings skipped. jansson has a limit of its own, of 2048 levels
 * of recursion; ours is far from any thread's stack. Text that is not JSON may give any number:
 * the parser refuses it afterwards. */
static size_t nesting(const char *text, size_t bytes)
{
    size_t depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

enum status json_parse(const char *text, size_t bytes, const char *name, struct json **root,
                       struct error *error)
{
    *root = NULL;
    if (nesting(text, bytes) > JSON_DEPTH_MAX)
        return error_set(error, STATUS_INVALID, "%.300s: JSON deeper than %d levels", name,
                         JSON_DEPTH_MAX);
    json_error_t failure;
    json_t *parsed = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &failure);
    if (parsed == NULL && json_error_code(&failure) == json_error_out_of_memory)
        return error_set(error, STATUS_MEMORY, "%.300s: no memory to read it", name);
    const char *comma = "'}' expected near '\"";
    if (parsed == NULL && strncmp(failure.text, comma, strlen(comma)) == 0)
        return error_set(error, STATUS_INVALID,
                         "%.300s: not valid JSON: line %d: a comma is expected before %.*s", name,
                         failure.line, (int)strcspn(failure.text + strlen(comma) - 1, "'"),
                         failure.text + strlen(comma) - 1);
    if (parsed == NULL)
        return error_set(error, STATUS_INVALID, "%.300s: not valid JSON: line %d: %s", name,
                         failure.line, failure.text);
    *root = (struct json *)(void *)parsed;
    return STATUS_OK;
}

enum status json_read_file(const struct disk *disk, const char *path, size_t max_bytes,
                           struct json **root, struct error *error)
{
    *root = NULL;
    void *text;
    size_t bytes;
    enum status status = disk->read_file(disk->context, path, max_bytes, &text, &bytes, error);
    if (status != STATUS_OK)
        return status;
    status = json_parse(text, bytes, path, root, error);
    free(text);
    return status;
}

void json_release(struct json **root)
{
    json_decref((json_t *)(void *)*root);
    *root = NULL;
}

/* --- lenient ------------------------------------------------------------------------------- */

const struct json *json_at(const struct json *value, const char *path)
{
    const json_t *at = inner(value);
    while (at != NULL && *path) {
        size_t length = strcspn(path, ".");
        at = json_object_getn(at, path, length);
        path += length;
        path += *path == '.';
    }
    return outer(at);
}

double json_number(const struct json *value, const char *path)
{
    const json_t *at = inner(json_at(value, path));
    return json_is_number(at) ? json_number_value(at) : NAN;
}

static bool parse_hex(const char *digits, size_t most, uint64_t *number)
{
    size_t length = strspn(digits, "0123456789abcdef");
    if (length == 0 || length > most || digits[length] != '\0')
        return false;
    *number = strtoull(digits, NULL, 16);
    return true;
}

bool json_whole(const struct json *value, uint64_t *number)
{
    json_int_t integer = json_integer_value(inner(value)); /* 0 for anything else. */
    *number = (uint64_t)integer;
    return json_is_integer(inner(value)) && integer >= 0;
}

static bool read_u64(const json_t *value, uint64_t *number)
{
    if (json_whole(outer(value), number))
        return true;
    const char *text = json_string_value(value);
    return text != NULL && strncmp(text, "0x", 2) == 0 && parse_hex(text + 2, 16, number);
}

uint64_t json_u64(const struct json *value, const char *path, uint64_t fallback)
{
    uint64_t number;
    return read_u64(inner(json_at(value, path)), &number) ? number : fallback;
}

bool json_flag(const struct json *value, const char *path)
{
    return json_is_true(inner(json_at(value, path)));
}

const char *json_text(const struct json *value, const char *path)
{
    return json_string_value(inner(json_at(value, path)));
}

size_t json_length(const struct json *value, const char *path)
{
    const json_t *at = inner(json_at(value, path));
    return json_is_array(at) ? json_array_size(at) : json_object_size(at);
}

const struct json *json_item(const struct json *array, size_t index)
{
    return outer(json_array_get(inner(array), index));
}

bool json_is_a_record(const struct json *value)
{
    return json_is_object(inner(value));
}

bool json_is_a_list(const struct json *value)
{
    return json_is_array(inner(value));
}

bool json_next_member(const struct json *object, struct json_member *member)
{
    /* jansson's iterators take an object that is not const, but leave it alone. */
    json_t *whole = (json_t *)(uintptr_t)object;
    member->place = member->place != NULL ? json_object_iter_next(whole, member->place)
                                          : json_object_iter(whole);
    if (member->place == NULL)
        return false;
    member->name = json_object_iter_key(member->place);
    member->value = outer(json_object_iter_value(member->place));
    return true;
}

static void copy_number(const json_t *value, struct json_writer *writer, const char *name)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        json_writer_u64(writer, name, (uint64_t)json_integer_value(value));
    else if (json_is_integer(value) && json_integer_value(value) > -1000000000000000)
        json_writer_decimals(writer, name, (double)json_integer_value(value), 0);
    else
        json_writer_real(writer, name, json_number_value(value));
}

/* Depth is bounded: it has been parsed. */
static void copy_many(const struct json *value, struct json_writer *writer, const char *name)
{
    struct json_member member = {0};
    bool object = json_is_a_record(value);
    const json_t *first = inner(json_item(value, 0));
    if (object)
        json_writer_object(writer, name);
    else if (json_is_array(first) || json_is_object(first))
        json_writer_array(writer, name);
    else
        json_writer_array_line(writer, name);
    while (object && json_next_member(value, &member))
        json_write(member.value, writer, member.name);
    for (size_t i = 0; !object && i < json_length(value, ""); i++)
        json_write(json_item(value, i), writer, NULL);
    json_writer_end(writer);
}

void json_write(const struct json *value, struct json_writer *writer, const char *name)
{
    const json_t *it = inner(value);
    if (json_is_object(it) || json_is_array(it))
        copy_many(value, writer, name);
    else if (json_is_number(it))
        copy_number(it, writer, name);
    else if (json_is_string(it))
        json_writer_text(writer, name, json_string_value(it));
    else if (json_is_boolean(it))
        json_writer_bool(writer, name, json_is_true(it));
    else
        json_writer_null(writer, name);
}

/* --- strict -------------------------------------------------------------------------------- */

void json_fields_init(struct json_fields *fields, const struct json *object, const char *where,
                      struct error *error)
{
    *fields = (struct json_fields){.object = object, .where = where, .error = error};
    if (!json_is_object(inner(object)))
        fields->status = error_set(error, STATUS_INVALID, "%.300s: not a JSON object", where);
}

void json_fields_refuse(struct json_fields *fields, const char *name, const char *why)
{
    if (fields->status == STATUS_OK)
        fields->status = error_set(fields->error, STATUS_INVALID, "%.300s: \"%.64s\" %s",
                                   fields->where, name, why);
}

/* The member, or NULL (with the failure remembered) when there is none. */
static const json_t *take(struct json_fields *fields, const char *name)
{
    if (fields->status != STATUS_OK)
        return NULL;
    const json_t *value = json_object_get(inner(fields->object), name);
    if (value == NULL)
        json_fields_refuse(fields, name, "is missing");
    else
        fields->taken++;
    return value;
}

enum status json_fields_end(struct json_fields *fields)
{
    if (fields->status == STATUS_OK && fields->taken != json_object_size(inner(fields->object)))
        fields->status = error_set(fields->error, STATUS_INVALID,
                                   "%.300s: has members that do not belong there", fields->where);
    return fields->status;
}

uint64_t json_fields_u64(struct json_fields *fields, const char *name, uint64_t max)
{
    const json_t *value = take(fields, name);
    uint64_t number = 0;
    if (value != NULL && !read_u64(value, &number))
        json_fields_refuse(fields, name, "is not a whole number");
    else if (number > max)
        json_fields_refuse(fields, name, "is too large");
    return fields->status == STATUS_OK ? number : 0;
}

double json_fields_real(struct json_fields *fields, const char *name)
{
    const json_t *value = take(fields, name);
    if (value != NULL && !json_is_number(value))
        json_fields_refuse(fields, name, "is not a number");
    return fields->status == STATUS_OK ? json_number_value(value) : 0;
}

float json_fields_float(struct json_fields *fields, const char *name)
{
    double value = json_fields_real(fields, name);
    if (fabs(value) > 3.4028234663852886e38)
        json_fields_refuse(fields, name, "is too large");
    return fields->status == STATUS_OK ? (float)value : 0;
}

bool json_fields_bool(struct json_fields *fields, const char *name)
{
    const json_t *value = take(fields, name);
    if (value != NULL && !json_is_boolean(value))
        json_fields_refuse(fields, name, "is not true or false");
    return fields->status == STATUS_OK && json_is_true(value);
}

const char *json_fields_text(struct json_fields *fields, const char *name)
{
    const json_t *value = take(fields, name);
    if (value != NULL && !json_is_string(value))
        json_fields_refuse(fields, name, "is not a text");
    return fields->status == STATUS_OK ? json_string_value(value) : "";
}

void json_fields_copy(struct json_fields *fields, const char *name, char *text, size_t size)
{
    const char *value = json_fields_text(fields, name);
    size_t length = strlen(value);
    if (length >= size) {
        json_fields_refuse(fields, name, "is too long");
        length = 0;
    }
    memcpy(text, value, length);
    text[length] = '\0';
}

static unsigned digit_value(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a') + 10;
}

void json_fields_hex(struct json_fields *fields, const char *name, uint8_t *bytes, size_t count)
{
    memset(bytes, 0, count);
    const char *text = json_fields_text(fields, name);
    if (fields->status != STATUS_OK)
        return;
    if (strlen(text) != 2 * count || strspn(text, "0123456789abcdef") != 2 * count) {
        json_fields_refuse(fields, name, "is not hexadecimal of the right length");
        return;
    }
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
}

uint64_t json_fields_id(struct json_fields *fields, const char *name)
{
    uint8_t bytes[8];
    uint64_t id = 0;
    json_fields_hex(fields, name, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        id = id << 8 | bytes[i];
    return id;
}

const struct json *json_fields_object(struct json_fields *fields, const char *name)
{
    const json_t *value = take(fields, name);
    if (value != NULL && !json_is_object(value))
        json_fields_refuse(fields, name, "is not an object");
    return fields->status == STATUS_OK ? outer(value) : NULL;
}

const struct json *json_fields_array(struct json_fields *fields, const char *name, size_t max)
{
    const json_t *value = take(fields, name);
    if (value != NULL && !json_is_array(value))
        json_fields_refuse(fields, name, "is not an array");
    else if (json_array_size(value) > max)
        json_fields_refuse(fields, name, "has too many items");
    return fields->status == STATUS_OK ? outer(value) : NULL;
}
