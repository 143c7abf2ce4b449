/* gauge.h - how many bytes of payloads are still on their way to somebody.
 *
 * A payload is sent without a copy, so it lives until the last byte has left: with a receiver that
 * does not read, for ever. A gauge counts what it has been shown until all references to it are
 * dropped, so that a sender knows when to stop.
 *
 * Threads: frames are dropped on any; the rest belongs to one. What is shared is one counter, which
 *   orders nothing (relaxed), and the gauge's own references, which are as a frame's.
 * Ownership: whoever created it holds one reference, every payload on its way another. */

#ifndef PS_ROUTER_GAUGE_H
#define PS_ROUTER_GAUGE_H

#include <stdint.h>

#include "common/base/frame.h"

struct gauge;

/* NULL when out of memory. */
struct gauge *gauge_create(void);

/* NULL is allowed. Payloads on their way are counted on, for nobody. */
void gauge_drop(struct gauge **gauge);

uint64_t gauge_bytes(const struct gauge *gauge);

/* The same bytes in a frame that is counted as long as it lives. Takes over the payload's
 * reference, also when it returns NULL for want of memory. */
struct frame *gauge_watch(struct gauge *gauge, struct frame *payload);

#endif
