/* staleness.h - counts the staleness of each gradient, in modes whose workers do not wait for each
 * other, and reports it:
 *
 *     FIGURES twice a second, the order about a snapshot -> router (owner_figures.h)
 *                                       -> READY, CUT_TAKEN -> coordinator (staleness_totals.h)
 *
 * Threads: one owner. */

#ifndef PS_EXTENSION_STALENESS_H
#define PS_EXTENSION_STALENESS_H

#include "ps/extension/staleness_counters.h"
#include "ps/shard/chunk_listener.h"

struct owner_staleness {
    struct histogram shape;             /* Of all its chunks, since they were loaded. */
    uint64_t reported_us;               /* When the router last had its figures. */
    struct staleness_counters chunks[]; /* [chunk_count] */
};

extern const struct chunk_listener staleness_listener;

#endif
