/* network.h - the network of a cluster in virtual time: the delivery times of messages.
 *
 * Hosts have a card with a rate each way, all connected to one switch that never limits. A message
 * is so many bytes from one host to another. Its first byte travels for a latency. Then its bytes
 * flow through the sender's card (up) and the receiver's (down), shared with all other messages in
 * turns (nic_queue.h):
 *
 *     sent      latency, jitter, timers        the others' rates decide
 *       |----------------------------------|------------------------------|
 *     sent_ns                           begun_ns                        at_ns   delivered
 *
 * A connection keeps order, like a TCP stream: its messages arrive in the order in which they were
 * sent. A later message leaves immediately after the one before; its latency passes meanwhile, and
 * its begun_ns is the arrival of the one before. A connection has one direction; each wire of each
 * pair of processes has two. Connections are independent, like streams, also between the same hosts.
 *
 * Processes of one host do not use its card: their messages share its loopback rate equally, both
 * ways together, with the loopback's latency (loopback.h). There a later message of a connection
 * begins when the one before has arrived.
 *
 * Bytes are bytes on the wire: the sender adds the cost of headers. deploy/VIRTUAL.md has the
 * formulas and the limits of the model.
 *
 * An event loop asks for the time of the next event, does everything earlier, and advances to it:
 *
 *     network_send(network, connection, bytes, now_ns, item);
 *     while ((next_ns = network_next(network)) != NETWORK_NEVER) {
 *         network_advance(network, next_ns);
 *         while (network_take(network, &delivery))        perhaps none: a message has only begun
 *             ...                                         which may send, at next_ns
 *     }
 *
 * The result depends only on the messages, their times and order, and on the seed, not on the
 * machine: numbers are integers, and random ones are drawn by common/base/random.h.
 *
 * Threads: one at a time. Ownership: items belong to the sender, and are only passed on.
 * Units: bytes, nanoseconds, bytes a second. */

#ifndef DEPLOY_CLUSTER_NETWORK_H
#define DEPLOY_CLUSTER_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/compute/distribution.h"

#define NETWORK_NEVER      UINT64_MAX
#define NETWORK_BYTES_MOST (1ull << 46) /* Of a message. */

struct network;

struct network_host {
    uint64_t up_rate, down_rate; /* Of its card, 1 to 2^46. */
    uint64_t latency_ns;         /* Of this host, each way, added to the network's. */
};

struct network_options {
    uint64_t seed;
    uint64_t latency_ns;    /* One way, between any two hosts. */
    uint64_t loopback_rate; /* Of each host, 1 to 2^46. */
    uint64_t loopback_latency_ns;
    struct distribution jitter; /* In ns, of each message between hosts; constant 0: none. */
    double loss;                /* Probability of loss for each sending of a message: 0 to 0.5. */
    /* Of the switch, towards each host; 0: unlimited, no loss. */
    uint64_t switch_buffer_bytes;
    /* Turns of a host's streams in bytes, at least 1, of the first turn of each message, and the
     * limit of a stream at its card (nic_queue.h). */
    uint64_t turn_bytes, turn_first_bytes, turn_ahead_ns;
};

/* A message that has arrived, with the parts of its time. */
struct delivery {
    uint64_t at_ns;
    uint64_t sequence; /* Among all messages in order of sending, from 0 on. */
    void *item;
    uint64_t bytes;
    /* begun_ns: its first byte and all messages before it have arrived. */
    uint64_t sent_ns, begun_ns;
    uint64_t latency_ns; /* Including jitter. */
    uint64_t timers_ns;  /* Delay by losses, or by a full switch buffer. */
    uint32_t connection;
    bool lost; /* It has not arrived: network_disconnect returns it. */
};

/* NULL without memory. */
struct network *network_create(const struct network_options *options,
                               const struct network_host *hosts, uint32_t host_count);
void network_free(struct network *network);

/* A connection from host to host, perhaps the same; further_ns is added to the latency, for distant
 * hosts. *connection counts from 0 on; numbers of closed connections are used first. */
enum status network_connect(struct network *network, uint32_t from, uint32_t to,
                            uint64_t further_ns, uint32_t *connection);

/* Send 0 to NETWORK_BYTES_MOST bytes. now_ns is not before the last of any call, and not beyond network_next.
 * STATUS_MEMORY: the message was not sent. A sent message needs no more memory to arrive. */
enum status network_send(struct network *network, uint32_t connection, uint64_t bytes,
                         uint64_t now_ns, void *item);

/* The connection breaks. The first `keep` messages on it still arrive; the others are returned as
 * lost, in the order of sending. Later messages on it follow those. */
void network_disconnect(struct network *network, uint32_t connection, uint64_t keep,
                        uint64_t now_ns);

/* Close the connection for sending. Messages on their way still arrive; then its room and its
 * number may be reused. */
void network_close(struct network *network, uint32_t connection);

/* The time of the next event, if no message is sent before; NETWORK_NEVER when none is on its
 * way. */
uint64_t network_next(const struct network *network);

/* Advance to now_ns, not beyond network_next; then take the messages that arrive now. */
void network_advance(struct network *network, uint64_t now_ns);

/* Arrivals of one time, in the order of sending; false: there are no more. */
bool network_take(struct network *network, struct delivery *delivery);

#endif
