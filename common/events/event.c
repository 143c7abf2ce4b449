/* event.c - the table of kinds, and what becomes text of an event by it. */

#include "common/events/event.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"

_Static_assert(EVENT_KIND_COUNT <= 64, "kinds are bits of a listener's mask");

const struct event_row event_rows[EVENT_KIND_COUNT] = {
#define EVENT(kind, name, sentence) [EVENT_##kind] = {name, sentence, LOG_INFO, NULL, NULL},
#define RECORDED(kind, name, sentence, level, line, members)                                       \
    [EVENT_##kind] = {name, sentence, level, line, members},
#define SPECIAL(kind, when, sentence)
#include "common/events/event_rows.inc"
};

static const struct field {
    const char *name;
    enum { A_COUNT, A_REAL, A_TEXT } form;
    size_t offset;
} fields[] = {
#define COUNT(name) {#name, A_COUNT, offsetof(struct event, name)},
#define REAL(name)  {#name, A_REAL, offsetof(struct event, name)},
#define TEXT(name)  {#name, A_TEXT, offsetof(struct event, name)},
#include "common/events/event_fields.inc"
};

/* The field that text[length] names, and where the event has it. */
static const struct field *find(const struct event *event, const char *text, size_t length,
                                const void **at)
{
    const struct field *field = fields;
    while (strlen(field->name) != length || strncmp(field->name, text, length) != 0) {
        field++;
        assert(field <
               fields + sizeof fields / sizeof *fields); /* Rows name fields that there are. */
    }
    *at = (const uint8_t *)event + field->offset;
    return field;
}

void event_members(const struct event *event, char *text, size_t size)
{
    struct json_writer writer;
    const void *at;
    json_writer_init(&writer, false);
    json_writer_object_line(&writer, NULL);
    for (const char *name = event_rows[event->kind].members; *name != '\0';) {
        size_t length = strcspn(name, " ."), whole = strcspn(name, " ");
        const struct field *field = find(event, name, length, &at);
        int decimals = name[length] == '.' ? atoi(name + length + 1) : JSON_EXACT;
        if (field->form == A_TEXT)
            json_writer_text(&writer, field->name, *(const char *const *)at);
        else if (field->form == A_COUNT)
            json_writer_u64(&writer, field->name, *(const uint64_t *)at);
        else
            json_writer_decimals(&writer, field->name, *(const double *)at, decimals);
        name += whole + strspn(name + whole, " ");
    }
    json_writer_end(&writer);
    size_t bytes = writer.failed ? 0 : writer.bytes - strlen("{}");
    bool fits = !writer.failed && bytes < size;
    if (fits)
        memcpy(text, writer.text + 1, bytes);
    text[fits ? bytes : 0] = '\0';
    json_writer_free(&writer);
}

void event_line(const struct event *event, char *text, size_t size)
{
    const void *at;
    text[0] = '\0';
    for (const char *from = event_rows[event->kind].line; *from != '\0';) {
        size_t length = strcspn(from, "{");
        wording_append(text, size, "%.*s", (int)length, from);
        from += length;
        if (*from == '\0')
            return;
        length = strcspn(from, "}");
        const struct field *field = find(event, from + 1, length - 1, &at);
        if (field->form == A_TEXT)
            wording_append(text, size, "%s", *(const char *const *)at);
        else
            wording_append(text, size, "%" PRIu64, *(const uint64_t *)at);
        from += length + 1;
    }
}
