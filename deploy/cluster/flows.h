/* flows.h - bytes that flow through cards at the same time, each card shared max-min fairly.
 *
 * A card carries so many bytes a second. A flow goes through one or two of them (a sender's and a
 * receiver's). All flows share by progressive filling (Bertsekas and Gallager, Data Networks,
 * 6.5.2): the rates of all rise together until a card is full; its flows stay at that level, and
 * the others rise on. Therefore
 *
 *     no card carries more than its rate;
 *     every flow has a bottleneck: a full card on which no flow is faster.
 *
 * These two have one solution, whatever the order in which flows began.
 *
 *     flows_reserve(flows, way);
 *     flows_begin(flows, way, bytes, tag, now_ns);
 *     while ((next = flows_next(flows)) != FLOWS_NEVER)
 *         tags = flows_advance(flows, next, &count);   those that ended then
 *
 * Rates change only when flows begin and end. Between two such times they are computed once, when
 * the caller asks for the next end. All flows of one bottleneck have one rate. Therefore a card
 * keeps one figure for all of them, the bytes that each has been served; a flow only remembers the
 * figure at which it ends.
 *
 * Numbers: times in whole nanoseconds, a flow ending in the nearest one; rates in whole 2^-16 bytes
 *          a second, rounded down; served amounts in products of the two, exactly, in 128 bits.
 *          Without floating point the bits are the same from every compiler and on every machine.
 *
 * Threads: one at a time.
 * Ownership: flows owns the tags that flows_advance gives, until the next call.
 * Cost: some nanoseconds for each flow whose rate changes when only one bottleneck has another
 *       level, else for each flow (deploy/VIRTUAL.md). */

#ifndef DEPLOY_CLUSTER_FLOWS_H
#define DEPLOY_CLUSTER_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define FLOWS_NEVER      UINT64_MAX
#define FLOWS_NO_NIC     UINT32_MAX
#define FLOWS_RATE_MOST  (1ull << 46) /* Bytes a second. */
#define FLOWS_BYTES_MOST (1ull << 46) /* Of one flow. */
#define FLOWS_RATE_UNIT  (1u << 16)   /* Units in one byte a second. */

struct flows;

/* The cards that a flow goes through; `second` is FLOWS_NO_NIC when there is only one. */
struct way {
    uint32_t first, second;
};

/* Cards of these rates, in bytes a second, 1 to FLOWS_RATE_MOST. NULL without memory. */
struct flows *flows_create(const uint64_t *rates, uint32_t nic_count);
void flows_free(struct flows *flows);

/* Reserve room for one more simultaneous flow of this way; nothing else allocates.
 * STATUS_MEMORY. */
enum status flows_reserve(struct flows *flows, struct way way);
void flows_unreserve(struct flows *flows, struct way way);

/* Start a flow of 1 to FLOWS_BYTES_MOST bytes in reserved room. Returns the flow's number, valid
 * until its end. now_ns is not before the last of any call, and not beyond flows_next. */
uint32_t flows_begin(struct flows *flows, struct way way, uint64_t bytes, uint64_t tag,
                     uint64_t now_ns);

/* End a flow now; the rest of its bytes is dropped. */
void flows_stop(struct flows *flows, uint32_t flow, uint64_t now_ns);

/* From now on ends are noticed at whole multiples of grain_ns, a power of two, at first 1, which is
 * exact. Then many ends cause one computation of rates. Until then a served flow keeps its rate. */
void flows_set_grain(struct flows *flows, uint64_t grain_ns);

/* The time of the next end, if no flow begins before; FLOWS_NEVER without flows. */
uint64_t flows_next(struct flows *flows);

/* Advance to now_ns, which is not beyond flows_next. The tags of the flows that end now, in a fixed
 * order without meaning. */
const uint64_t *flows_advance(struct flows *flows, uint64_t now_ns, size_t *count);

/* The number of flows; and the rate of one of them, in 1 / FLOWS_RATE_UNIT bytes a second. */
uint32_t flows_count(const struct flows *flows);
uint64_t flows_rate(struct flows *flows, uint32_t flow);

#endif
