/* envelope.c - writes the sender of a message, as much of it as the receiver may know. */

#include "common/wire/envelope.h"

#include <stdarg.h>
#include <stdio.h>

static void seal_to_unknown_peer(const struct envelope *from, struct message *message)
{
    message->role = from->role;
    message->index = from->index;
    message->incarnation = message->run_id = message->generation = 0;
    message->ticket = message->proof = 0;
}

void envelope_seal_to_member(const struct envelope *from, struct message *message)
{
    seal_to_unknown_peer(from, message);
    message->incarnation = from->incarnation;
    message->run_id = from->run_id;
    message->generation = from->generation;
}

void envelope_seal_to_server(const struct envelope *from, struct message *message)
{
    envelope_seal_to_member(from, message);
    message->ticket = from->ticket;
    message->proof = from->proof;
}

struct packet *envelope_put_to_server(const struct envelope *from, uint32_t server,
                                      enum message_kind kind, uint64_t request,
                                      struct outbox *outbox, struct origin origin)
{
    struct packet *packet = outbox_put(outbox, TO_SERVER, server, kind, origin);
    envelope_seal_to_server(from, &packet->message);
    packet->message.request = request;
    return packet;
}

struct packet *envelope_put_to_peer(const struct envelope *from, uint64_t peer, bool member,
                                    enum message_kind kind, struct outbox *outbox,
                                    struct origin origin)
{
    struct packet *packet = outbox_put(outbox, TO_PEER, 0, kind, origin);
    packet->peer = peer;
    packet->member = member;
    if (member)
        envelope_seal_to_member(from, &packet->message);
    else
        seal_to_unknown_peer(from, &packet->message);
    return packet;
}

struct packet *envelope_put_answer(const struct envelope *from, const struct packet *to,
                                   enum message_kind kind, struct outbox *outbox,
                                   struct origin origin)
{
    struct packet *packet = envelope_put_to_peer(from, to->peer, to->member, kind, outbox, origin);
    packet->message.request = to->message.request;
    return packet;
}

void envelope_refuse(const struct envelope *from, const struct packet *to, enum refusal reason,
                     struct outbox *outbox, const char *format, ...)
{
    struct packet *packet = envelope_answer(from, to, MESSAGE_REFUSED, outbox);
    packet->message.refused.reason = reason;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(packet->message.refused.text, MESSAGE_TEXT_MAX, format, arguments);
    va_end(arguments);
}

void envelope_ask_to_wait(const struct envelope *from, const struct packet *to, const char *text,
                          struct outbox *outbox)
{
    struct packet *packet = envelope_answer(from, to, MESSAGE_WAITING, outbox);
    snprintf(packet->message.waiting.text, MESSAGE_TEXT_MAX, "%s", text);
}
