/* listening.h - chooses the addresses of this host on which a server listens.
 *
 * Those of its own name; but Debian's installer gives every host a line
 *
 *     127.0.1.1 alpha
 *
 * so that alpha, on alpha, is an address which no other host reaches. A server that others may
 * talk to (it has keys, or --insecure) then listens on all addresses. Without either it stays on
 * loopback, and a name with any other address is refused.
 *
 * Threads: no shared state. */

#ifndef PS_ROUTER_LISTENING_H
#define PS_ROUTER_LISTENING_H

#include <stdbool.h>

#include "common/address/resolver.h"
#include "common/base/status.h"

#define LISTENING_BYTES (PLACES_MAX * PLACE_BYTES)

struct listening {
    char addresses[LISTENING_BYTES]; /* As for a transport's listen. */
    char remark[400];                /* For the line that names the address; or "". */
};

/* address: this server's as given, and its name's addresses. others_connect: other hosts may talk to
 * it. STATUS_REFUSED: not without keys or --insecure. STATUS_NOT_FOUND: the name does not
 * resolve. */
enum status listening_choose(const char *address, const struct places *places, bool others_connect,
                             struct listening *listening, struct error *error);

#endif
