/* letterhead.c - adds a packet with run id and generation on it, for the keeper. */

#include "ps/coordinator/letterhead.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

struct packet *letter_to_keeper(const struct envelope *from, enum message_kind kind,
                                struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, TO_KEEPER, kind);
    packet->message.run_id = from->run_id;
    packet->message.generation = from->generation;
    return packet;
}

void letter_event(const struct envelope *from, struct outbox *outbox, const char *name,
                  const char *format, ...)
{
    struct message_event *event = &letter_to_keeper(from, MESSAGE_EVENT, outbox)->message.event;
    snprintf(event->name, sizeof event->name, "%s", name);
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(event->members, sizeof event->members, format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && (size_t)bytes < sizeof event->members); /* Half of it is no JSON. */
}
