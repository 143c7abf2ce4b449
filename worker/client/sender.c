/* sender.c - fills in role, index, incarnation, run, generation, ticket and proof. */

#include "worker/client/sender.h"

struct packet *sender_add_as(const struct sender *sender, uint32_t server, enum message_kind kind,
                             uint64_t request, struct outbox *outbox)
{
    struct packet *packet = outbox_add_to(outbox, TO_SERVER, server, kind);
    struct message *message = &packet->message;
    message->role = ROLE_WORKER;
    message->index = sender->worker;
    message->incarnation = sender->incarnation;
    message->run_id = sender->run_id;
    message->generation = sender->generation;
    message->ticket = sender->ticket;
    message->proof = sender->proof;
    message->request = request;
    return packet;
}

struct packet *sender_add(struct sender *sender, uint32_t server, enum message_kind kind,
                          struct outbox *outbox)
{
    return sender_add_as(sender, server, kind, ++sender->last_request, outbox);
}
