/* siege.h - a process of many strangers who are at a server's door all at once, each as fast as it
 * can: they ask and do not listen, say half of what they began, announce what never comes, or come
 * and go. Whoever is cut off comes again.
 *
 *     struct siege siege = {.address = address, .kind = SIEGE_ASK, .count = 800};
 *     siege_start(&siege);
 *     ... they are there and pour from now on
 *     siege_end(&siege);
 *
 * One thread with non-blocking sockets, at the lowest priority: what they do costs the machine
 * little, and what it costs a server is seen.
 *
 * Threads: the functions from one, before it has others (it forks). Errors: end the program. */

#ifndef TESTS_LIB_SIEGE_H
#define TESTS_LIB_SIEGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum siege_kind {
    SIEGE_ASK,       /* STATUS, and never reads an answer. */
    SIEGE_ASK_READ,  /* STATUS, and reads them all. */
    SIEGE_ASK_SLOW,  /* STATUS, and reads a few bytes a second. */
    SIEGE_JOIN,      /* JOINs as workers with another declaration: each is asked for it. */
    SIEGE_JOIN_PS,   /* JOINs as servers that there are not: each is refused. */
    SIEGE_SERVER,    /* Messages that only servers send. */
    SIEGE_PRETEND,   /* Exchanges and signs of life, as if they were members. */
    SIEGE_PAYLOAD,   /* Exchanges with large payloads. */
    SIEGE_MALFORMED, /* Headers that do not decode. */
    SIEGE_PARTS,     /* Messages of empty parts without an end. */
    SIEGE_CRUMBS,    /* The same in many short packets, as fast as they can from the first on. */
    SIEGE_HUGE,      /* A frame of 256 MiB, as much of it as is taken. */
    SIEGE_HALF,      /* Half a message, and nothing more. */
    SIEGE_PINGS,     /* ZMTP's own PING, and never reads a PONG. */
    SIEGE_DRIP,      /* A handshake, a byte a second. */
    SIEGE_SILENT,    /* A connection, and nothing more. */
    SIEGE_BRIEF,     /* Connects, asks once, and goes without the answer; and again, at once. */
    SIEGE_KNOCK,     /* Connects and goes; and again, at once. */
    SIEGE_KINDS
};

struct siege_shared {
    atomic_uint open; /* Connections now, and handshakes that are through. */
    atomic_uint_fast64_t connections, bytes;
};

struct siege {
    const char *address; /* "127.0.0.1:port" */
    enum siege_kind kind;
    uint32_t count;
    struct siege_shared *shared;
    pid_t process;
};

const char *siege_name(enum siege_kind kind);

/* How many there may be at most, for the files that a process may have here. */
uint32_t siege_most(void);

/* Fill in the first three. */
void siege_start(struct siege *siege);
void siege_end(struct siege *siege);

#endif
