/* event_member.c - members by way of json_writer.h. */

#include "common/store/event_member.h"

#include <string.h>

#include "common/file/json_writer.h"

static void put(struct json_writer *writer, const struct event_member *member)
{
    if (member->kind == EVENT_TEXT)
        json_writer_text(writer, member->name, member->text);
    else if (member->kind == EVENT_COUNT)
        json_writer_u64(writer, member->name, member->count);
    else
        json_writer_decimals(writer, member->name, member->real, member->decimals);
}

void event_members_write(char *text, size_t size, const struct event_member *members)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object_line(&writer, NULL);
    for (const struct event_member *member = members; member->kind != EVENT_NOTHING; member++)
        put(&writer, member);
    json_writer_end(&writer);
    size_t bytes = writer.failed ? 0 : writer.bytes - strlen("{}");
    bool fits = !writer.failed && bytes < size;
    if (fits)
        memcpy(text, writer.text + 1, bytes);
    text[fits ? bytes : 0] = '\0';
    json_writer_free(&writer);
}
