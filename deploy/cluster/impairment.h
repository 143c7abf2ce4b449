/* impairment.h - what befalls messages on the wire: jitter, losses and the timers that mend them.
 *
 * Each is a pure function of the seed, the connection, and the number of the message on it; so it
 * is the same whatever else happens, and two clusters with one seed meet the same mishaps.
 *
 * A loss costs a timer, TCP's least one, and twice as much each time (RFC 6298, sections 2.4 and 5.5, with
 * the 200 ms and 120 s of Linux). That is what losing a message's end costs, or all of it; a segment
 * lost amid many is sent again within a round trip, which is not modelled.
 *
 * Threads: pure. Units: nanoseconds. */

#ifndef DEPLOY_CLUSTER_IMPAIRMENT_H
#define DEPLOY_CLUSTER_IMPAIRMENT_H

#include <stdint.h>

#include "common/compute/distribution.h"

#define IMPAIRMENT_TIMER_LEAST_NS 200000000ull
#define IMPAIRMENT_TIMER_MOST_NS  120000000000ull

/* A message: `number` among those of its connection, from 0 on. */
struct impairment_place {
    uint64_t seed;
    uint32_t connection;
    uint64_t number;
};

/* How much longer than usual it is on its way; none of a distribution that is constant 0. */
uint64_t impairment_jitter_ns(const struct impairment_place *place,
                              const struct distribution *jitter);

/* How long one waits before sending it again for the time number `again`, from 0 on:
 * max(200 ms, 2 round trips), doubled each time, at most 120 s. */
uint64_t impairment_timer_ns(uint64_t round_trip_ns, uint32_t again);

/* All its timers together, when each sending is lost with this probability, from 0 to 0.5. */
uint64_t impairment_loss_ns(const struct impairment_place *place, double probability,
                            uint64_t round_trip_ns);

/* Who of those that reach a switch in the same nanosecond is first: the smallest. */
uint32_t impairment_lot(const struct impairment_place *place, uint32_t again);

#endif
