/* route.h - which of the places that an address stands for to be connected to, and for how long.
 *
 * A name may stand for several places, of which one answers: IPv6 and IPv4, a loopback address
 * beside a real one, a host that has moved. So each is tried in turn until one answers, for ever,
 * and the name is asked about again meanwhile. There is never more than one connection, and one
 * that stands is never left: the peer knows this process by it, and what was
 * said over it arrives in order or not at all. After one is lost its place comes first again.
 *
 *     at places[0] --refused, or nothing for a second--> at places[1] --...--> at places[0]
 *          |                                                                       slower
 *          '--connected: stay--lost: ask about the name again, and so on
 *
 * With one place there is nothing to choose: the transport tries it again by itself.
 *
 * The peer that answers may not be the one meant: where every host has a loopback address for
 * a name, the name leads to whatever listens there. The caller tells by what is said, and shuns the
 * place: the connection is given up, the others are tried, and it again in its turn.
 *
 * A core: time and news come in, what to do comes out. Threads: plain values. */

#ifndef COMMON_ADDRESS_ROUTE_H
#define COMMON_ADDRESS_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/address/resolver.h"

struct route {
    struct places places;     /* As of the last answer. */
    char at[PLACE_BYTES];     /* Where it connects to; "" nowhere yet. */
    bool connected;           /* Now. */
    bool failed;              /* An attempt there has come to nothing. */
    bool reached;             /* Connections are accepted there. */
    bool asking, asked;       /* About the name: now, ever. */
    uint32_t tried;           /* Places since there was a connection. */
    uint64_t since_us;        /* At that place, or without a connection. */
    uint64_t ask_at_us;       /* About the name, again. */
    uint64_t unconnected_us;  /* Since when. */
    bool shunned;             /* This place, until it has been left. */
    char who[32];             /* "ps/1, not ps/0": who was there, at the latest place shunned ... */
    char who_at[PLACE_BYTES]; /* ... which is this; "" for none. */
};

/* What was learned since the last time. */
struct route_news {
    bool connected; /* There is a connection to `at`. */
    bool failed;    /* An attempt to connect to `at` came to nothing. */
    bool reached;   /* At least one was accepted. */
};

void route_init(struct route *route, uint64_t now_us);

/* True when it is time to ask about the name (route_answer has to follow); probe: and to find out
 * why there is no answer. */
bool route_asks(struct route *route, uint64_t now_us, bool *probe);
/* What came of it. */
void route_answer(struct route *route, const struct places *places, uint64_t now_us);

/* True when the connection, or the attempt to make one, is to go to another place, now in `at`. */
bool route_moves(struct route *route, const struct route_news *news, uint64_t now_us);

/* The connection leads to another process, `who`, and is being given up. */
void route_shun(struct route *route, const char *who, uint64_t now_us);

/* Whether every place has had its turn since there was a connection. */
bool route_is_exhausted(const struct route *route);

/* Where it connects to, in places, or NULL: nowhere, or what the name does not stand for any more.
 */
const struct place *route_place(const struct route *route);

#endif
