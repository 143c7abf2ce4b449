/* transport_zmq_limits.h - what one peer of a ZeroMQ socket can make this process hold.
 *
 *     the other side's memory | TCP | receive queue of this peer | whoever calls receive
 *
 * A listening socket takes at most so many whole messages of a peer that nobody has received yet;
 * then it reads no further from that one connection, TCP fills up, and the other side has to wait.
 * Queues are per peer and are emptied in turn, so this harms nobody else. What is not a whole
 * message yet is bounded by inflow.h. Of what is said to a peer at most so many messages wait for
 * it; more is refused with STATUS_AGAIN, which a listening endpoint's user takes for lost.
 *
 * High-water marks count messages, so they follow from the sizes that traffic names, when the job
 * is known. libzmq takes those of a new connection from the time of the bind, so they are set again
 * once the connection has been heard. The receiving mark is only ever lowered: a connection that
 * waits at its mark might never notice that it was raised (pipe_t of libzmq 4.3.4).
 *
 * A connecting socket has one peer, whom this process chose. It has a mark for receiving, for a
 * process that is busy; what it sends is its own affair: workers keep to a window, servers answer.
 *
 * Threads: those of the endpoint. */

#ifndef COMMON_TRANSPORT_ZMQ_LIMITS_H
#define COMMON_TRANSPORT_ZMQ_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/inflow.h"
#include "common/transport.h"

struct limits {
    bool listening;
    int receive_hwm, send_hwm; /* Messages; send_hwm 0: any number. */
    uint64_t newest;           /* Peer. */
    bool stale;                /* Somebody came since they were set. */
    uint64_t applied_us, looked_us;
    struct inflow inflow;
};

/* Before the socket is bound or connected. */
enum status limits_set(struct limits *limits, void *socket, bool listening);

/* Once it is bound, to a TCP port of this host. */
void limits_start(struct limits *limits, uint16_t port);

void limits_free(struct limits *limits);

void limits_expect(struct limits *limits, void *socket, const struct traffic *traffic);

/* A part of a message of this peer was received; part: the zmq_msg_t. Listening sockets only. */
void limits_heard(struct limits *limits, uint64_t peer, void *part);

/* Now and then. */
void limits_look(struct limits *limits, void *socket, uint64_t now_us);

#endif
