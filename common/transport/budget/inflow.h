/* inflow.h - what has come over each connection to a listening port and was not heard yet, and what
 * strangers were told and have not taken.
 *
 *     the other side | TCP | kernel | libzmq's queue: whole messages, and parts of one | heard
 *                              '------------- what is counted here ------------------'
 *
 * libzmq reads all that comes, and keeps it until somebody receives it. A message may have any
 * number of parts, and nobody is told of them before the last (Z2, proto/CONTRACT.md section 8);
 * a frame takes the size it declares as its bytes come in (Z11). So any peer that gets through the
 * handshake, and without keys that is any peer, could fill this process's memory. A high-water mark
 * for receiving is no help: libzmq 4.3.4 counts whole messages with it, and has assertions that
 * fail when a connection ends that it has stopped reading (in_event_internal, then out_event, of
 * stream_engine_base.cpp; issues 3937, 4364 and 4767): any peer could end this process.
 *
 * The kernel counts what every connection has received, and messages that are heard are counted
 * here; the difference is what waits. So every connection gets a limit, a place in its stream
 * (tcp.h): what comes beyond is not taken, as when a line is cut, and the other side's TCP sends it
 * again until the limit has moved on. It moves with what is heard, from each_max ahead of it to
 * half as much again; an honest peer never has so much under way. Nobody can send past it, however
 * busy this process is.
 *
 * A frame takes some memory beside its bytes, so that a queue of empty ones takes many times what
 * came over the wire: how long frames are is judged by those heard last, and ever worse of a
 * connection that sends on and completes no message; limits are the lower for it.
 *
 * Whoever is no member of the job is a stranger (from inflow_distrust on, until inflow_trust), and
 * has a much lower limit, which moves only while the stranger has credit for what was heard of it:
 * gate.h has the terms. So most of what strangers pour never reaches this process, and costs it
 * nothing. What is said to them is counted too, against what their kernels have acknowledged: one
 * that takes nothing is told no more.
 *
 * A connection gets its first limit when it comes, or is first seen; until then only short packets
 * of a stranger are taken, and none while there are many: its kernel says all again, a fifth of a
 * second later. Twenty times a second this module looks at all connections to the port (at many
 * strangers in turn: they have limits, and can do nothing meanwhile) and
 *
 *     moves no limit of members that hold more than their share, while all hold more than all_max,
 *     ends one that is at its limit and not heard for ten seconds, or a stranger for one while
 *         there are few: it completes nothing,
 *     ends strangers while there are more than places for them: first those without credit, then
 *         those that have been silent for longest,
 *     lets nobody in while more than gone_max is left of connections that have ended, and not all
 *         who knock when too many do.
 *
 * To end is to shut the connection down: libzmq takes it for one that the other side has closed,
 * and frees what is not whole. An honest peer that is cut off connects again and repeats itself.
 * Where the kernel does not tell a connection's first sequence number (it began before this module,
 * or in a flood of them), it has no limit, and is ended when it holds half as much again as it may.
 *
 * Handshakes are not heard, nor ZMTP heartbeats of peers that have them: a connection may have a
 * little more unheard the longer it lives. Where the kernel or libzmq does not tell enough to be sure,
 * nothing is done.
 *
 * Threads: one. Units: bytes on the wire. Linux. */

#ifndef COMMON_TRANSPORT_BUDGET_INFLOW_H
#define COMMON_TRANSPORT_BUDGET_INFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/transport/budget/gate.h"

#define INFLOW_INTERVAL_US   50000u /* Between looks. */
#define INFLOW_LISTENERS_MAX 16     /* Sockets that listen at the port. */
#define INFLOW_TURNS         10     /* Looks until all of many strangers have been looked at. */

/* One descriptor of this process. */
struct inflow_connection {
    uint64_t cookie;   /* The kernel's name for the socket, never used again; 0: not ours. */
    uint64_t peer;     /* Who speaks over it, if that is known. */
    uint64_t received; /* At the last look. */
    uint64_t heard;
    uint64_t limit;                  /* Of what is received; 0: none. */
    uint64_t age_us;                 /* Since it was first looked at. */
    uint64_t stuck_us;               /* At its limit and not heard for so long. */
    uint64_t silent_us;              /* Not heard, whatever its limit. */
    uint64_t heard_then, parts_then; /* heard at the last look, and frames heard since. */
    uint64_t frame;                  /* How long its frames are taken to be. */
    uint32_t first;                  /* The sequence number of its first byte, */
    bool limitable;                  /* if that is known. */
    bool known;                      /* A message has been heard. */
    bool member;                     /* Else a stranger: */
    bool stuck;                      /* At its limit. */
    bool frozen;                     /* Its limit does not move for now. */
    int64_t credit;                  /* Strangers, see gate.h. */
    uint64_t said;                   /* To a stranger ... */
    uint64_t taken, unsaid;          /* ... what it has taken, and of that what is not in said. */
};

struct inflow_peer {
    uint64_t peer;
    int fd; /* -1: free. */
};

struct inflow {
    uint16_t port; /* Local. */
    uint64_t each_max, all_max, gone_max;
    uint64_t payload_max;     /* A message that is under way may take so long to come. */
    uint64_t handshake_bytes; /* That nobody hears. */
    uint32_t connections_max;
    uint32_t expected;                     /* Members: whoever is not there yet has a place. */
    bool apart;                            /* Strangers are told from members. */
    bool blind;                            /* Too little is known to shut anything down. */
    struct inflow_connection *connections; /* [capacity] by descriptor. */
    int capacity, highest;                 /* highest: of those that are ours. */
    struct inflow_peer *peers;             /* [peer_slots] a hash table; a power of two. */
    uint32_t peer_slots, peer_count;
    struct gate gate;
    uint64_t declarer; /* The stranger that was asked for more; 0: none. */
    uint64_t came;     /* Connections, since the last look. */
    uint32_t chance;   /* Of whoever knocks, as the kernel was told ... */
    uint32_t packet;   /* ... and how long a packet it takes before there is a limit. */
    uint64_t clock_us; /* Time that has passed, and ... */
    uint64_t turned_us[INFLOW_TURNS]; /* ... as of the last look at so many-th descriptors. */
    uint32_t turn;
    int listeners[INFLOW_LISTENERS_MAX];
    uint32_t listener_count;
    uint64_t gone;             /* Of connections that have ended, not heard yet, about. */
    uint64_t quiet_us;         /* Since anything was heard of them. */
    bool closed;               /* Nobody is let in. */
    uint64_t held_back, ended; /* Connections so far. */
};

/* The socket must listen already. port 0: not known, and nothing is ever done. The bounds may be
 * changed at any time. */
void inflow_init(struct inflow *inflow, uint16_t port, uint64_t each_max, uint64_t all_max);
void inflow_free(struct inflow *inflow);

/* From now on whoever is there, or comes, is a stranger until it is trusted. */
void inflow_distrust(struct inflow *inflow);
void inflow_trust(struct inflow *inflow, uint64_t peer);

/* This stranger was asked for more than they say by themselves, and the one before is done. */
void inflow_ask(struct inflow *inflow, uint64_t peer);

/* False when nothing is known of a peer that is heard: then say, before anything else of it, over
 * which descriptor it came (-1: unknown, which makes this blind). Peers are numbered as libzmq does
 * it: upwards, modulo 2^32. */
bool inflow_knows(const struct inflow *inflow, uint64_t peer);
void inflow_meet(struct inflow *inflow, uint64_t peer, int fd);

/* A message of so many frames and bytes. */
void inflow_hear(struct inflow *inflow, uint64_t peer, uint64_t parts, uint64_t bytes);

/* Whether so many bytes may be said to this peer: then they are. */
bool inflow_may_say(struct inflow *inflow, uint64_t peer, uint64_t bytes);

/* Everything that was whole has been heard. */
void inflow_drained(struct inflow *inflow);

/* So many connections have come. */
void inflow_came(struct inflow *inflow, uint64_t count);

/* One of them over this descriptor, at this moment: a stranger gets its limit before it has said
 * much. */
void inflow_greet(struct inflow *inflow, int fd);

/* Look at all connections, once every INFLOW_INTERVAL_US. */
void inflow_look(struct inflow *inflow, uint64_t elapsed_us);

#endif
