/* outbox.h - the messages that a core wants sent: packets with destinations, in order.
 *
 * Cores never send. They append here, and the thread or simulator that drives them delivers.
 *
 * Threads: one owner.
 * Ownership: an appended packet's payload reference moves to the outbox, and on to its receiver. */

#ifndef COMMON_WIRE_OUTBOX_H
#define COMMON_WIRE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/events/event.h"
#include "common/wire/message.h"

enum destination {
    TO_PEER,         /* A server's listening endpoint: packet.peer. */
    TO_SERVER,       /* A client's connection to server number `index`. */
    TO_COORDINATOR,  /* Server 0's coordinator, here or over the wire. */
    TO_ROUTER,       /* This server's router. */
    TO_OWNER,        /* Owner number `index` of this server. */
    TO_CHECKPOINTER, /* This server's checkpointer. */
    TO_TRAINER,      /* This worker's compute thread. */
    TO_LOG,          /* message.waiting.text is a line for people; index 1: a warning. */
};

struct outgoing {
    enum destination to;
    uint32_t index;
    struct packet packet;
};

struct outbox {
    struct outgoing *items; /* [capacity] ring. */
    size_t capacity, first, count;
    const struct listener *listener; /* Of the events of the core; NULL: none. Borrowed. */
};

void outbox_free(struct outbox *outbox);

/* Append a message of this kind with everything else zero, and return it to be filled in; valid
 * until the next call. Out of memory for a few packets the process ends, because it cannot
 * answer any more. */
#define outbox_add(outbox, to, kind) outbox_add_to(outbox, to, 0, kind)

/* The same to owner or server number `index`. */
#define outbox_add_to(outbox, to, index, kind) outbox_put(outbox, to, index, kind, HERE)

/* The same under the name of the caller's caller, for helper functions. */
struct packet *outbox_put(struct outbox *outbox, enum destination to, uint32_t index,
                          enum message_kind kind, struct origin origin);

/* Append one that another outbox had; it takes over the payload's reference. */
void outbox_append(struct outbox *outbox, const struct outgoing *item);

/* A line for people: an event, or something to look after. */
#define outbox_log(outbox, ...)  outbox_put_line(outbox, 0, __VA_ARGS__)
#define outbox_warn(outbox, ...) outbox_put_line(outbox, 1, __VA_ARGS__)
void outbox_put_line(struct outbox *outbox, uint32_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Payload bytes of the packets to `to` behind the first `before` of them all. */
uint64_t outbox_payload_bytes(const struct outbox *outbox, size_t before, enum destination to);

bool outbox_take(struct outbox *outbox, struct outgoing *outgoing);

#endif
