/* budget.h - how much the peers of a listening socket can make this process hold: the receive
 * budget, and the one door of this room.
 *
 *     budget.h     the door: what is bounded, and by how much
 *     inflow.h     what every connection has sent and nobody has heard yet, and its limit
 *     gate.h       what strangers may say, are told, and how many of them are let in
 *     tcp.h        how the kernel is asked and told
 *
 * Why it is there. Without keys whoever reaches the port gets through the handshake, and libzmq
 * reads all that comes and keeps it until it is received. Its own options bound none of this:
 *
 *     ZMQ_MAXMSGSIZE    one frame (it is set); a message has any number of frames
 *     ZMQ_RCVHWM        whole messages, of any size, and not the one that is coming in; and libzmq
 *                       4.3.4 fails an assertion of its own when a connection ends that a mark had
 *                       stopped (inflow.h), so that it has to be off
 *     ZMQ_RCVBUF        what lies in the kernel, which libzmq empties at once
 *     ZMQ_BACKLOG       who has not been accepted yet
 *     ZMQ_HANDSHAKE_IVL a handshake that is not completed
 *
 * And it hands no connection out, to be left unread or closed. A proxy before it would need the
 * same books and copy every gradient once more. So the kernel cuts the line for us, connection by
 * connection. Keys turn strangers away without any of this; members are bounded either way.
 *
 * What it costs: 1,400 lines here, 1,600 of unit tests (test_inflow, test_gate, test_tcp,
 * test_limits), and Linux. It can be left out: an endpoint without a budget has NULL in its place,
 * as every connecting one has, and then nothing is bounded. Whether there is one is decided where
 * transport_zmq.c opens it, and nowhere else; nobody outside this room includes more than this
 * file.
 *
 * What is said to a member is not bounded here: libzmq's mark for sending counts the messages that
 * wait for it, and how many bytes they refer to is its user's to bound. A connecting socket has one
 * peer, whom this process chose: what comes was asked for.
 *
 * Threads: those of the endpoint. Units: bytes on the wire. NULL: everything is allowed. */

#ifndef COMMON_TRANSPORT_BUDGET_BUDGET_H
#define COMMON_TRANSPORT_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/transport/transport.h"

struct budget;

/* Of a socket that listens already, at a TCP port of this host. handshake_bytes: of a connection,
 * that nobody hears. NULL when there is no memory. */
struct budget *budget_open(uint16_t port, uint64_t handshake_bytes);
/* Sets the pointer to NULL. */
void budget_close(struct budget **budget);

/* What members have under way; strangers and members; see transport.h. */
void budget_expect(struct budget *budget, const struct traffic *traffic);
void budget_distrust(struct budget *budget);
void budget_trust(struct budget *budget, uint64_t peer, enum standing standing);

/* Whether so much may be said to this peer: then it is. */
bool budget_may_say(struct budget *budget, uint64_t peer, uint64_t bytes);

/* A connection has come over this descriptor. */
void budget_greet(struct budget *budget, int fd);

/* False when it is not known over which descriptor a peer that is heard came: then say so first
 * (-1: unknown). Peers are numbered upwards, modulo 2^32. */
bool budget_knows(const struct budget *budget, uint64_t peer);
void budget_meet(struct budget *budget, uint64_t peer, int fd);

/* A message of so many frames and bytes is all here; there is nothing more to receive now. */
void budget_hear(struct budget *budget, uint64_t peer, uint64_t parts, uint64_t bytes);
void budget_drained(struct budget *budget);

/* Now and then. connections: accepted so far. */
void budget_look(struct budget *budget, uint64_t now_us, uint64_t connections);

#endif
