/* impairment.h - random delays of messages on the wire: jitter, losses and the timers that repair
 * them.
 *
 * Each is a pure function of the seed, the connection, and the number of the message on it. It does
 * not depend on other events: two clusters with one seed have the same delays.
 *
 * A loss costs a timer: TCP's minimum, doubled each time (RFC 6298, sections 2.4 and 5.5, with the
 * 200 ms and 120 s of Linux). That is the cost of losing a message's end, or all of it. A lost
 * segment amid many is sent again within a round trip, which is not modelled.
 *
 * Threads: pure. Units: nanoseconds. */

#ifndef DEPLOY_CLUSTER_IMPAIRMENT_H
#define DEPLOY_CLUSTER_IMPAIRMENT_H

#include <stdint.h>

#include "common/compute/distribution.h"

#define IMPAIRMENT_TIMER_LEAST_NS 200000000ull
#define IMPAIRMENT_TIMER_MOST_NS  120000000000ull

/* A message: `number` counts those of its connection from 0 on. */
struct impairment_place {
    uint64_t seed;
    uint32_t connection;
    uint64_t number;
};

/* The additional latency of the message; 0 for a distribution that is constant 0. */
uint64_t impairment_jitter_ns(const struct impairment_place *place,
                              const struct distribution *jitter);

/* The wait before sending it again for the time number `again`, from 0 on: max(200 ms, 2 round
 * trips), doubled each time, at most 120 s. */
uint64_t impairment_timer_ns(uint64_t round_trip_ns, uint32_t again);

/* The sum of its timers, when each sending is lost with this probability, from 0 to 0.5. */
uint64_t impairment_loss_ns(const struct impairment_place *place, double probability,
                            uint64_t round_trip_ns);

/* A random order of messages that reach a switch in the same nanosecond: the smallest is first. */
uint32_t impairment_lot(const struct impairment_place *place, uint32_t again);

#endif
