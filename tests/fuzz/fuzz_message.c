/* fuzz_message.c - header frames: what decodes says the same when it is encoded and decoded again.
 */

#include <string.h>

#include "common/message.h"
#include "tests/fuzz/fuzz.h"

/* Headers are decoded without the heap. */
const struct fuzz_bounds fuzz_bounds = {0, 0};

void fuzz_start(void)
{
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct message message, again;
    struct error error;
    uint8_t first[HEADER_BYTES_MAX], second[HEADER_BYTES_MAX];
    if (message_decode(data, size, &message, &error) != STATUS_OK)
        return;
    fuzz_must(message.kind > MESSAGE_NONE && message.kind < MESSAGE_WIRE_COUNT &&
                  message.role < ROLE_COUNT,
              "only kinds and roles of the wire decode");
    size_t bytes = message_encode(&message, first);
    fuzz_must(message_decode(first, bytes, &again, &error) == STATUS_OK,
              "what was encoded decodes");
    fuzz_must(message_encode(&again, second) == bytes && memcmp(first, second, bytes) == 0,
              "encoding again gives the same bytes");
}
