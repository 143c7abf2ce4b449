/* address.h - "host:port" as people write it, and what that says by itself, without asking what a
 * name stands for (resolver.h does that).
 *
 *     alpha:7000   10.0.0.5:7000   [fd00::5]:7000   :7000 and *:7000, every address of this host
 *
 * Threads: no shared state. */

#ifndef COMMON_ADDRESS_ADDRESS_H
#define COMMON_ADDRESS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"

/* The address without ZeroMQ's "tcp://" in front, if it has that. */
const char *address_plain(const char *address);

/* The parts; the host without its brackets. False when it is not host:port with a port from 0 to
 * 65535. */
bool address_split(const char *address, char host[ADDRESS_MAX], uint16_t *port);

/* ":7000" and "*:7000". */
bool address_is_any(const char *host);

/* A host that means the reader itself, wherever that is: 127.x, ::1, localhost. A
 * name that some host has for such an address is none. */
bool address_is_loopback(const char *host);

/* Whether both are the same text, as far as names go: case does not matter. */
bool address_equal(const char *a, const char *b);

#endif
