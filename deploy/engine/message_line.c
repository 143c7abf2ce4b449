/* message_line.c - a loop over the rows of message_fields.h. */

#include "deploy/engine/message_line.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- writing --------------------------------------------------------------------------------- */

struct line {
    char *text; /* [MESSAGE_LINE_MAX] */
    size_t used;
};

/* MESSAGE_LINE_MAX is enough for the longest message: the table is ours. */
static void put(struct line *line, char c)
{
    assert(line->used + 1 < MESSAGE_LINE_MAX);
    line->text[line->used++] = c;
}

static void put_word(struct line *line, const char *word)
{
    while (*word != '\0')
        put(line, *word++);
}

static void put_number(struct line *line, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        put(line, digits[--count]);
}

static void put_signed(struct line *line, int64_t number)
{
    if (number < 0)
        put(line, '-');
    put_number(line, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static void put_id(struct line *line, uint64_t number)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        put(line, "0123456789abcdef"[number >> shift & 15]);
}

static void put_text(struct line *line, const char *text)
{
    put(line, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            put(line, '\\');
        put(line, *text);
    }
    put(line, '"');
}

static void put_digest(struct line *line, const uint8_t digest[DIGEST_BYTES])
{
    char text[HASH_HEX_LENGTH];
    hash_hex(digest, DIGEST_BYTES, text);
    put_word(line, text);
}

static void put_digest_of(struct line *line, const void *bytes, size_t count)
{
    uint8_t digest[HASH_BYTES];
    hash_bytes(bytes, count, digest);
    put_digest(line, digest);
}

static void put_real(struct line *line, double real)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", real);
    put_word(line, text);
}

/* --- fields ---------------------------------------------------------------------------------- */

static bool is_zero(const struct message_field *field, const uint8_t *at)
{
    bool text = field->kind == FIELD_TEXT || field->kind == FIELD_NAME;
    for (size_t i = 0; i < (text ? 1 : field->size); i++)
        if (at[i] != 0)
            return false;
    return true;
}

static void put_value(struct line *line, const struct message_field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_U32:
        put_number(line, *(const uint32_t *)at);
        break;
    case FIELD_U64:
        put_number(line, *(const uint64_t *)at);
        break;
    case FIELD_I64:
        put_signed(line, *(const int64_t *)at);
        break;
    case FIELD_ID:
        put_id(line, *(const uint64_t *)at);
        break;
    case FIELD_REAL:
        put_real(line, *(const double *)at);
        break;
    case FIELD_WORD:
        put_word(line, field->word(*(const unsigned *)at));
        break;
    case FIELD_TEXT:
    case FIELD_NAME:
        put_text(line, at);
        break;
    case FIELD_DIGEST:
        put_digest(line, at);
        break;
    case FIELD_SECRET:
    case FIELD_PAGE:
        put_digest_of(line, at, field->size);
        break;
    case FIELD_FLAG: /* Its name says it. */
    case FIELD_REPORT:
    case FIELD_END:
        break;
    }
}

/* `within`: the prefix of their names. */
static void put_fields(struct line *line, const char *within, const struct message_field *field,
                       const void *message)
{
    for (; field->kind != FIELD_END; field++) {
        const uint8_t *at = (const uint8_t *)message + field->offset;
        if (field->kind == FIELD_REPORT)
            put_fields(line, "report.", message_fields(MESSAGE_REPORT),
                       message_field_report(field, message));
        else if (!is_zero(field, at)) {
            put(line, ' ');
            put_word(line, within);
            put_word(line, field->name);
            if (field->kind == FIELD_FLAG)
                continue;
            put(line, '=');
            put_value(line, field, at);
        }
    }
}

void message_line(const struct message *message, char text[MESSAGE_LINE_MAX])
{
    struct line line = {.text = text};
    put_word(&line, message_kind_name(message->kind));
    if (message->kind != MESSAGE_NONE && message->kind < MESSAGE_KIND_COUNT)
        put_fields(&line, "", message_fields(message->kind), message);
    put_fields(&line, "", message_fields(MESSAGE_NONE), message);
    put(&line, ' ');
    put_word(&line, role_name(message->role));
    put(&line, '/');
    put_number(&line, message->index);
    text[line.used] = '\0';
}

void message_line_fields(const struct message_field *rows, const void *of,
                         char text[MESSAGE_LINE_MAX])
{
    struct line line = {.text = text};
    put_fields(&line, "", rows, of);
    text[line.used] = '\0';
}
