/* channel.h - carries parcels from one end of a wire to the other: their delay, their order, and
 * their loss.
 *
 * The network hands over each parcel once, with its number among those of its wire and way, and
 * again when it was held up and continues (parcel->was_held). The channel calls, at once or later,
 * one of
 *
 *     simulated_network_lands(network, parcel, at_ns)    it arrives then
 *     simulated_network_loses(network, parcel)           never; only in the call that handed it
 *     over
 *
 * and may make copies of it arrive as well (simulated_network_repeat). The network handles a parcel
 * that arrives while its connection is broken or its way is cut off.
 *
 * `carry` is required, and `next_ns` and `advance` are there together; simulated_network_init
 * asserts it. Random numbers are drawn from network->random.
 *
 * Units: virtual nanoseconds. Threads: the engine's. Ownership: the channel owns a parcel, and its
 *        `next`, until it arrives or is lost. */

#ifndef DEPLOY_ENGINE_CHANNEL_H
#define DEPLOY_ENGINE_CHANNEL_H

#include <stdint.h>

struct parcel;
struct simulated_network;

struct channel {
    void *context;
    void (*carry)(void *context, struct simulated_network *network, uint64_t now_ns,
                  struct parcel *parcel);

    /* Optional: for a channel in which later parcels influence the arrival of earlier ones. The
     *           time of its next event (UINT64_MAX: none) if no parcel is handed over before; and
     *           the call at that time, in which parcels arrive. */
    uint64_t (*next_ns)(void *context);
    void (*advance)(void *context, struct simulated_network *network, uint64_t now_ns);

    /* Optional: the connection of a wire ends now, with the process `gone` or by itself
     *           (NETWORK_NO_PROCESS). Of the parcels on each way those up to the way's `survives` still
     *           arrive; the channel may lower it. The others are lost when they arrive, and may
     *           arrive at once. */
    void (*breaks)(void *context, struct simulated_network *network, uint64_t now_ns, uint32_t wire,
                   uint32_t gone);
};

#endif
