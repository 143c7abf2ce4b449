/* ports.h - a port for a server that may have to come back to it.
 *
 * Ports that the kernel gives out by itself will not do: while the server is away, the workers that
 * try to reach it could be given that very port for their own end, and would then be connected to
 * themselves for good. So one is taken from below that range.
 *
 * Threads: any. */

#ifndef DEPLOY_PORTS_H
#define DEPLOY_PORTS_H

#include <stdint.h>

/* A port on 127.0.0.1 that nobody listens on now; 0 when there is none to be found. */
uint16_t port_pick(void);

#endif
