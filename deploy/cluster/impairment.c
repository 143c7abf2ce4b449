/* impairment.c - draws by counter, from a stream of random numbers for each kind of delay. */

#include "deploy/cluster/impairment.h"

#include <assert.h>

#include "common/base/random.h"

#define TRIES_MOST     16 /* tcp_retries2 is 15; the probability of more tries is negligible. */
#define JITTER_MOST_NS 3600e9

uint64_t impairment_jitter_ns(const struct impairment_place *place,
                              const struct distribution *jitter)
{
    if (jitter->kind == DISTRIBUTION_CONSTANT)
        return (uint64_t)jitter->a;
    uint32_t random[4];
    random_block(place->seed, RANDOM_STREAM_JITTER, place->connection, place->number, random);
    double ns = distribution_draw(jitter, random);
    assert(ns >= 0);
    return (uint64_t)(ns < JITTER_MOST_NS ? ns : JITTER_MOST_NS);
}

uint64_t impairment_timer_ns(uint64_t round_trip_ns, uint32_t again)
{
    uint64_t ns = round_trip_ns;
    ns = ns < IMPAIRMENT_TIMER_MOST_NS ? 2 * ns : IMPAIRMENT_TIMER_MOST_NS;
    ns = ns > IMPAIRMENT_TIMER_LEAST_NS ? ns : IMPAIRMENT_TIMER_LEAST_NS;
    for (; again > 0 && ns < IMPAIRMENT_TIMER_MOST_NS; again--)
        ns *= 2;
    return ns < IMPAIRMENT_TIMER_MOST_NS ? ns : IMPAIRMENT_TIMER_MOST_NS;
}

/* Four tries a block. */
uint64_t impairment_loss_ns(const struct impairment_place *place, double probability,
                            uint64_t round_trip_ns)
{
    assert(probability >= 0 && probability <= 0.5);
    uint64_t ns = 0;
    uint32_t random[4];
    for (uint32_t again = 0; probability > 0 && again < TRIES_MOST; again++) {
        if (again % 4 == 0)
            random_block(place->seed, RANDOM_STREAM_LOSS, place->connection,
                         place->number * (TRIES_MOST / 4) + again / 4, random);
        if ((double)random[again % 4] * 0x1p-32 >= probability)
            break;
        ns += impairment_timer_ns(round_trip_ns, again);
    }
    return ns;
}

uint32_t impairment_lot(const struct impairment_place *place, uint32_t again)
{
    uint32_t random[4];
    random_block(place->seed, RANDOM_STREAM_SWITCH, place->connection,
                 place->number << 8 | (again & 0xff), random);
    return random[0];
}
