/* backlog.c - an outbox of bounded bytes. What asks for the newest values makes earlier requests
 * void, and they leave it. */

#include "worker/client/backlog.h"

#include "worker/client/exchange.h"

/* Beyond this they are dropped. All are repeated. */
#define BYTES_MAX (2u * WINDOW_BYTES)
#define ITEMS_MAX (16u << 10)

static uint64_t payload_bytes(const struct packet *packet)
{
    return packet->payload != NULL ? packet->payload->bytes : 0;
}

static bool try_send(const struct backlog *backlog, const struct outgoing *item)
{
    if (item->packet.payload != NULL)
        frame_retain(item->packet.payload); /* A send takes a reference over even when it fails. */
    if (traffic_send(backlog->traffic, backlog->transport, backlog->endpoint, item) == STATUS_AGAIN)
        return false;
    frame_release(item->packet.payload);
    return true;
}

static bool is_kept(const struct backlog *backlog, const struct packet *packet)
{
    enum message_kind kind = packet->message.kind;
    if (kind == MESSAGE_JOIN || kind == MESSAGE_PING ||
        (kind == MESSAGE_EXCHANGE && packet->message.exchange.retry))
        return false;
    return backlog->items.count < ITEMS_MAX &&
           (backlog->bytes == 0 || backlog->bytes + payload_bytes(packet) <= BYTES_MAX);
}

static void keep(struct backlog *backlog, const struct outgoing *item)
{
    backlog->bytes += payload_bytes(&item->packet);
    outbox_append(&backlog->items, item);
}

static bool is_newest(const struct packet *packet)
{
    return packet->message.kind == MESSAGE_EXCHANGE && packet->message.exchange.newest;
}

/* The session begins anew: its earlier requests are void. */
static void forget_older(struct backlog *backlog, const struct packet *newest)
{
    struct outgoing item;
    size_t count = backlog->items.count;
    backlog->bytes = 0;
    while (count-- > 0 && outbox_take(&backlog->items, &item)) {
        const struct message *message = &item.packet.message;
        bool current =
            is_newest(&item.packet) && message->exchange.chunk != newest->message.exchange.chunk;
        if (message->kind == MESSAGE_EXCHANGE && !current)
            frame_release(item.packet.payload);
        else
            keep(backlog, &item);
    }
}

void backlog_send(struct backlog *backlog, struct outgoing *item)
{
    if (is_newest(&item->packet))
        forget_older(backlog, &item->packet);
    if (backlog->items.count == 0 && try_send(backlog, item))
        return;
    if (is_kept(backlog, &item->packet))
        keep(backlog, item);
    else
        frame_release(item->packet.payload);
}

void backlog_retry(struct backlog *backlog)
{
    struct outgoing item;
    struct outbox *items = &backlog->items;
    while (items->count > 0) {
        uint64_t bytes = payload_bytes(&items->items[items->first].packet);
        if (!try_send(backlog, &items->items[items->first]))
            return;
        backlog->bytes -= bytes;
        outbox_take(items, &item);
    }
}
