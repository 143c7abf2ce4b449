/* ports.h - a port for a server that may be restarted on it.
 *
 * A port that the kernel assigns is not enough. While the server is away it may be assigned to
 * another process. A worker that tries to reach the server could even get it, and be connected to
 * itself forever. Therefore a socket that does not listen holds the port during the job. The kernel
 * then assigns it to no other, and a server, which sets SO_REUSEADDR, can still bind it.
 *
 * Threads: any. Ownership: the caller closes the socket. */

#ifndef DEPLOY_LAUNCHER_PORTS_H
#define DEPLOY_LAUNCHER_PORTS_H

#include <stdint.h>

/* A socket that holds a port on 127.0.0.1, not inherited by children; -1 with errno. */
int port_hold(uint16_t *port);

/* The same on all addresses of this host, for a program that replaces this one: it inherits the
 * socket without using it. */
int port_keep(uint16_t *port);

#endif
