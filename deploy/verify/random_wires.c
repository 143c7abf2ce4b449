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
                        uint64_t now_us, struct network_way *way)
{
    uint64_t delay =
        faults->delay_min_us + up_to(network, faults->delay_max_us - faults->delay_min_us);
    if (happens(network, faults->straggle))
        delay *= 10;
    if (happens(network, faults->overtake)) {
        network->counts.overtaking++;
    } else {
        if (now_us + delay < way->busy_until_us)
            delay = way->busy_until_us - now_us;
        way->busy_until_us = now_us + delay;
    }
    if (delay < network->counts.delay_min_us)
        network->counts.delay_min_us = delay;
    if (delay > network->counts.delay_max_us)
        network->counts.delay_max_us = delay;
    return now_us + delay;
}

/* Once or twice or not at all; but what was held up only late. */
static void carry(void *context, struct simulated_network *network, uint64_t now_us,
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
    uint64_t at_us = arrival(faults, network, now_us, simulated_network_way(network, parcel));
    simulated_network_lands(network, parcel, at_us);
    if (again != NULL)
        simulated_network_lands(network, again, at_us + up_to(network, faults->repeat_late_us));
}

struct carrier random_wires(struct network_faults *faults)
{
    return (struct carrier){.context = faults, .carry = carry};
}
