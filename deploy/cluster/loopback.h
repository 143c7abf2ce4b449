/* loopback.h - transfers between processes of one host, which share its loopback equally.
 *
 * Each host has a loopback of one rate. While n transfers are under way on it, each has a share of
 * rate / n.
 *
 *     loopback_reserve(loopback, host);
 *     loopback_begin(loopback, host, bytes, tag, now_ns);
 *     while ((next = loopback_next(loopback)) != LOOPBACK_NEVER)
 *         tags = loopback_advance(loopback, next, &count);   of the transfers that end then
 *
 * Numbers: times in whole nanoseconds, a transfer ending in the nearest one; shares in whole 2^-16
 *          bytes a second, rounded down; served amounts in products of the two, exactly, in 128
 *          bits. The same bits everywhere.
 *
 * Threads: one at a time.
 * Ownership: loopback owns the tags that loopback_advance gives, until the next call.
 * Cost: of a begin and of an end, time in proportion to the host's transfers (a move of memory). */

#ifndef DEPLOY_CLUSTER_LOOPBACK_H
#define DEPLOY_CLUSTER_LOOPBACK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define LOOPBACK_NEVER UINT64_MAX

struct loopback;

/* Of each host in bytes a second, 1 to 2^46. NULL without memory. */
struct loopback *loopback_create(uint64_t rate, uint32_t host_count);
void loopback_free(struct loopback *loopback);

/* Reserve room for one more simultaneous transfer on a host; nothing else allocates.
 * STATUS_MEMORY. */
enum status loopback_reserve(struct loopback *loopback, uint32_t host);
void loopback_unreserve(struct loopback *loopback, uint32_t host);

/* Start a transfer of 1 to 2^46 bytes in reserved room. No other on the host has its tag. now_ns is
 * not before the last of any call, and not beyond loopback_next. */
void loopback_begin(struct loopback *loopback, uint32_t host, uint64_t bytes, uint64_t tag,
                    uint64_t now_ns);

/* End a transfer now; the rest of its bytes is dropped. */
void loopback_stop(struct loopback *loopback, uint32_t host, uint64_t tag, uint64_t now_ns);

/* The time of the next end, if no transfer begins before; LOOPBACK_NEVER without transfers. */
uint64_t loopback_next(const struct loopback *loopback);

/* Advance to now_ns, which is not beyond loopback_next. The tags of the transfers that end now, in
 * a fixed order without meaning. */
const uint64_t *loopback_advance(struct loopback *loopback, uint64_t now_ns, size_t *count);

#endif
