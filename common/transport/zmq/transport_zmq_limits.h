/* transport_zmq_limits.h - what one peer of a ZeroMQ socket can make this process hold.
 *
 * A listening socket: what a peer has sent that nobody has received yet is bounded by inflow.h, and
 * so is what is said to a stranger. Of what is said to any peer at most so many messages wait for
 * it. More is refused with STATUS_AGAIN, which a listening endpoint's user takes for lost. How many
 * bytes messages to members refer to is its user's to bound.
 *
 * A connecting socket has one peer, whom this process chose, and no bounds: what comes was asked
 * for, and what it sends is its own affair.
 *
 * There is no high-water mark for receiving (inflow.h has the reason), and marks are never changed
 * while a socket is in use: libzmq 4.3.4 would tell connections that may have gone already.
 *
 * Threads: those of the endpoint. */

#ifndef COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_LIMITS_H
#define COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/transport/transport.h"
#include "common/transport/zmq/inflow.h"

struct limits {
    bool listening;
    uint32_t frame_bytes; /* That encryption adds to a frame. */
    uint64_t looked_us;
    uint64_t said; /* Connections that the last line about them counted. */
    uint64_t connections;
    struct inflow inflow;
};

/* Before the socket is bound or connected. */
enum status limits_set(struct limits *limits, void *socket, bool listening, uint32_t frame_bytes);

/* Once it is bound, to a TCP port of this host. */
void limits_start(struct limits *limits, uint16_t port);

void limits_free(struct limits *limits);

void limits_expect(struct limits *limits, const struct traffic *traffic);

/* Listening: peers are strangers until they are trusted; see transport.h. */
void limits_distrust(struct limits *limits);
void limits_trust(struct limits *limits, uint64_t peer, enum standing standing);

/* Listening: whether a message with a header of so many bytes may be said to this peer: then it is.
 */
bool limits_may_say(struct limits *limits, uint64_t peer, size_t header_bytes);

/* What a frame of so many bytes is on the wire. */
uint64_t limits_wire_bytes(const struct limits *limits, size_t bytes);

/* Listening: a message of this peer begins with part (a zmq_msg_t), and a message of so many
 * parts and bytes on the wire is all here. */
void limits_meet(struct limits *limits, uint64_t peer, void *part);
void limits_hear(struct limits *limits, uint64_t peer, uint64_t parts, uint64_t wire_bytes);

/* Listening: there is nothing more to receive now. */
void limits_drained(struct limits *limits);

/* Listening: a connection has come over this descriptor. */
void limits_greet(struct limits *limits, int fd);

/* Now and then. connections: accepted so far. */
void limits_look(struct limits *limits, uint64_t now_us, uint64_t connections);

#endif
