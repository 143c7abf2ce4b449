/* nics.h - the channel of a simulated cluster (deploy/cluster): every connection of a job is
 * between two of its hosts, and all connections share the hosts' cards (deploy/cluster/network.h).
 *
 *     struct nics *nics = nics_create(&cluster, &layout, seed);
 *     options.channel = nics_channel(nics);
 *     engine_init(&engine, &options, &error);
 *     engine_run(&engine);
 *     nics_free(nics);
 *     engine_free(&engine);
 *
 * A wire of the engine is a TCP connection: two streams, up and down, between the host of its
 * client and that of its server. A replacement of a process has the same host, with its card. A
 * message has the size of a real one: its header and its payload as ZeroMQ's frames, in segments
 * with headers, but between processes of one host. It is delivered when its last byte has arrived;
 * those of a stream are delivered in the order of sending.
 *
 * When a connection breaks, these of its messages still arrive:
 *
 *     from a process that has left       all: its kernel continues to send;
 *     from a process that was killed     the first of them, as many as its kernel had, which is
 *     drawn;
 *     to a process that is gone, or      none: the answer is a reset, and received bytes are not
 *     between two that are cut off       read;
 *
 * The others leave the cards at once. The next connection is a stream of its own, which remaining
 * messages of the old one do not delay.
 *
 * Messages that a partition delayed are sent again when it is over, followed by all later ones on
 * their way, as by a sender without acknowledgements: order is kept here as well.
 *
 * Not modelled: the time to connect (about three round trips, once), acknowledgements, timers after
 * a partition, and the limits of the network in deploy/VIRTUAL.md.
 *
 * Places are those of the layout, which has to have all of the engine's; scripted clients have
 * none.
 * Memory: in proportion to messages on their way and open streams, and a word for each direction of
 *         each wire of the engine. Without memory the process ends, like the engine's.
 *
 * Threads: the engine's. Ownership: nics own the messages on their way and free them, before the
 *          engine is freed. Units: virtual nanoseconds, bytes. */

#ifndef DEPLOY_SIMULATE_NICS_H
#define DEPLOY_SIMULATE_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "deploy/cluster/cluster.h"
#include "deploy/cluster/layout.h"
#include "deploy/cluster/network.h"
#include "deploy/engine/channel.h"

/* Bytes of a stream that a kernel gives a card at once (45 segments of 1448); bytes of a message
 * that libzmq writes to a socket before the rest; and the time that a kernel's card needs for a
 * socket's queued bytes (sk_pacing_shift). */
#define NICS_TURN_BYTES  65160
#define NICS_FIRST_BYTES 8192
#define NICS_AHEAD_NS    976563

struct nics;

/* Parcels. Those carried have arrived, were broken, or are on their way. */
struct nics_counts {
    uint64_t carried;   /* Received from the engine. */
    uint64_t arrived;   /* Delivered to the engine at the other end. */
    uint64_t broken;    /* Returned: their connection was closed. */
    uint64_t resent;    /* Sent again, after a delayed one. */
    uint64_t bytes;     /* On the wire, of arrived ones. */
    uint64_t waited;    /* Arrived ones that were lost before, or that the full switch dropped, */
    uint64_t timers_ns; /* and the sum of their timers. */
};

/* Bytes on the wire that have arrived through a host's card, each way, and within the host. */
struct nics_use {
    uint64_t up_bytes, down_bytes, loopback_bytes;
};

/* Called for each arrived parcel with the parts of its time; nics still owns the parcel. */
struct nics_watcher {
    void *context;
    void (*arrived)(void *context, const struct parcel *parcel, const struct delivery *delivery);
};

/* The layout is of this cluster. seed: for jitter and losses. NULL without memory. */
struct nics *nics_create(const struct cluster *cluster, const struct layout *layout, uint64_t seed);
void nics_free(struct nics *nics);

struct channel nics_channel(struct nics *nics);
void nics_watch(struct nics *nics, const struct nics_watcher *watcher);

const struct nics_counts *nics_counts(const struct nics *nics);

const struct nics_use *nics_use(const struct nics *nics, uint32_t host);
void nics_forget_use(struct nics *nics);

/* Counted one by one; and the maximum number of simultaneous streams. */
uint64_t nics_under_way(const struct nics *nics);
uint64_t nics_streams_most(const struct nics *nics);

#endif
