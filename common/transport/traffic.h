/* traffic.h - sends and takes a process's messages in the hearing of those that note them: its process
 * log (common/wire/process_log.h) and its recorder (common/trace/recorder.h).
 *
 * The other end of a listener's connection is known by its last message; a transport has only a number
 * for it. Of many some may be forgotten, and count as unknown.
 *
 * Threads: one that drives, but for traffic_works. Ownership: log and recorder are borrowed. */

#ifndef COMMON_TRANSPORT_TRAFFIC_H
#define COMMON_TRANSPORT_TRAFFIC_H

#include "common/trace/recorder.h"
#include "common/transport/transport.h"
#include "common/wire/outbox.h"
#include "common/wire/process_log.h"

#define SPEAKERS 2048u

struct traffic {
    struct process_log *log;   /* NULL: none is kept. */
    struct recorder *recorder; /* NULL: nothing is traced. */
    struct speaker {
        uint64_t peer;
        uint32_t index;
        enum role role; /* ROLE_NONE: unknown. */
    } speakers[SPEAKERS];
};

/* Send an item that is for the wire: TO_SERVER its index, or TO_PEER. Takes over the payload, and
 * answers, as the transport's send does. */
enum status traffic_send(const struct traffic *traffic, const struct transport *transport,
                         struct endpoint *endpoint, const struct outgoing *item);

/* A message has come, from a server or from packet->peer. When it is handled the span ends
 * (recorder_ends). */
struct span traffic_taken(struct traffic *traffic, const struct packet *packet, bool from_server);

/* A server's owner is about to get a gradient, or another thread than its router's something to write. The same;
 * other work is not worth a span. Any thread. */
struct span traffic_works(const struct traffic *traffic, const struct outgoing *item,
                          bool in_router);

#endif
