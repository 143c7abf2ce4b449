/* json_writer.c - text that grows at its end; commas, line breaks and indentation follow from the
 * level that is open. */

#include "common/file/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *writer, bool compact)
{
    memset(writer, 0, sizeof *writer);
    writer->compact = compact;
}

void json_writer_free(struct json_writer *writer)
{
    free(writer->text);
    memset(writer, 0, sizeof *writer);
}

/* --- text ---------------------------------------------------------------------------------- */

void json_writer_raw(struct json_writer *writer, const char *text, size_t bytes)
{
    if (writer->failed)
        return;
    if (bytes >= writer->capacity - writer->bytes) {
        size_t capacity = 2 * (writer->capacity + bytes) + 256;
        char *larger = realloc(writer->text, capacity);
        if (larger == NULL) {
            writer->failed = true;
            return;
        }
        writer->text = larger;
        writer->capacity = capacity;
    }
    memcpy(writer->text + writer->bytes, text, bytes);
    writer->bytes += bytes;
    writer->text[writer->bytes] = '\0';
}

static void put(struct json_writer *writer, const char *text)
{
    json_writer_raw(writer, text, strlen(text));
}

/* Bytes of the UTF-8 sequence at text; 0 when it is not a valid one (RFC 3629, section 4). The text
 * ends in a zero, which is no continuation byte. */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char c = text[0];
    if (c < 0x80)
        return 1;
    size_t length = c >= 0xC2 && c < 0xE0   ? 2
                    : (c & 0xF0) == 0xE0    ? 3
                    : c >= 0xF0 && c < 0xF5 ? 4
                                            : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (c == 0xE0 && text[1] < 0xA0) || (c == 0xF0 && text[1] < 0x90);
    bool surrogate = c == 0xED && text[1] >= 0xA0;
    bool beyond = c == 0xF4 && text[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

static void put_quoted(struct json_writer *writer, const char *text)
{
    put(writer, "\"");
    while (*text) {
        size_t length = utf8_length((const unsigned char *)text);
        unsigned char c = (unsigned char)*text;
        char escape[8];
        if (c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", c);
            put(writer, escape);
        } else if (c < 0x20 || c == 0x7F) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            put(writer, escape);
        } else if (length == 0) {
            put(writer, "\xEF\xBF\xBD");
        } else {
            json_writer_raw(writer, text, length);
        }
        text += length ? length : 1;
    }
    put(writer, "\"");
}

/* --- structure ----------------------------------------------------------------------------- */

static void put_line_break(struct json_writer *writer)
{
    if (writer->compact)
        return;
    put(writer, "\n");
    for (unsigned i = 0; i < writer->depth; i++)
        put(writer, "  ");
}

/* Everything before a value: comma, line break, name. */
static void put_start(struct json_writer *writer, const char *name)
{
    if (writer->depth > 0) {
        bool first = !writer->levels[writer->depth - 1].has_items;
        bool on_one_line = writer->levels[writer->depth - 1].on_one_line;
        writer->levels[writer->depth - 1].has_items = true;
        if (!first)
            put(writer, on_one_line && !writer->compact ? ", " : ",");
        if (!on_one_line)
            put_line_break(writer);
    }
    if (name != NULL) {
        put_quoted(writer, name);
        put(writer, writer->compact ? ":" : ": ");
    }
}

static void open_level(struct json_writer *writer, const char *name, const char *opening,
                       char closing, bool on_one_line)
{
    put_start(writer, name);
    put(writer, opening);
    assert(writer->depth < JSON_WRITER_DEPTH_MAX);
    bool within = writer->depth > 0 && writer->levels[writer->depth - 1].on_one_line;
    writer->levels[writer->depth].closing = closing;
    writer->levels[writer->depth].on_one_line = within || on_one_line;
    writer->levels[writer->depth].has_items = false;
    writer->depth++;
}

void json_writer_object(struct json_writer *writer, const char *name)
{
    open_level(writer, name, "{", '}', false);
}

void json_writer_array(struct json_writer *writer, const char *name)
{
    open_level(writer, name, "[", ']', false);
}

void json_writer_object_line(struct json_writer *writer, const char *name)
{
    open_level(writer, name, "{", '}', true);
}

void json_writer_array_line(struct json_writer *writer, const char *name)
{
    open_level(writer, name, "[", ']', true);
}

void json_writer_end(struct json_writer *writer)
{
    assert(writer->depth > 0);
    writer->depth--;
    if (writer->levels[writer->depth].has_items && !writer->levels[writer->depth].on_one_line)
        put_line_break(writer);
    json_writer_raw(writer, &writer->levels[writer->depth].closing, 1);
}

/* --- values -------------------------------------------------------------------------------- */

static void put_value(struct json_writer *writer, const char *name, const char *text)
{
    put_start(writer, name);
    put(writer, text);
}

void json_writer_text(struct json_writer *writer, const char *name, const char *text)
{
    if (text == NULL) {
        json_writer_null(writer, name);
        return;
    }
    put_start(writer, name);
    put_quoted(writer, text);
}

void json_writer_bool(struct json_writer *writer, const char *name, bool value)
{
    put_value(writer, name, value ? "true" : "false");
}

void json_writer_null(struct json_writer *writer, const char *name)
{
    put_value(writer, name, "null");
}

void json_writer_u64(struct json_writer *writer, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, value > INT64_MAX ? "\"0x%" PRIx64 "\"" : "%" PRIu64, value);
    put_value(writer, name, text);
}

/* Digits alone would be read as an integer, which has a smaller range. */
static void write_exact(char *text, size_t size, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
}

void json_writer_decimals(struct json_writer *writer, const char *name, double value, int decimals)
{
    char text[40] = "null";
    if (isfinite(value) && decimals < 0)
        write_exact(text, sizeof text, value);
    else if (isfinite(value) && fabs(value) < 1e15)
        snprintf(text, sizeof text, "%.*f", decimals, value);
    put_value(writer, name, text);
}

void json_writer_real(struct json_writer *writer, const char *name, double value)
{
    json_writer_decimals(writer, name, value, JSON_EXACT);
}

void json_writer_float(struct json_writer *writer, const char *name, float value)
{
    char text[40];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        /* The way the reader goes: through a double. */
        if ((float)strtod(text, NULL) == value) {
            json_writer_real(writer, name, strtod(text, NULL));
            return;
        }
    }
    json_writer_real(writer, name, (double)value);
}

void json_writer_hex(struct json_writer *writer, const char *name, const uint8_t *bytes,
                     size_t count)
{
    put_start(writer, name);
    put(writer, "\"");
    for (size_t i = 0; i < count; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", bytes[i]);
        put(writer, digits);
    }
    put(writer, "\"");
}

void json_writer_id(struct json_writer *writer, const char *name, uint64_t id)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(id >> (56 - 8 * i));
    json_writer_hex(writer, name, bytes, sizeof bytes);
}
