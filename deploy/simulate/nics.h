/* nics.h - the carrier of a cluster that is described (deploy/cluster): every connection of a job is one
 * between two of its hosts, and all of them share the hosts' cards (deploy/cluster/network.h).
 *
 *     struct nics *cards = nics_create(&cluster, &layout, seed);
 *     options.carrier = nics_channel(cards);
 *     engine_init(&engine, &options, &error);
 *     engine_run(&engine);
 *     nics_free(cards);
 *     engine_free(&engine);
 *
 * A wire of the engine is a TCP connection: two streams, up and down, between the host of its client and
 * that of its server. Whoever comes to a place after somebody else has the same host, with its card. A
 * message is what a real run sends for it: its header and its payload as ZeroMQ's frames, in segments
 * (nics_wire_bytes). It lands when its last byte is there; those of a stream land as they were sent.
 *
 * When a connection breaks, of what is under way on it still arrives
 *
 *     of a process that has left         all that it has said: its kernel goes on sending;
 *     of one that was killed             the first of it, as many as its kernel had, which is drawn;
 *     to a process that is gone, or      nothing: what comes is answered with a reset, and what has
 *     between two that are cut off       come in is not read;
 *
 * and what does not arrive leaves the cards at once. The next connection is a stream of its own: what
 * survives of the one before does not hold it up.
 *
 * What was held up by a partition is sent again when that is over, and then all behind it that is under
 * way, as by a sender that has heard nothing: so order is kept here as well.
 *
 * Not there: what it takes to connect (about three round trips, once), acknowledgements and timers after
 * a partition; what deploy/VIRTUAL.md says of the network itself.
 *
 * Places are those of the layout, which has to have all that the engine will have; guests have none.
 * Memory: in proportion to what is under way, to the streams that are open, and a word for each way of
 * each wire of the engine; without more of it the process ends, as the engine's does.
 *
 * Threads: the engine's. Ownership: what is under way is the cards', and freed with them, which is to be
 * before the engine is. Units: virtual nanoseconds, bytes. */

#ifndef DEPLOY_SIMULATE_NICS_H
#define DEPLOY_SIMULATE_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "deploy/cluster/cluster.h"
#include "deploy/cluster/layout.h"
#include "deploy/cluster/network.h"
#include "deploy/engine/channel.h"

/* What libzmq writes to a socket of a message before the rest of it, and how long a kernel's card is busy
 * with what a socket may have given it (sk_pacing_shift). */
#define NICS_FIRST_BYTES 8192
#define NICS_AHEAD_NS    976563

struct nics;

/* Parcels. Those carried have arrived, were broken, or are under way. */
struct nics_counts {
    uint64_t carried;   /* Taken over from the engine. */
    uint64_t arrived;   /* At the other end; what becomes of them there is the engine's. */
    uint64_t broken;    /* Given back: their connection was no more. */
    uint64_t resent;    /* Once more, behind something that had been held up. */
    uint64_t bytes;     /* On the wire, of those that have arrived. */
    uint64_t waited;    /* Of those: they were lost, or the switch had no room, ... */
    uint64_t timers_ns; /* ... and so long they waited for timers in all. */
};

/* What has arrived through a host's card, each way, and within the host, in bytes on the wire. */
struct nics_use {
    uint64_t up_bytes, down_bytes, loopback_bytes;
};

/* Who is told of each that arrives where its time went; the parcel is still the cards'. */
struct nics_watcher {
    void *context;
    void (*arrived)(void *context, const struct parcel *parcel, const struct delivery *delivery);
};

/* The layout is of this cluster. seed: of jitter and losses. NULL without memory. */
struct nics *nics_create(const struct cluster *cluster, const struct layout *layout, uint64_t seed);
void nics_free(struct nics *nics);

struct channel nics_channel(struct nics *nics);
void nics_watch(struct nics *nics, const struct nics_watcher *watcher);

const struct nics_counts *nics_counts(const struct nics *nics);

const struct nics_use *nics_use(const struct nics *nics, uint32_t host);
/* What has arrived so far does not count there. */
void nics_forget_use(struct nics *nics);

/* Counted one by one; and how many streams there were at the most at a time. */
uint64_t nics_under_way(const struct nics *nics);
uint64_t nics_streams_most(const struct nics *nics);

/* What a message is on the wire: without a payload 0 bytes of it. local: between processes of one
 * host, where segments are long and headers nothing. */
uint64_t nics_wire_bytes(const struct cluster_segment *segment, uint64_t header_bytes,
                         uint64_t payload_bytes, bool local);

#endif
