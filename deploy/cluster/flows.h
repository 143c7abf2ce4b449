/* flows.h - bytes that flow through cards at the same time, each card shared max-min fairly.
 *
 * A card carries so many bytes a second. A flow goes through one or two of them (a sender's and a
 * receiver's), and all flows that are there share, by progressive filling (Bertsekas and Gallager,
 * Data Networks, 6.5.2): the rates of all rise together until a card is full; its flows stay at that
 * level, and the others rise on. So
 *
 *     no card carries more than its rate;
 *     every flow has a bottleneck: a card that is full, and where no flow is faster.
 *
 * These two have one solution, whatever the order in which flows came.
 *
 *     flows_reserve(flows, way);
 *     flows_begin(flows, way, bytes, tag, now_ns);
 *     while ((next = flows_next(flows)) != FLOWS_NEVER)
 *         tags = flows_advance(flows, next, &count);   those that ended then
 *
 * Rates change only when flows begin and end: between two such times they are shared out once,
 * when somebody asks for what comes next. All flows of one bottleneck have one rate, and so a card
 * keeps one figure for all of them, what each has been served; a flow only remembers at which figure
 * it ends.
 *
 * Numbers: times in whole nanoseconds, a flow ending in the nearest one; rates in whole 2^-16 bytes a
 * second, rounded down; what was served in products of the two, exactly, in 128 bits. No floating
 * point: the same bits from every compiler and on every machine.
 *
 * Threads: one at a time. Ownership: tags that flows_advance gives are its own, until the next call.
 * Cost: sharing out takes time in proportion to the flows whose rate changes, when only one bottleneck has
 * another level, else to all flows; some nanoseconds each (deploy/VIRTUAL.md). */

#ifndef DEPLOY_CLUSTER_FLOWS_H
#define DEPLOY_CLUSTER_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define FLOWS_NEVER      UINT64_MAX
#define FLOWS_NO_NIC     UINT32_MAX
#define FLOWS_RATE_MOST  (1ull << 46) /* Bytes a second. */
#define FLOWS_BYTES_MOST (1ull << 46) /* Of one flow. */
#define FLOWS_RATE_UNIT  (1u << 16)   /* So many units are one byte a second. */

struct flows;

/* The cards that a flow goes through; `second` FLOWS_NO_NIC when one is all. */
struct way {
    uint32_t first, second;
};

/* Cards of these rates, in bytes a second, 1 to FLOWS_RATE_MOST. NULL without memory. */
struct flows *flows_create(const uint64_t *rates, uint32_t nic_count);
void flows_free(struct flows *flows);

/* Room for one flow more of this way at the same time; nothing else needs memory. STATUS_MEMORY: there
 * is none. */
enum status flows_reserve(struct flows *flows, struct way way);
/* That room is not needed any more. */
void flows_unreserve(struct flows *flows, struct way way);

/* Bytes (1 to FLOWS_BYTES_MOST) begin to flow, for which there is room. The number of the flow, until
 * its end. now_ns is not before the last of any call, and not beyond flows_next. */
uint32_t flows_begin(struct flows *flows, struct way way, uint64_t bytes, uint64_t tag,
                     uint64_t now_ns);

/* It ends here and now, whatever is left of it. */
void flows_stop(struct flows *flows, uint32_t flow, uint64_t now_ns);

/* From now on ends are noticed at whole multiples of grain_ns (a power of two; 1 at first, which is exactly),
 * so that many of them make new rates once. Until then a flow has its rate, though it is served. */
void flows_set_grain(struct flows *flows, uint64_t grain_ns);

/* When the next flow ends, if none begins before; FLOWS_NEVER without any. */
uint64_t flows_next(struct flows *flows);

/* It is now_ns, which is not beyond flows_next: the tags of the flows that end now, in a fixed order
 * that means nothing. */
const uint64_t *flows_advance(struct flows *flows, uint64_t now_ns, size_t *count);

/* How many are under way; and what one of them has at the moment, in 1 / FLOWS_RATE_UNIT bytes a
 * second. */
uint32_t flows_count(const struct flows *flows);
uint64_t flows_rate(struct flows *flows, uint32_t flow);

#endif
