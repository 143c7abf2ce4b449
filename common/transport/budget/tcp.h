/* tcp.h - what the kernel knows of one TCP socket of this process, and what it is told to drop
 * before anybody reads it.
 *
 * libzmq reads whatever comes, and its sockets are not ours to read from. But any descriptor can be
 * asked how much came over it, and be given a filter, which sees every packet from its TCP header
 * on and cuts it or drops it as if the line had: the other side's TCP keeps what was not taken and
 * sends it again later. That costs nothing here, and an honest peer no more than time.
 *
 *   a limit     a place in the stream. What comes beyond is not taken, to the byte.
 *   the door    of a listening socket: how many of those who knock are let in. Whoever comes in
 *               has the filter from its first byte on, until it has a limit: only packets that are
 *               short enough are taken, and all others wait.
 *
 * libzmq may close a descriptor at any time, and its number then stands for something else: the
 * kernel's own name for a socket, its cookie, is never used again.
 *
 * Threads: any. Errors: what cannot be known or done is false. Linux. */

#ifndef COMMON_TRANSPORT_BUDGET_TCP_H
#define COMMON_TRANSPORT_BUDGET_TCP_H

#include <stdbool.h>
#include <stdint.h>

#define TCP_DOOR_OPEN UINT32_MAX

struct tcp_look {
    uint64_t cookie;
    uint64_t received; /* Bytes, in order. */
    uint64_t taken;    /* Bytes that the other side's kernel has acknowledged. */
    bool listens;
};

/* Whether it is bound to this port of this host. */
bool tcp_is_of_port(int fd, uint16_t port);

/* Of a socket that listens or is connected, and not shut down from here. */
bool tcp_look(int fd, struct tcp_look *look);

bool tcp_is(int fd, uint64_t cookie);

/* The number of the first byte of a connection's stream; told once. Only of connections that began
 * after the listening socket was told to keep it, and not of all in a flood of them. */
void tcp_keep_first(int fd);
bool tcp_first(int fd, uint32_t *sequence);

/* Nothing is taken from this sequence number on. False when the socket is not the one meant. */
bool tcp_limit(int fd, uint64_t cookie, uint32_t sequence);

/* Listening: of those who knock so many of 2^32 are let in, drawn by lot; 0: nobody, now. They
 * knock again by themselves. packet_max: bytes of payload. */
bool tcp_door(int fd, uint32_t chance, uint32_t packet_max);

/* Everything is taken; of a listening socket, from everybody. */
void tcp_free(int fd);

#endif
