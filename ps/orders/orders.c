/* orders.c - an order lies in the room that a packet has instead of a message. */

#include "ps/orders/orders.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct order) <= PACKET_INNER_BYTES, "an order fits a packet");
_Static_assert(_Alignof(struct order) <= _Alignof(struct packet), "and lies well there");

static void put(struct packet *packet, const struct order *order)
{
    assert(order->kind > ORDER_NONE && order->kind < ORDER_COUNT);
    packet->inner.kind = MESSAGE_NONE;
    memcpy(packet->inner.bytes, order, sizeof *order);
}

struct packet *order_add(struct outbox *outbox, enum destination to, uint32_t index,
                         const struct order *order)
{
    struct packet *packet = outbox_add_to(outbox, to, index, MESSAGE_NONE);
    put(packet, order);
    return packet;
}

struct packet order_packet(const struct order *order)
{
    struct packet packet = {0};
    put(&packet, order);
    return packet;
}

struct packet *order_put_event(struct outbox *outbox, const struct event *event)
{
    struct order order = {.kind = ORDER_EVENT};
    const struct event_row *row = &event_rows[event->kind];
    char line[MESSAGE_TEXT_MAX];
    event_pass(outbox->listener, event);
    if (row->line != NULL) {
        event_line(event, line, sizeof line);
        outbox_put_line(outbox, row->level == LOG_WARNING, "%s", line);
    }
    snprintf(order.event.name, sizeof order.event.name, "%s", row->name);
    event_members(event, order.event.members, sizeof order.event.members);
    return order_add(outbox, TO_CHECKPOINTER, 0, &order);
}

struct message_report *order_report(const struct packet *exchange, struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, TO_COORDINATOR, MESSAGE_REPORT);
    packet->peer = exchange->peer;
    packet->message.role = exchange->message.role;
    packet->message.index = exchange->message.index;
    packet->message.incarnation = exchange->message.incarnation;
    packet->message.run_id = exchange->message.run_id;
    packet->message.generation = exchange->message.generation;
    packet->message.ticket = exchange->message.ticket;
    packet->message.proof = exchange->message.proof;
    packet->message.report = exchange->message.exchange.report;
    return &packet->message.report;
}

const struct order *order_of(const struct packet *packet)
{
    return packet->message.kind == MESSAGE_NONE
               ? (const struct order *)(const void *)packet->inner.bytes
               : NULL;
}
