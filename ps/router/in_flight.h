/* in_flight.h - counts the bytes of payloads that are still in flight to a peer.
 *
 * A payload is sent without a copy, so it lives until the last byte has left: for ever, if its
 * receiver does not read. An in_flight counts watched payloads until all references to them are
 * dropped, so that a sender knows when to stop.
 *
 * Threads: frames are dropped on any; the rest belongs to one. Shared are one counter, which
 * orders nothing (relaxed), and the in_flight's own references, which are as a frame's.
 * Ownership: its creator holds one reference, every payload in flight another. */

#ifndef PS_ROUTER_IN_FLIGHT_H
#define PS_ROUTER_IN_FLIGHT_H

#include <stdint.h>

#include "common/base/frame.h"

struct in_flight;

/* NULL when out of memory. */
struct in_flight *in_flight_create(void);

/* NULL is allowed. Payloads in flight keep their counter. */
void in_flight_drop(struct in_flight **in_flight);

uint64_t in_flight_bytes(const struct in_flight *in_flight);

/* The same bytes in a frame that is counted as long as it lives. Takes over the payload's
 * reference, also when it returns NULL for want of memory. */
struct frame *in_flight_watch(struct in_flight *in_flight, struct frame *payload);

#endif
