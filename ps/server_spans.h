/* server_spans.h - what a server's threads do, told to its recorder (common/trace/recorder.h): NULL, and
 * nothing is told.
 *
 * Who is at the other end of a connection is known from what it said last; a transport has only a name
 * for it. Of many some may be forgotten, and are nobody then.
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
        enum role role; /* ROLE_NONE: nobody. */
    } speakers[SPEAKERS];
};

/* A message has come; what is to be given to server_spans_took when it is worked off. up: from server 0
 * to another one, which asked. */
struct span server_spans_heard(struct server_spans *spans, const struct packet *packet, bool up);
void server_spans_took(const struct server_spans *spans, struct span *span);

/* One has left; it was about to at from_ns. */
void server_spans_said(const struct server_spans *spans, const struct outgoing *item,
                       uint64_t from_ns);

/* An owner is about to be given a gradient, or the checkpointer something; and has worked it off. What
 * owners do besides is no work worth a span. in_router: the router thread is the owner. */
struct span server_spans_begin(const struct server_spans *spans, const struct outgoing *item,
                               bool in_router);
void server_spans_worked(const struct server_spans *spans, struct span *span);

#endif
