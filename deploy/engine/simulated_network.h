/* simulated_network.h - wires between processes in virtual time, which break, are cut off and hold.
 *
 *     client (a worker, or a server's way to server 0) ==wire== server
 *                  up: to the server    down: back over the same connection
 *
 * As ZeroMQ does it: a client's wire to a server is one connection after another, and the server
 * names a peer by its connection, so an answer to one that is gone gets lost. What was in flight on
 * a connection that breaks is lost, or all behind some message. While a wire has no connection,
 * what a worker says is kept and sent later (but for JOIN and PING, which are repeated anyway), and
 * what a server says is lost, as worker/client/client.c and ps/server.c have it.
 *
 * A message is really encoded when it is sent and decoded when it arrives. Its payload is summed up
 * at either end (unless unchecked), because nobody may write a frame that is in flight. Receivers get a copy, which
 * they may write, as from a socket; or, as over the transport in memory, the sender's own frame.
 *
 * When a message arrives, and in which order, is the carrier's (channel.h).
 *
 * Hosts are what is cut off from one another: a number for each place of the job.
 *
 * Units: virtual nanoseconds. Threads: one. */

#ifndef DEPLOY_ENGINE_SIMULATED_NETWORK_H
#define DEPLOY_ENGINE_SIMULATED_NETWORK_H

#include "common/base/random.h"
#include "common/wire/message.h"
#include "deploy/engine/channel.h"
#include "deploy/engine/event_queue.h"
#include "deploy/engine/host_set.h"

#define NETWORK_NOBODY UINT32_MAX

/* What was sent or repeated has been delivered, lost, broken or partitioned, or is still under way; but
 * for what was broken before it was sent. */
struct network_counts {
    uint64_t sent, delivered, repeated, lost;
    uint64_t overtaking;  /* The carrier's, as the delays are. */
    uint64_t broken;      /* Lost with a connection, at an end that is gone, ... */
    uint64_t unsent;      /* ... or for want of a connection. */
    uint64_t partitioned; /* Lost between two hosts that are cut off. */
    uint64_t held;        /* Late for the same reason, or kept for the next connection. */
    uint64_t connections, cuts;
    uint64_t delay_min_us, delay_max_us; /* Among first copies; microseconds. */
};

/* But for the delays. */
void network_counts_add(struct network_counts *to, const struct network_counts *from);

/* One way of a wire. */
struct network_way {
    uint64_t busy_until_ns; /* The carrier's: when the last message sent will arrive. */
    uint64_t sent, arrived; /* Sequence numbers. */
    uint64_t survives;      /* Of the connection before: what still arrives, up to this. */
    struct parcel *held, *held_last;
    uint64_t behind_ns; /* What was in flight when held ones were released keeps behind them. */
};

struct network_wire {
    uint32_t client, server; /* Process; index of a server. */
    uint32_t connection;     /* 0: none. */
    uint32_t broken;         /* The one before. */
    uint64_t down_until_ns;
    uint32_t stale; /* A connection that its client has given up and its server has not ... */
    uint64_t stale_until_ns; /* ... until now: what is said on it goes nowhere. */
    struct network_way up, down;
};

/* Nothing gets from one of `from` to one of `to`. */
struct network_partition {
    bool in_use;
    struct host_set from, to; /* Its own. */
    bool hold;                /* It arrives when it is over, instead of never. */
};

struct network_client {
    uint32_t host;
    bool keeps;
};

struct simulated_network {
    struct channel channel;
    bool share_frames; /* The receiver gets the sender's frame. */
    bool unchecked;    /* Nobody looks whether payloads stay as they were sent. */
    struct random_sequence random;
    struct event_queue *queue;
    uint32_t servers;
    uint32_t *bound;                /* [servers] the process behind each address. */
    struct network_client *clients; /* [client_count] */
    struct network_wire *wires;     /* [client_count][servers] */
    uint32_t client_count;
    struct network_end {
        uint32_t wire, process; /* The server's. */
    } * connections;            /* [connection_count] number from 1; peers are called by it. */
    uint32_t connection_count, connection_capacity;
    struct network_partition *partitions; /* [partition_places] of which partition_count in use. */
    uint32_t partition_count, partition_places;
    struct network_counts counts;
};

enum status simulated_network_init(struct simulated_network *network, const struct channel *channel,
                                   bool share_frames, bool unchecked, uint64_t seed,
                                   uint32_t servers, struct event_queue *queue);
void simulated_network_free(struct simulated_network *network);

/* Another process, with the next number from 0. keeps: what it says without a connection is said
 * when there is one. */
void simulated_network_add(struct simulated_network *network, uint32_t host, bool keeps);
/* That process is behind the address of server number `server` from now on; NETWORK_NOBODY. */
void simulated_network_bind(struct simulated_network *network, uint32_t server, uint32_t process);
/* All of a process's connections end. killed: what it said last may be lost. */
void simulated_network_end(struct simulated_network *network, uint32_t process, bool killed,
                           uint64_t now_ns, uint64_t back_ns);

/* Take over the payload. Up: from client `process` to server number `server`. Down: from
 * server `process` to the peer of a packet. */
void simulated_network_send_up(struct simulated_network *network, uint64_t now_ns, uint32_t process,
                               uint32_t server, const struct message *message,
                               struct frame *payload);
void simulated_network_send_down(struct simulated_network *network, uint64_t now_ns,
                                 uint32_t process, uint64_t peer, const struct message *message,
                                 struct frame *payload);

/* A client connects again wherever it can, and says what it has kept. */
void simulated_network_connect(struct simulated_network *network, uint64_t now_ns,
                               uint32_t process);

/* Break the connections between two sets of hosts. They come back after back_ns; servers take theirs for
 * whole for stale_ns. */
void simulated_network_cut(struct simulated_network *network, uint64_t now_ns,
                           const struct host_set *hosts, const struct host_set *others,
                           uint64_t back_ns, uint64_t stale_ns);
/* A number for simulated_network_heal. */
uint32_t simulated_network_part(struct simulated_network *network, const struct host_set *from,
                                const struct host_set *to, bool hold);
void simulated_network_heal(struct simulated_network *network, uint64_t now_ns, uint32_t partition);

/* Where the parcel of an DUE_WIRE gets to; NETWORK_NOBODY when it got lost or is held up (then
 * event->parcel is NULL). peer: what the receiver calls the sender. */
uint32_t simulated_network_arrive(struct simulated_network *network, struct due *event,
                                  uint64_t *peer);

/* Take what has arrived out of its parcel; the packet's peer stays to be filled in.
 * STATUS_INVALID when it is not what was sent. */
enum status simulated_network_open(struct simulated_network *network, struct parcel *parcel,
                                   struct packet *packet, struct error *error);

/* The client at the other end of a server's peer. */
uint32_t simulated_network_client(const struct simulated_network *network, uint64_t peer);

/* --- for its carrier ------------------------------------------------------------------------- */

/* The way that a parcel goes; it arrives at this time; it never does. */
struct network_way *simulated_network_way(struct simulated_network *network,
                                          const struct parcel *parcel);
void simulated_network_lands(struct simulated_network *network, struct parcel *parcel,
                             uint64_t at_ns);
void simulated_network_loses(struct simulated_network *network, struct parcel *parcel);

/* The same once more, the carrier's as well. */
struct parcel *simulated_network_repeat(struct simulated_network *network,
                                        const struct parcel *parcel);

/* A checksum of bytes that any change of a few of them changes. */
uint64_t simulated_checksum(const void *data, size_t bytes);

#endif
