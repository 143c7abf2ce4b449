/* backlog.h - messages to one server that its connection could not take yet, in order. Those that
 * are repeated by themselves and often are not kept, nor any when the connection has taken
 * nothing for long.
 *
 * Threads: the driver's. Ownership: items are freed by outbox_free. */

#ifndef WORKER_CLIENT_BACKLOG_H
#define WORKER_CLIENT_BACKLOG_H

#include "common/transport/traffic.h"

struct backlog {
    const struct traffic *traffic; /* Where they go, with the next two. Borrowed. */
    const struct transport *transport;
    struct endpoint *endpoint;
    struct outbox items;
    uint64_t bytes; /* Of payloads. */
};

/* Send an item behind those that are kept, or keep it, or drop it. Takes the payload over. */
void backlog_send(struct backlog *backlog, struct outgoing *item);

/* Send what is kept, as far as the connection takes it. */
void backlog_retry(struct backlog *backlog);

#endif
