/* letterhead.c - adds a packet with run id and generation on it, for every kind of message that
 * server 0 sends by itself. */

#include "ps/coordinator/letterhead.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static struct packet *add(const struct letterhead *head, enum destination to,
                          enum message_kind kind, struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, to, kind);
    packet->message.run_id = head->run_id;
    packet->message.generation = head->generation;
    return packet;
}

struct packet *letter_to_peer(const struct letterhead *head, uint64_t peer, enum message_kind kind,
                              struct outbox *outbox)
{
    struct packet *packet = add(head, TO_PEER, kind, outbox);
    packet->peer = peer;
    packet->member = true;
    return packet;
}

struct packet *letter_answer(const struct letterhead *head, const struct packet *to,
                             enum message_kind kind, struct outbox *outbox)
{
    struct packet *packet = letter_to_peer(head, to->peer, kind, outbox);
    packet->member = to->member;
    packet->message.request = to->message.request;
    return packet;
}

struct packet *letter_to_keeper(const struct letterhead *head, enum message_kind kind,
                                struct outbox *outbox)
{
    return add(head, TO_KEEPER, kind, outbox);
}

void letter_event(const struct letterhead *head, struct outbox *outbox, const char *name,
                  const char *format, ...)
{
    struct message_event *event = &letter_to_keeper(head, MESSAGE_EVENT, outbox)->message.event;
    snprintf(event->name, sizeof event->name, "%s", name);
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(event->members, sizeof event->members, format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && (size_t)bytes < sizeof event->members); /* Half of it is no JSON. */
}

void letter_refused(const struct letterhead *head, const struct packet *to, enum refusal reason,
                    struct outbox *outbox, const char *format, ...)
{
    struct packet *packet = letter_answer(head, to, MESSAGE_REFUSED, outbox);
    packet->message.refused.reason = reason;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(packet->message.refused.text, MESSAGE_TEXT_MAX, format, arguments);
    va_end(arguments);
}

void letter_waiting(const struct letterhead *head, const struct packet *to, const char *text,
                    struct outbox *outbox)
{
    struct packet *packet = letter_answer(head, to, MESSAGE_WAITING, outbox);
    snprintf(packet->message.waiting.text, MESSAGE_TEXT_MAX, "%s", text);
}
