/* transport.h - moves frames between processes and knows nothing else.
 *
 * A transport makes endpoints. A listening endpoint hears many peers and names each with a number
 * that is never used again; a connecting one has a single peer, 0. A message is a header frame of
 * at most HEADER_BYTES_MAX bytes and at most one payload frame. Sending never blocks: what cannot
 * be queued is STATUS_AGAIN, a peer that has gone is STATUS_UNREACHABLE. Messages between two
 * endpoints arrive in order or not at all; an accepted message may still be lost with the
 * connection.
 *
 * Two transports: transport_zmq (ZeroMQ ROUTER and DEALER over TCP; the only user of zmq.h) and
 * transport_memory (queues within one process, for tests of the same threads).
 *
 * Threads: a transport may be used by any; an endpoint by one at a time, handed on with a lock.
 *   Frames may be dropped anywhere. A doorbell may be rung by any.
 * Ownership: endpoint_send takes over one reference of the payload, whatever it returns. A received
 *   payload is one reference, the caller's. */

#ifndef COMMON_TRANSPORT_H
#define COMMON_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/job.h"
#include "common/status.h"

struct endpoint;

struct received {
    uint64_t peer;
    size_t header_bytes;
    uint8_t header[4096];
    struct frame *payload; /* NULL for none. */
};

struct transport {
    const struct transport_operations *operations;
};

struct transport_operations {
    /* address: "host:port", port 0 picks one; the address to tell others comes back in `bound`.
     * Payloads above max_payload bytes close the connection they come from. */
    enum status (*listen)(struct transport *transport, const char *address, size_t max_payload,
                          char bound[ADDRESS_MAX], struct endpoint **endpoint, struct error *error);
    enum status (*connect)(struct transport *transport, const char *address, size_t max_payload,
                           struct endpoint **endpoint, struct error *error);
    enum status (*send)(struct endpoint *endpoint, uint64_t peer, const void *header,
                        size_t header_bytes, struct frame *payload);
    /* STATUS_AGAIN when there is nothing. */
    enum status (*receive)(struct endpoint *endpoint, struct received *received);
    /* Waits until one of the endpoints may have something, the doorbell rings (a file descriptor
     * that becomes readable, -1 for none) or timeout_ms passes. */
    void (*wait)(struct transport *transport, struct endpoint *const *endpoints, size_t count,
                 int doorbell, int timeout_ms);
    /* Undelivered messages are given linger_ms to leave. Sets the pointer to NULL. */
    void (*close)(struct endpoint **endpoint, int linger_ms);
    /* All endpoints must be closed. */
    void (*destroy)(struct transport **transport);
};

enum status transport_zmq_create(struct transport **transport, struct error *error);
enum status transport_memory_create(struct transport **transport);

/* Why nobody answers at an address, for the person who waits: "connection refused", "host name does
 * not resolve", "resolves to loopback", "no answer", or "accepts connections but does not answer".
 * Tries a connection for at most timeout_ms. */
void transport_diagnose(const char *address, int timeout_ms, char *text, size_t size);

/* Turn "host:port" into the numeric address that a socket can be bound to; ":port" and "*:port"
 * stay every address. STATUS_NOT_FOUND when the name does not resolve. */
enum status transport_resolve(const char *address, char numeric[ADDRESS_MAX], struct error *error);

/* Whether the host part is, or resolves to, a loopback address. */
int transport_is_loopback(const char *address);

#endif
