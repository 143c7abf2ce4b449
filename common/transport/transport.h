/* transport.h - moves frames between processes, and knows nothing else.
 *
 * A transport makes endpoints. A listening endpoint has many peers, and names each with a number
 * that is never used again. A connecting one has a single peer, 0. A message is a header frame
 * of at most HEADER_BYTES_MAX bytes and at most one payload frame. Sending never blocks:
 * STATUS_AGAIN if it cannot be queued, STATUS_UNREACHABLE if the peer has gone. Messages between
 * two endpoints arrive in order or not at all; an accepted message may still be lost with the
 * connection.
 *
 * A frame has a limit, and so has what waits for a peer that does not read. What comes in has
 * none, so peers are trusted, or have keys. At most half of the files that a process may open
 * are a listening endpoint's connections: later ones are closed.
 *
 * Three transports: transport_zmq (ZeroMQ ROUTER and DEALER over TCP; the only user of zmq.h),
 * transport_shm (shared memory between peers on one host, another transport to all others) and
 * tests/lib/transport_memory.h (queues within one process, for tests of the same threads).
 *
 * Threads: a transport may be used by any; an endpoint by one at a time, handed on with a lock.
 * Frames may be dropped anywhere. A doorbell may be rung by any.
 * Ownership: endpoint_send takes over one reference of the payload, with any result. A received
 * payload is one reference, the caller's. */

#ifndef COMMON_TRANSPORT_TRANSPORT_H
#define COMMON_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/job/job.h"
#include "common/keys/identity.h"

#define TRANSPORT_DOORBELLS_MAX 8 /* Of one wait, from its caller. */
#define TRANSPORT_PLACE_NOWHERE UINT64_MAX
#define TRANSPORT_SMALL_BYTES   3072u /* A payload that reaches every peer without a place. */

struct endpoint;

struct received {
    uint64_t peer;
    struct identity sender; /* Listening with keys: the roles of the key. Else zeros. */
    size_t header_bytes;
    uint8_t header[4096];
    struct frame *payload; /* NULL for none. */
};

struct transport {
    const struct transport_operations *operations;
};

/* The memory that a listening endpoint shares with each peer on its host, see window.h. */
struct share {
    uint64_t name;        /* Its name there, which no other has. */
    uint64_t shard_bytes; /* All payloads of one exchange in one direction. */
    uint32_t slots;       /* Gradients of the whole shard that a peer may have in flight. */
    uint32_t messages;    /* In flight in one direction at the same time, about. */
    uint32_t published;   /* Copies of the shard that all peers see: endpoint_lend's memory. */
    uint32_t peers_max;
};

struct transport_operations {
    /* address: numeric, "10.0.0.5:7000", or several with commas; ":7000" is every address of
     * this host. Port 0 picks one. `bound` gets the final list. Payloads above max_payload bytes
     * close their connection. STATUS_EXISTS when another process listens there. */
    enum status (*listen)(struct transport *transport, const char *address, size_t max_payload,
                          char bound[ADDRESS_MAX], struct endpoint **endpoint, struct error *error);
    /* address: "host:port". Never waits: a name is asked about meanwhile, and its places are
     * tried in turn (route.h). */
    enum status (*connect)(struct transport *transport, const char *address, size_t max_payload,
                           struct endpoint **endpoint, struct error *error);
    /* place: of the payload in the shard (a multiple of 64 bytes), for transports that share
     * memory; or TRANSPORT_PLACE_NOWHERE: it goes as if none were shared. A listening endpoint
     * has only the ring for a peer that it shares memory with: more than TRANSPORT_SMALL_BYTES
     * without a place is STATUS_NOT_FOUND there. */
    enum status (*send)(struct endpoint *endpoint, uint64_t peer, const void *header,
                        size_t header_bytes, struct frame *payload, uint64_t place);
    /* STATUS_AGAIN when there is nothing. */
    enum status (*receive)(struct endpoint *endpoint, struct received *received);
    /* Waits until one of the endpoints may have something, a doorbell rings (file descriptors
     * that become readable) or timeout_ms passes. With 0 it only looks for connections that have
     * ended, which receive does not. */
    void (*wait)(struct transport *transport, struct endpoint *const *endpoints, size_t count,
                 const int *doorbells, size_t doorbell_count, int timeout_ms);
    /* Undelivered messages have linger_ms to leave. Sets the pointer to NULL. */
    void (*close)(struct endpoint **endpoint, int linger_ms);
    /* All endpoints must be closed. */
    void (*destroy)(struct transport **transport);

    /* Connecting: STATUS_REFUSED when the other side never accepts this process, because of its
     * key or for want of one; text[size] says why. STATUS_OK when nothing speaks against it. May
     * take half a second, seldom. Listening: STATUS_OK. NULL in transports without keys. */
    enum status (*refusal)(struct endpoint *endpoint, char *text, size_t size);
    /* Connecting: another process answers than was meant, `who` ("ps/1, not ps/0"). Another
     * place of the name is tried, or this one again later. NULL where addresses cannot mislead. */
    void (*shun)(struct endpoint *endpoint, const char *who);
    /* Connecting: the known reasons of the silence, for the person who waits (silence.h); or
     * that there is a connection. At once. NULL in transports that know nothing. */
    void (*silence)(struct endpoint *endpoint, char *text, size_t size);

    /* The rest is for peers on one host that share memory; NULL in transports that never do. */

    /* Listening: offer it from now on, once. */
    enum status (*share)(struct endpoint *endpoint, const struct share *share, struct error *error);
    /* Connecting: ask the listener of that name to share; messages go the old way until it has.
     * STATUS_NOT_FOUND when it is not on this host. */
    enum status (*attach)(struct endpoint *endpoint, uint64_t name);
    /* Connecting: whether it shares now. */
    bool (*attached)(const struct endpoint *endpoint);
    /* Memory that travels without a copy, to write a payload to: a connecting endpoint's
     * gradients, a listening one's published values. NULL when there is none. */
    struct frame *(*lend)(struct endpoint *endpoint, uint64_t place, uint64_t bytes);
};

enum status transport_zmq_create(struct transport **transport, struct error *error);

/* Shared memory between peers on one host, and `inner` for the begin and for all others. Takes
 * inner over when it succeeds. */
enum status transport_shm_create(struct transport **transport, struct transport *inner,
                                 struct error *error);

/* ZeroMQ, and shared memory, too, between peers on one host. */
enum status transport_create(struct transport **transport, bool share, struct error *error);

/* ZeroMQ with CURVE: all is encrypted. The other side of a connecting endpoint must have the
 * servers' certificate, and that of a listening one be on the list of the folder of keys; else
 * it is refused, counted, and named once in the log. `listens`: listening endpoints will be
 * made; a thread then checks keys. keys outlives the transport. Never shares memory, which would
 * bypass the keys. */
struct keys;
enum status transport_curve_create(struct transport **transport, const struct keys *keys,
                                   bool listens, struct error *error);

/* A new CURVE key pair, and the public key of a secret one. STATUS_IO when libzmq cannot. */
enum status transport_keypair(uint8_t public_key[KEY_BYTES], uint8_t secret_key[KEY_BYTES]);
enum status transport_public_key(const uint8_t secret_key[KEY_BYTES],
                                 uint8_t public_key[KEY_BYTES]);

/* The known reasons why an endpoint connected to address has no answer: the handshake is
 * refused, or what silence says. Threads: the endpoint's. */
void transport_explain_silence(const struct transport *transport, struct endpoint *endpoint,
                               const char *address, char *text, size_t size);

#endif
