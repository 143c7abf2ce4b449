/* fuzz_message.c - header frames: what decodes says the same when it is encoded and decoded again.
 */

#include <string.h>

#include "common/wire/message.h"
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

static void check_fields(const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_JOIN:
        fuzz_must(is_plain(message->join.host, sizeof message->join.host), "hosts are plain text");
        break;
    case MESSAGE_JOB_PAGE:
        fuzz_must(message->job_page.bytes <= JOB_PAGE_BYTES &&
                      message->job_page.total <= JOB_BYTES_MAX &&
                      message->job_page.offset < message->job_page.total,
                  "pages lie within a declaration");
        break;
    case MESSAGE_REFUSED:
        fuzz_must(message->refused.reason < REFUSAL_COUNT &&
                      is_plain(message->refused.text, MESSAGE_TEXT_MAX),
                  "refusals have a known reason and plain text");
        break;
    case MESSAGE_START:
        fuzz_must(message->start.position < message->start.members &&
                      message->start.members <= JOB_WORKERS_MAX,
                  "positions are of members");
        break;
    case MESSAGE_RESULT:
        fuzz_must(message->result.verdict < VERDICT_COUNT, "verdicts are known");
        break;
    case MESSAGE_CHUNK_STATE:
        fuzz_must(message->chunk_state.array < CHECKPOINT_ARRAYS_MAX &&
                      message->chunk_state.server < JOB_SERVERS_MAX,
                  "arrays and servers exist");
        break;
    case MESSAGE_PART_WRITTEN:
        fuzz_must(message->part_written.server < JOB_SERVERS_MAX &&
                      strchr(message->part_written.part.name, '/') == NULL &&
                      is_plain(message->part_written.text, MESSAGE_TEXT_MAX),
                  "parts are of servers and lie in their folder");
        break;
    default:
        break;
    }
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
    check_fields(&message);
    size_t bytes = message_encode(&message, first);
    fuzz_must(message_decode(first, bytes, &again, &error) == STATUS_OK,
              "what was encoded decodes");
    fuzz_must(message_encode(&again, second) == bytes && memcmp(first, second, bytes) == 0,
              "encoding again gives the same bytes");
}
