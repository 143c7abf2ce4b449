/* network.h - the network of a cluster in virtual time: who is told what, when.
 *
 * Hosts have a card of a rate each way, all beside one switch that never is the limit. A message is so
 * many bytes from one host to another: its first byte travels for a latency, and then its bytes flow
 * through the sender's card (up) and the receiver's (down), which it shares with all others, max-min
 * fairly (flows.h) or in turns (nic_queue.h):
 *
 *     sent      latency, jitter, timers        the others' rates decide
 *       |----------------------------------|------------------------------|
 *     sent_ns                           begun_ns                        at_ns   delivered
 *
 * Connections are what order is about: messages of one connection arrive as they were sent, a later one
 * beginning its transfer behind the one before, as in a TCP stream; its latency goes by meanwhile. (In
 * turns it sets off behind it at once, and begun_ns is when that before it is there.) A connection has one direction; each wire of each pair of processes has two. Connections know nothing
 * of each other: two between the same hosts have two shares, as streams have.
 *
 * Processes of one host do not use its card: their messages share its loopback rate, both ways
 * together, and have a latency of their own.
 *
 * Bytes are bytes on the wire: whoever sends adds what headers cost. deploy/VIRTUAL.md has the formulas, what
 * is not modelled, and how near SimGrid is.
 *
 * An event loop asks when something happens next, does what comes earlier, and advances to it:
 *
 *     network_send(network, connection, bytes, now_ns, item);
 *     while ((next_ns = network_next(network)) != NETWORK_NEVER) {
 *         network_advance(network, next_ns);
 *         while (network_take(network, &delivery))        perhaps none: a message has only begun
 *             ...                                         which may send, at next_ns
 *     }
 *
 * While more than NETWORK_MANY messages flow at the same time, transfers begin and end a little late: at whole
 * multiples of a grain of at most a NETWORK_GRAINth of what transfers took of late, and an eighth of the
 * latency; then rates are shared out once for many of them, where each would cost as much as all.
 *
 * All is decided by what was sent when, in which order, and by the seed; not by the machine: numbers are
 * whole, and random ones are drawn by common/base/random.h.
 *
 * Threads: one at a time. Ownership: items are the sender's, and are only handed on.
 * Units: bytes, nanoseconds, bytes a second. */

#ifndef DEPLOY_CLUSTER_NETWORK_H
#define DEPLOY_CLUSTER_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/compute/distribution.h"

#define NETWORK_NEVER UINT64_MAX
#define NETWORK_MANY  512
#define NETWORK_GRAIN 512

struct network;

struct network_host {
    uint64_t up_rate, down_rate; /* Of its card, 1 to 2^46. */
    uint64_t latency_ns;         /* Its own, each way, on top of everybody's. */
};

struct network_options {
    uint64_t seed;
    uint64_t latency_ns;    /* One way, between any two hosts. */
    uint64_t loopback_rate; /* Of each host, 1 to 2^46. */
    uint64_t loopback_latency_ns;
    struct distribution jitter; /* In ns, of each message between hosts; constant 0: none. */
    double loss;                /* Probability that a message is lost, each time: 0 to 0.5. */
    /* Of the switch, towards each host; 0: deep, nothing is dropped. */
    uint64_t switch_buffer_bytes;
    /* Streams of a host take turns of so many bytes, the first of each message, and what they may have
     * given their card (nic_queue.h); turn_bytes 0: all share max-min fairly. */
    uint64_t turn_bytes, turn_first_bytes, turn_ahead_ns;
};

/* A message that has arrived, and where its time went. */
struct delivery {
    uint64_t at_ns;
    uint64_t sequence; /* Among all messages, as they were sent, from 0 on. */
    void *item;
    uint64_t bytes;
    uint64_t sent_ns, begun_ns; /* begun_ns: its first byte is there, and all before it are. */
    uint64_t latency_ns;        /* With the jitter. */
    uint64_t timers_ns;         /* Waited because it was lost, or the switch had no room. */
    uint32_t connection;
    bool lost; /* It has not arrived: network_disconnect gives it back. */
};

/* NULL without memory. */
struct network *network_create(const struct network_options *options,
                               const struct network_host *hosts, uint32_t host_count);
void network_free(struct network *network);

/* A connection from host to host, perhaps the same; further_ns is added to the latency, for hosts that
 * are further apart than others. *connection counts from 0 on, but that those come first which have been
 * closed. */
enum status network_connect(struct network *network, uint32_t from, uint32_t to,
                            uint64_t further_ns, uint32_t *connection);

/* At most 2^46 bytes, perhaps none. now_ns is not before the last of any call, and not beyond
 * network_next. STATUS_MEMORY: nothing was sent. (What is sent needs no more memory to arrive.) */
enum status network_send(struct network *network, uint32_t connection, uint64_t bytes,
                         uint64_t now_ns, void *item);

/* The connection breaks: but for the first `keep` messages, which still arrive, what is under way on it is
 * to be taken, as lost, in the order in which it was sent. What is sent on it from now on comes behind
 * those. */
void network_disconnect(struct network *network, uint32_t connection, uint64_t keep,
                        uint64_t now_ns);

/* Nothing is sent on it any more. What is under way still arrives; then its room is another's, and
 * perhaps its number. */
void network_close(struct network *network, uint32_t connection);

/* When something happens next, if nothing is sent before; NETWORK_NEVER when nothing is under way. */
uint64_t network_next(struct network *network);

/* It is now_ns, not beyond network_next: what arrives now is to be taken. */
void network_advance(struct network *network, uint64_t now_ns);

/* What has arrived at one time, in the order in which it was sent; false: nothing is left. */
bool network_take(struct network *network, struct delivery *delivery);

/* What a connection's message has at the moment, in bytes a second; 0 when none of its is flowing. */
double network_rate(struct network *network, uint32_t connection);

#endif
