/* channel.h - who carries parcels from one end of a wire to the other: in which time, in which order,
 * and whether at all.
 *
 * The network hands over each parcel once, with its number among those of its wire and way, and once
 * more if it was held up and sets off again (parcel->was_held). The carrier says, at once or when it
 * has come to know it, one of
 *
 *     simulated_network_lands(network, parcel, at_ns)    it arrives then
 *     simulated_network_loses(network, parcel)           never; only of what has just been handed over
 *
 * and may have copies of it land as well (simulated_network_repeat). What becomes of it when it lands
 * while its connection is broken or its way cut off is the network's business.
 *
 * `carry` is required, and `next_ns` and `advance` are there together; simulated_network_init asserts it.
 * What is random is drawn from network->random.
 *
 * Units: virtual nanoseconds. Threads: the engine's. Ownership: a parcel is the carrier's, and so is
 * its `next`, until it lands or is lost. */

#ifndef DEPLOY_ENGINE_CHANNEL_H
#define DEPLOY_ENGINE_CHANNEL_H

#include <stdint.h>

struct parcel;
struct simulated_network;

struct channel {
    void *context;
    void (*carry)(void *context, struct simulated_network *network, uint64_t now_ns,
                  struct parcel *parcel);

    /* Optional: for one that does not know when it is handed a parcel when that will arrive, because
     * others will be under way with it. When something happens next to what it carries (UINT64_MAX:
     * never), if it is handed nothing before; and it is that time now: what arrives lands. */
    uint64_t (*next_ns)(void *context);
    void (*advance)(void *context, struct simulated_network *network, uint64_t now_ns);

    /* Optional: the connection of a wire has ended now, with the process `gone` or by itself
     * (NETWORK_NOBODY). Of what is under way either way still arrives what its way's `survives` says,
     * which the carrier may lower; the rest is lost whenever it lands, and may land at once. */
    void (*breaks)(void *context, struct simulated_network *network, uint64_t now_ns, uint32_t wire,
                   uint32_t gone);
};

#endif
