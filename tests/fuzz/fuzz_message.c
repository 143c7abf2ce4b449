/* fuzz_message.c - header frames: what decodes says the same when it is encoded and decoded again.
 */

#include <string.h>

#include "common/wire/message_fields.h"
#include "tests/fuzz/fuzz.h"

/* Headers are decoded without the heap. */
const struct fuzz_bounds fuzz_bounds = {0, 0};

void fuzz_start(void)
{
}

/* Numbers that are used as indexes, and texts that end up on terminals. */
static bool is_plain(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return length < size;
}

static void check_fields(const struct message_field *field, const void *message)
{
    for (; field->kind != FIELD_END; field++) {
        const char *at = (const char *)message + field->offset;
        uint64_t number = 0;
        memcpy(&number, at, field->size < sizeof number ? field->size : sizeof number);
        if (field->kind == FIELD_TEXT || field->kind == FIELD_NAME)
            fuzz_must(is_plain(at, field->size), "texts are plain");
        if (field->kind == FIELD_NAME)
            fuzz_must(strchr(at, '/') == NULL, "files lie in their folder");
        if (field->kind == FIELD_U32 || field->kind == FIELD_U64 || field->kind == FIELD_WORD)
            fuzz_must(number >= field->least && number <= field->most, "numbers have bounds");
        if (field->kind == FIELD_REPORT && at[0] != 0)
            check_fields(message_fields(MESSAGE_REPORT), message_field_report(field, message));
    }
}

/* What is used as an index or a count. */
static void check_places(const struct message *message)
{
    const struct message_job_page *page = &message->job_page;
    if (message->kind == MESSAGE_JOB_PAGE)
        fuzz_must(page->bytes <= JOB_PAGE_BYTES && page->total <= JOB_BYTES_MAX &&
                      page->offset < page->total,
                  "pages lie within a declaration");
    if (message->kind == MESSAGE_START)
        fuzz_must(message->start.position < message->start.members, "positions are of members");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct message message, again;
    struct error error;
    uint8_t first[HEADER_BYTES_MAX], second[HEADER_BYTES_MAX];
    if (message_decode(data, size, &message, &error) != STATUS_OK)
        return;
    fuzz_must(message.kind > MESSAGE_NONE && message.kind < MESSAGE_KIND_COUNT &&
                  message.role < ROLE_COUNT,
              "only kinds and roles of the wire decode");
    check_fields(message_fields(message.kind), &message);
    check_places(&message);
    size_t bytes = message_encode(&message, first);
    fuzz_must(message_decode(first, bytes, &again, &error) == STATUS_OK,
              "what was encoded decodes");
    fuzz_must(message_encode(&again, second) == bytes && memcmp(first, second, bytes) == 0,
              "encoding again gives the same bytes");
}
