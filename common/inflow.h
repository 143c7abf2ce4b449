/* inflow.h - which connections to a listening port have sent much and said nothing.
 *
 * libzmq hands on whole messages only. What has come of a message that is not whole yet it keeps,
 * however much that is: a message may have any number of parts, and a high-water mark counts none
 * of them before the last (rule Z2 of the ZeroMQ notes). A frame takes its declared size as its
 * bytes come in (Z11). So any peer that gets through the handshake, and without keys that is any
 * peer, could fill this process's memory without a word that anybody here would hear.
 *
 * The kernel counts what every connection has received. Once a second this module looks at all
 * connections to the port and shuts down
 *
 *     one that has sent more than each_max bytes since a message of it was last heard,
 *     of all of them the largest, while together they have sent more than all_max like that,
 *     the latest of those never heard, while there are more than connections_max.
 *
 * libzmq then takes it for a connection that the other side has closed, and frees all it kept. An
 * honest peer connects again; its messages are repeated as after any loss. Between two looks a peer
 * may send as much as the network carries in a second.
 *
 * Where the kernel or libzmq does not tell enough to be sure, nothing is shut down.
 *
 * Threads: one. Units: bytes. Linux. */

#ifndef COMMON_INFLOW_H
#define COMMON_INFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFLOW_INTERVAL_US 1000000u

/* One descriptor of this process. */
struct inflow_connection {
    uint64_t cookie;   /* The kernel's name for the socket, never used again; 0: not ours. */
    uint64_t peer;     /* Who speaks over it; meaningful once it is known. */
    uint64_t received; /* At the last look. */
    uint64_t mark;     /* Received when a message was last known to be heard. */
    bool known;        /* A message has been heard. */
    bool heard;        /* Since the last look. */
};

struct inflow_peer {
    uint64_t peer;
    int fd; /* -1: free. */
};

struct inflow {
    uint16_t port; /* Local. */
    uint64_t each_max, all_max;
    uint32_t connections_max;
    bool blind;                            /* Too little is known to shut anything down. */
    struct inflow_connection *connections; /* [capacity] by descriptor. */
    int capacity, highest;                 /* highest: of those that are ours. */
    struct inflow_peer *peers;             /* [peer_slots] a hash table; a power of two. */
    uint32_t peer_slots, peer_count;
    uint64_t cut; /* Connections shut down so far. */
};

/* port 0: not known, and nothing is ever shut down. */
void inflow_init(struct inflow *inflow, uint16_t port, uint64_t each_max, uint64_t all_max);
void inflow_free(struct inflow *inflow);

/* A message of a peer was heard. False when nothing is known of the peer: then say over which
 * descriptor it came (-1: unknown, which makes this blind). */
bool inflow_heard(struct inflow *inflow, uint64_t peer);
void inflow_meet(struct inflow *inflow, uint64_t peer, int fd);

/* Look at all connections, once every INFLOW_INTERVAL_US. Returns how many were shut down. */
unsigned inflow_look(struct inflow *inflow);

#endif
