/* envelope.h - the sender's identity, which every message carries, and the begin of messages.
 *
 *     to a server        role, index, incarnation, run, generation; and ticket and proof, which show
 *                        that server 0 has admitted the sender
 *     to a member        the same without ticket and proof: they are for servers
 *     to an unknown peer role and index, and nothing that members know each other by: a peer that is
 *                        no member could repeat it
 *
 * Run, generation and admission are added once they are known, and messages carry them from then
 * on.
 *
 * Threads: the owner's.
 * Ownership: packets are the outbox's, and to be filled in at once; see outbox_add. */

#ifndef COMMON_WIRE_ENVELOPE_H
#define COMMON_WIRE_ENVELOPE_H

#include <stdint.h>

#include "common/wire/outbox.h"

struct envelope {
    enum role role;
    uint32_t index;
    uint64_t incarnation;
    uint64_t run_id;        /* 0 before it is known; never changes. */
    uint64_t generation;    /* Of the run. */
    uint64_t ticket, proof; /* Of the latest admission. */
    uint64_t last_request;  /* Requests are numbered from 1. */
};

/* A message to server number `server` under a request number, and under the next of its own. */
#define envelope_to_server_as(from, server, kind, request, outbox)                                 \
    envelope_put_to_server(from, server, kind, request, outbox, HERE)
#define envelope_to_server(from, server, kind, outbox)                                             \
    envelope_to_server_as(from, server, kind, ++(from)->last_request, outbox)

/* A message to a member, to a peer that is none, or (envelope_answer) to the sender of `to`, as
 * the answer to that. `to` says whether it is a member. */
#define envelope_to_peer(from, peer, kind, outbox)                                                 \
    envelope_put_to_peer(from, peer, true, kind, outbox, HERE)
#define envelope_to_unknown_peer(from, peer, kind, outbox)                                         \
    envelope_put_to_peer(from, peer, false, kind, outbox, HERE)
#define envelope_answer(from, to, kind, outbox) envelope_put_answer(from, to, kind, outbox, HERE)

/* The same, from `origin`. */
struct packet *envelope_put_to_server(const struct envelope *from, uint32_t server,
                                      enum message_kind kind, uint64_t request,
                                      struct outbox *outbox, struct origin origin);
struct packet *envelope_put_to_peer(const struct envelope *from, uint64_t peer, bool member,
                                    enum message_kind kind, struct outbox *outbox,
                                    struct origin origin);
struct packet *envelope_put_answer(const struct envelope *from, const struct packet *to,
                                   enum message_kind kind, struct outbox *outbox,
                                   struct origin origin);

/* Answers of one line. */
void envelope_refuse(const struct envelope *from, const struct packet *to, enum refusal reason,
                     struct outbox *outbox, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void envelope_ask_to_wait(const struct envelope *from, const struct packet *to, const char *text,
                          struct outbox *outbox);

/* Add the sender to an existing message, to a server or to a member. */
void envelope_seal_to_server(const struct envelope *from, struct message *message);
void envelope_seal_to_member(const struct envelope *from, struct message *message);

#endif
