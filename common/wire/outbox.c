/* outbox.c - a ring of packets that doubles when it is full. Without memory for it the process
 * ends, because a core that cannot send breaks its promises. */

#include "common/wire/outbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"

void outbox_free(struct outbox *outbox)
{
    struct outgoing left;
    while (outbox_take(outbox, &left))
        frame_release(left.packet.payload);
    free(outbox->items);
    memset(outbox, 0, sizeof *outbox);
}

static void grow(struct outbox *outbox)
{
    size_t capacity = outbox->capacity == 0 ? 64 : 2 * outbox->capacity;
    struct outgoing *items = malloc(capacity * sizeof *items);
    if (items == NULL) {
        log_error("out of memory for %zu packets", capacity);
        exit(EXIT_TRAINING_FAILED);
    }
    for (size_t i = 0; i < outbox->count; i++)
        items[i] = outbox->items[(outbox->first + i) % outbox->capacity];
    free(outbox->items);
    outbox->items = items;
    outbox->capacity = capacity;
    outbox->first = 0;
}

/* One more at the end, to be filled in. */
static struct outgoing *next_slot(struct outbox *outbox)
{
    if (outbox->count == outbox->capacity)
        grow(outbox);
    return &outbox->items[(outbox->first + outbox->count++) % outbox->capacity];
}

void outbox_append(struct outbox *outbox, const struct outgoing *item)
{
    *next_slot(outbox) = *item;
}

struct packet *outbox_put(struct outbox *outbox, enum destination to, uint32_t index,
                          enum message_kind kind, struct origin origin)
{
    struct outgoing *slot = next_slot(outbox);
    slot->to = to;
    slot->index = index;
    memset(&slot->packet, 0, sizeof slot->packet);
    slot->packet.origin = origin;
    slot->packet.message.kind = kind;
    return &slot->packet;
}

void outbox_put_line(struct outbox *outbox, uint32_t index, const char *format, ...)
{
    struct packet *packet = outbox_add_to(outbox, TO_LOG, index, MESSAGE_WAITING);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(packet->message.waiting.text, MESSAGE_TEXT_MAX, format, arguments);
    va_end(arguments);
}

uint64_t outbox_payload_bytes(const struct outbox *outbox, size_t before, enum destination to)
{
    uint64_t bytes = 0;
    for (size_t i = before; i < outbox->count; i++) {
        const struct outgoing *item = &outbox->items[(outbox->first + i) % outbox->capacity];
        if (item->to == to && item->packet.payload != NULL)
            bytes += item->packet.payload->bytes;
    }
    return bytes;
}

bool outbox_take(struct outbox *outbox, struct outgoing *outgoing)
{
    if (outbox->count == 0)
        return false;
    *outgoing = outbox->items[outbox->first];
    outbox->first = (outbox->first + 1) % outbox->capacity;
    outbox->count--;
    return true;
}
