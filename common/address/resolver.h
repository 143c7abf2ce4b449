/* resolver.h - the places that a "host:port" stands for, numerically, and whether there is a listener
 * there.
 *
 * The one way in which servers and workers ask what a name means: all of its addresses, IPv4 and
 * IPv6, in the order in which the system would try them. Asked again it may be another answer, so
 * nothing is kept here.
 *
 * These functions wait for name servers, which can take half a minute; inquiry.h asks without.
 *
 * Threads: any; no shared state. */

#ifndef COMMON_ADDRESS_RESOLVER_H
#define COMMON_ADDRESS_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/status.h"
#include "common/job/job.h"

#define PLACES_MAX  16
#define PLACE_BYTES 80

/* What a probe found: 0 for a listener, an errno, or this. */
#define PLACE_UNKNOWN (-1)

struct place {
    char address[PLACE_BYTES]; /* "10.0.0.5:7000" or "[fd00::5]:7000". */
    bool loopback;
    int reason;
};

struct places {
    enum status status; /* STATUS_OK: there is one or more; STATUS_NOT_FOUND: why says more;
                         * STATUS_AGAIN: not known yet; STATUS_INVALID: not host:port. */
    char why[64];
    uint32_t count;
    struct place at[PLACES_MAX]; /* No address twice. */
};

/* All of them; no more than the first PLACES_MAX. ":port" and "*:port" are no place. */
void resolver_find(const char *address, struct places *places);

/* The same when no name server needs to be asked; else false. */
bool resolver_read(const char *address, struct places *places);

/* Try to connect to all of them at once, for at most timeout_ms, and note the reasons. */
void resolver_probe(struct places *places, int timeout_ms);

/* The place as sockets take it. False when it is not numeric. */
bool resolver_socket_address(const char *place, struct sockaddr_storage *address, socklen_t *size);

#endif
