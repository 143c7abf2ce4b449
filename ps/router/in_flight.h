/* in_flight.h - how many bytes of payloads are still on their way to somebody.
 *
 * A payload is sent without a copy, so it lives until the last byte has left: with a receiver that
 * does not read, for ever. An in_flight counts what it has been shown until all references to it are
 * dropped, so that a sender knows when to stop.
 *
 * Threads: frames are dropped on any; the rest belongs to one. What is shared is one counter, which
 *   orders nothing (relaxed), and the in_flight's own references, which are as a frame's.
 * Ownership: whoever created it holds one reference, every payload on its way another. */

#ifndef PS_ROUTER_IN_FLIGHT_H
#define PS_ROUTER_IN_FLIGHT_H

#include <stdint.h>

#include "common/base/frame.h"

struct in_flight;

/* NULL when out of memory. */
struct in_flight *in_flight_create(void);

/* NULL is allowed. Payloads on their way are counted on, for nobody. */
void in_flight_drop(struct in_flight **in_flight);

uint64_t in_flight_bytes(const struct in_flight *in_flight);

/* The same bytes in a frame that is counted as long as it lives. Takes over the payload's
 * reference, also when it returns NULL for want of memory. */
struct frame *in_flight_watch(struct in_flight *in_flight, struct frame *payload);

#endif
