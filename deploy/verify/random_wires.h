/* random_wires.h - a carrier whose parcels are late, out of order, twice there and never, by chance.
 *
 * A message keeps its place behind those sent before it over the same wire unless it is one of the
 * share that overtake. (ZeroMQ keeps all of them in place; the protocol is meant not to depend on
 * it.)
 *
 * Units: virtual microseconds. Threads: one. */

#ifndef DEPLOY_VERIFY_RANDOM_WIRES_H
#define DEPLOY_VERIFY_RANDOM_WIRES_H

#include <stdbool.h>
#include <stdint.h>

#include "deploy/engine/channel.h"

struct network_faults {
    uint64_t delay_min_us, delay_max_us;
    double straggle;         /* Share that takes ten times as long. */
    double overtake;         /* Share that does not wait for those before it. */
    double repeat;           /* Share that arrives twice. */
    uint64_t repeat_late_us; /* How much later than the first at most. */
    double lose;             /* Share that never arrives. */
    bool share_frames;       /* The receiver gets the sender's frame; the network's to heed. */
};

/* It draws by `faults`, which may be changed on the way. */
struct channel random_wires(struct network_faults *faults);

#endif
