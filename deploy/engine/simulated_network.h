/* simulated_network.h - wires between processes in virtual time, which break, are cut off and hold
 * messages up.
 *
 *     client (a worker, or a server's way to server 0) ==wire== server
 *                  up: to the server    down: back over the same connection
 *
 * As in ZeroMQ a client's wire to a server is one connection after another. The server names a peer
 * by its connection: an answer to a former connection is lost. Messages on a connection that breaks
 * are lost, or all after some message. While a wire has no connection a worker's messages are kept
 * and sent later, but for JOIN and PING, which are repeated anyway. A server's messages are lost
 * then. worker/client/client.c and ps/server.c do the same.
 *
 * A message is really encoded when it is sent and decoded when it arrives. Its payload is
 * checksummed at both ends (unless unchecked), because a frame on its way must not be written.
 * Receivers get a copy, which they may write, as from a socket; or the sender's own frame, as over
 * the transport in memory.
 *
 * The channel (channel.h) decides the time and the order of arrivals.
 *
 * Hosts are the units of partitions: a number for each place of the job.
 *
 * Units: virtual nanoseconds. Threads: one. */

#ifndef DEPLOY_ENGINE_SIMULATED_NETWORK_H
#define DEPLOY_ENGINE_SIMULATED_NETWORK_H

#include "common/base/random.h"
#include "common/wire/message.h"
#include "deploy/engine/channel.h"
#include "deploy/engine/event_queue.h"
#include "deploy/engine/host_set.h"

#define NETWORK_NO_PROCESS UINT32_MAX

/* A message that was sent or repeated was delivered, lost, broken or partitioned, or is on its way;
 * except those whose connection broke before they were sent. */
struct network_counts {
    uint64_t sent, delivered, repeated, lost;
    uint64_t overtaking;  /* Counted by the channel, as the delays are. */
    uint64_t broken;      /* Lost with a connection, or at an end that is gone, */
    uint64_t unsent;      /* or for lack of a connection. */
    uint64_t partitioned; /* Lost between two hosts in a partition. */
    uint64_t held;        /* Delayed for the same reason, or kept for the next connection. */
    uint64_t connections, cuts;
    uint64_t delay_min_us, delay_max_us; /* Among first copies; microseconds. */
};

/* All but the delays. */
void network_counts_add(struct network_counts *to, const struct network_counts *from);

/* One way of a wire. */
struct network_way {
    uint64_t busy_until_ns; /* The channel's: the arrival of the last message sent. */
    uint64_t sent, arrived; /* Sequence numbers. */
    uint64_t survives;      /* Of the former connection: messages up to this one still arrive. */
    struct parcel *held, *held_last;
    /* Messages on their way when held ones were released stay behind those until then. */
    uint64_t behind_ns;
};

struct network_wire {
    uint32_t client, server; /* Process; index of a server. */
    uint32_t connection;     /* 0: none. */
    uint32_t broken;         /* The former one. */
    uint64_t down_until_ns;
    uint32_t stale;          /* A connection that its client has given up and its server has not, */
    uint64_t stale_until_ns; /* until then: the server's messages on it are lost. */
    struct network_way up, down;
};

/* No message passes from a host of `from` to one of `to`. */
struct network_partition {
    bool in_use;
    struct host_set from, to; /* Copies. */
    bool hold;                /* Messages arrive when it is over, instead of never. */
};

struct network_client {
    uint32_t host;
    bool keeps;
};

struct simulated_network {
    struct channel channel;
    bool share_frames; /* The receiver gets the sender's frame. */
    bool unchecked;    /* Payloads are not checked. */
    bool decodes;      /* A message is made again of its bytes. */
    struct random_sequence random;
    struct event_queue *queue;
    uint32_t servers;
    uint32_t *bound;                /* [servers] the process behind each address. */
    struct network_client *clients; /* [client_count] */
    struct network_wire *wires;     /* [client_count][servers] */
    uint32_t client_count;
    struct network_end {
        uint32_t wire, process; /* The server's. */
    } * connections;            /* [connection_count] number from 1; it names peers. */
    uint32_t connection_count, connection_capacity;
    struct network_partition *partitions; /* [partition_places]; partition_count are in use. */
    uint32_t partition_count, partition_places;
    struct network_counts counts;
};

enum status simulated_network_init(struct simulated_network *network, const struct channel *channel,
                                   bool share_frames, bool unchecked, uint64_t seed,
                                   uint32_t servers, struct event_queue *queue);
void simulated_network_free(struct simulated_network *network);

/* Another process, with the next number from 0. keeps: its messages without a connection are sent
 * when there is one. */
void simulated_network_add(struct simulated_network *network, uint32_t host, bool keeps);
/* The process behind the address of server number `server` from now on; NETWORK_NO_PROCESS for none. */
void simulated_network_bind(struct simulated_network *network, uint32_t server, uint32_t process);
/* End all of a process's connections. killed: its last messages may be lost. */
void simulated_network_end(struct simulated_network *network, uint32_t process, bool killed,
                           uint64_t now_ns, uint64_t back_ns);

/* Take over the payload. Up: from client `process` to server number `server`. Down: from server
 * `process` to the peer of a packet. */
void simulated_network_send_up(struct simulated_network *network, uint64_t now_ns, uint32_t process,
                               uint32_t server, const struct message *message,
                               struct frame *payload);
void simulated_network_send_down(struct simulated_network *network, uint64_t now_ns,
                                 uint32_t process, uint64_t peer, const struct message *message,
                                 struct frame *payload);

/* A client connects again wherever it can, and sends its kept messages. */
void simulated_network_connect(struct simulated_network *network, uint64_t now_ns,
                               uint32_t process);

/* Break the connections between two sets of hosts. They come back after back_ns; servers notice the
 * break after stale_ns. */
void simulated_network_cut(struct simulated_network *network, uint64_t now_ns,
                           const struct host_set *hosts, const struct host_set *others,
                           uint64_t back_ns, uint64_t stale_ns);
/* Returns a number for simulated_network_heal. */
uint32_t simulated_network_part(struct simulated_network *network, const struct host_set *from,
                                const struct host_set *to, bool hold);
void simulated_network_heal(struct simulated_network *network, uint64_t now_ns, uint32_t partition);

/* The receiver of a DUE_WIRE's parcel; NETWORK_NO_PROCESS when it was lost or is held up (then
 * event->parcel is NULL). peer: the receiver's name for the sender. */
uint32_t simulated_network_arrive(struct simulated_network *network, struct due *event,
                                  uint64_t *peer);

/* Decode an arrived parcel; the caller sets the packet's peer. STATUS_INVALID when it was
 * corrupted. */
enum status simulated_network_open(struct simulated_network *network, struct parcel *parcel,
                                   struct packet *packet, struct error *error);

/* The client at the other end of a server's peer. */
uint32_t simulated_network_client(const struct simulated_network *network, uint64_t peer);

/* --- for its channel -------------------------------------------------------------------------- */

/* The way of a parcel; it arrives at this time; it is lost. */
struct network_way *simulated_network_way(struct simulated_network *network,
                                          const struct parcel *parcel);
void simulated_network_lands(struct simulated_network *network, struct parcel *parcel,
                             uint64_t at_ns);
void simulated_network_loses(struct simulated_network *network, struct parcel *parcel);

/* A copy, which the channel owns as well. */
struct parcel *simulated_network_repeat(struct simulated_network *network,
                                        const struct parcel *parcel);

/* A checksum that any change of a few bytes changes. */
uint64_t simulated_checksum(const void *data, size_t bytes);

#endif
