/* exchange_state.h - the fields of each chunk and server in an exchange, for exchange.c,
 * exchange_check.c and tests that spoil them.
 *
 * Threads: the session's. */

#ifndef WORKER_CLIENT_EXCHANGE_STATE_H
#define WORKER_CLIENT_EXCHANGE_STATE_H

#include "worker/client/bandwidth_share.h"
#include "worker/client/exchange.h"

enum sent {
    NOT_SENT,
    SENT,
    ASKED_FOR, /* Sent, and then asked for as a header. */
    CONFIRMED,
};

struct asked {
    uint64_t first_request, request; /* Its first and latest number. 0: it is answered. */
    uint64_t want;                   /* The version, or EXCHANGE_WHATEVER. */
    struct frame *stays;             /* Its values where the server wrote them, or NULL. */
};

struct link {
    uint64_t shard_elements;
    uint32_t first_chunk;       /* Server 0's: its EXCHANGE carries the report. */
    uint32_t unanswered;        /* In chunks. */
    uint64_t unconfirmed_bytes; /* Sent and not confirmed. */
    struct bandwidth_share
        share;            /* The window: at most `most`, where workers keep together `bytes`. */
    uint64_t ahead_bytes; /* Of the last node: sent, and its values not come. */
    bool described;       /* GRADIENT has gone ahead of what is sent. */
    bool answered;        /* Values have come since it was begun. */
    bool near;            /* On this host, by its address or because it shares memory. */
    bool waiting;         /* Chunks wait for the window, from the next ones on. */
    uint32_t next_node, next_chunk;
    uint64_t asked_us; /* When it was asked, asked again, or answered last. */
    uint64_t retry_us; /* After that, repeat. */
    uint64_t heard_us; /* When it was last heard in this exchange, or the begin. */
};

/* See common/base/invariant.h. */
void exchange_check(const struct exchange *exchange);

/* Whether the view is of the held values. */
bool exchange_view_is_here(const struct exchange *exchange);

#endif
