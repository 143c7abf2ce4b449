/* random_wires.c - every parcel gets its time of arrival when it sets off. */

#include "deploy/verify/random_wires.h"

#include "deploy/engine/simulated_network.h"

static bool happens(struct simulated_network *network, double share)
{
    return share > 0 && random_unit_float(random_next(&network->random)) < (float)share;
}

static uint64_t up_to(struct simulated_network *network, uint64_t most)
{
    return random_below(&network->random, (uint32_t)most + 1);
}

/* When a message that sets off now arrives. */
static uint64_t arrival(const struct network_faults *faults, struct simulated_network *network,
                        uint64_t now_ns, struct network_way *way)
{
    uint64_t delay_us =
        faults->delay_min_us + up_to(network, faults->delay_max_us - faults->delay_min_us);
    if (happens(network, faults->straggle))
        delay_us *= 10;
    uint64_t at_ns = now_ns + 1000 * delay_us;
    if (happens(network, faults->overtake)) {
        network->counts.overtaking++;
    } else {
        if (at_ns < way->busy_until_ns)
            at_ns = way->busy_until_ns;
        way->busy_until_ns = at_ns;
    }
    delay_us = (at_ns - now_ns) / 1000;
    if (delay_us < network->counts.delay_min_us)
        network->counts.delay_min_us = delay_us;
    if (delay_us > network->counts.delay_max_us)
        network->counts.delay_max_us = delay_us;
    return at_ns;
}

/* Once or twice or not at all; but what was held up only late. */
static void carry(void *context, struct simulated_network *network, uint64_t now_ns,
                  struct parcel *parcel)
{
    const struct network_faults *faults = context;
    struct parcel *again = NULL;
    if (!parcel->was_held && happens(network, faults->lose)) {
        simulated_network_loses(network, parcel);
        return;
    }
    if (!parcel->was_held && happens(network, faults->repeat))
        again = simulated_network_repeat(network, parcel);
    uint64_t at_ns = arrival(faults, network, now_ns, simulated_network_way(network, parcel));
    simulated_network_lands(network, parcel, at_ns);
    if (again != NULL)
        simulated_network_lands(network, again,
                                at_ns + 1000 * up_to(network, faults->repeat_late_us));
}

struct channel random_wires(struct network_faults *faults)
{
    return (struct channel){.context = faults, .carry = carry};
}
