/* transport_zmq_monitor.h - counts the results of one ZeroMQ socket's handshakes; internal to
 * transport_zmq*.c.
 *
 * libzmq reports them through a socket monitor. Nothing is lost between looks, and nothing is
 * counted twice. A look also closes the connections that are too many.
 *
 * Threads: the socket's. Ownership: the monitor's own socket. */

#ifndef COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_MONITOR_H
#define COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_MONITOR_H

#include <stdint.h>

#include "common/base/status.h"

struct handshakes {
    uint64_t succeeded;
    uint64_t unauthorized; /* The key is not on the server's list. */
    uint64_t mismatched;   /* One side has keys and the other has none. */
    uint64_t garbled;      /* Not this protocol, or not meant for the server's key. */
    uint64_t unguarded;    /* Server: no guard answered for the key. */
    uint64_t cut;          /* The other side hung up. */
    uint64_t cut_in_a_row; /* Since the last one that succeeded. */
    uint64_t late;         /* Took too long. */
    uint64_t foreign;      /* Server: its bytes were no ZMTP 3. */
    uint64_t surplus;      /* Server: closed, because there were too many connections. */
};

/* libzmq does not report connections without ZMTP 3 at all. They are those that were accepted
 * MONITOR_PATIENCE_US ago and have had no event since; so they are counted late. */
#define MONITOR_HANDSHAKE_MS 5000 /* How long a handshake may take. */
/* The same of a connecting socket: less, so that a server that does not answer is not taken for
 * one that hangs up. */
#define MONITOR_OWN_MS      4000
#define MONITOR_PATIENCE_US (1000u * (MONITOR_HANDSHAKE_MS + 500u))

#define MONITOR_URL_BYTES 96

struct monitor {
    void *socket; /* NULL: closed. */
    struct handshakes counts;
    uint64_t accepted, accepted_before; /* Connections; as of `turned_us`. */
    uint64_t turned_us;
    uint64_t open, open_max; /* Accepted and not ended; 0: as many as come. */
    /* Of a connecting socket: failed attempts at the URL that it connects to, and those that
     * were accepted. The reader clears them. */
    char followed[MONITOR_URL_BYTES];
    uint64_t failed, reached;
};

/* number: of this monitor, unique in its context. Before the socket is bound or connected. */
enum status monitor_open(struct monitor *monitor, void *context, void *watched, unsigned number);
/* Before the watched socket is closed. */
void monitor_close(struct monitor *monitor, void *watched);

/* From now on failed and reached are about url; refusals elsewhere do not count. */
void monitor_follow(struct monitor *monitor, const char *url);

/* Count what has happened; of a listening socket, keep to open_max. */
void monitor_look(struct monitor *monitor, uint64_t now_us);

#endif
