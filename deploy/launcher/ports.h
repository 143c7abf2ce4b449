/* ports.h - a port for a server that may have to come back to it.
 *
 * A port that the kernel gives out by itself will not do: while the server is away it may go to
 * anybody, even to a worker that tries to reach it, which would then be connected to itself for
 * good. So a socket that nobody listens on holds the port for as long as the job lives. The kernel
 * then gives it to nobody, and a server, which says SO_REUSEADDR, can still take it.
 *
 * Threads: any. Ownership: the caller closes the socket. */

#ifndef DEPLOY_LAUNCHER_PORTS_H
#define DEPLOY_LAUNCHER_PORTS_H

#include <stdint.h>

/* The socket that holds a port on 127.0.0.1, which no child inherits; -1 with errno. */
int port_hold(uint16_t *port);

/* The same on all addresses of this host, for the program that takes this one's place: it inherits the
 * socket, and need not know. */
int port_keep(uint16_t *port);

#endif
