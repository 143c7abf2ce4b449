/* server_spans.h - passes the activities of a server's threads to its recorder
 * (common/trace/recorder.h), if there is one.
 *
 * The other end of a connection is known by its last message; a transport has only a number for
 * it. Of many some may be forgotten, and count as unknown.
 *
 * Threads: the router's, but server_spans_worked, which any may call. */

#ifndef PS_SERVER_SPANS_H
#define PS_SERVER_SPANS_H

#include "common/trace/recorder.h"
#include "common/wire/outbox.h"

#define SPEAKERS 2048u

struct server_spans {
    struct recorder *recorder; /* Borrowed. */
    uint32_t server;
    struct speaker {
        uint64_t peer;
        uint32_t index;
        enum role role; /* ROLE_NONE: unknown. */
    } speakers[SPEAKERS];
};

/* A message has come; the result goes to server_spans_worked when it is handled. up: from server 0
 * to another server, which asked. */
struct span server_spans_heard(struct server_spans *spans, const struct packet *packet, bool up);

/* A message has left, whose sending began at from_ns. */
void server_spans_said(const struct server_spans *spans, const struct outgoing *item,
                       uint64_t from_ns);

/* An owner is about to get a gradient, or the checkpointer an item; and has handled it. Other
 * work of owners is not worth a span. in_router: the router thread is the owner. */
struct span server_spans_begin(const struct server_spans *spans, const struct outgoing *item,
                               bool in_router);
void server_spans_worked(const struct server_spans *spans, struct span *span);

#endif
