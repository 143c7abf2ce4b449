/* bandwidth_share.c - computes the window of a step from the arrivals of the last. */

#include "worker/client/bandwidth_share.h"

/* Of all workers together on the way to one server, and the least of each. */
#define SHARED_BYTES (2u << 20)
#define LEAST_BYTES  (512u << 10)
#define GAIN         3 /* Times the bytes that were under way at once. */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A share of what a line may hold, but enough to keep a short line filled, and at least two
 * chunks: one in flight while the other leaves. */
void bandwidth_share_init(struct bandwidth_share *share, uint32_t workers, uint64_t largest,
                          uint64_t most)
{
    uint64_t equal = SHARED_BYTES / (workers > 0 ? workers : 1);
    uint64_t least = larger(equal, larger(2 * largest, LEAST_BYTES));
    *share = (struct bandwidth_share){.bytes = least, .least = least, .most = larger(least, most)};
}

void bandwidth_share_begin(struct bandwidth_share *share, bool idle, uint64_t now_us)
{
    double us = (double)(share->last_us - share->first_us);
    if (us > 0) {
        double under_way = (double)share->arrived / us * (double)share->trip_us;
        double wanted = GAIN * under_way;
        share->bytes =
            wanted >= (double)share->most ? share->most : larger(share->least, (uint64_t)wanted);
    }
    share->idle = idle;
    share->begun_us = now_us;
    share->first_us = share->last_us = share->arrived = 0;
}

void bandwidth_share_arrived(struct bandwidth_share *share, uint64_t bytes, uint64_t now_us)
{
    if (share->first_us > 0) {
        share->arrived += bytes;
        share->last_us = now_us;
        return;
    }
    uint64_t trip_us = now_us - share->begun_us;
    share->first_us = share->last_us = now_us;
    /* Behind others a first chunk takes longer, but a shorter time is still the line's. */
    if (share->trip_us == 0 ? share->idle : trip_us < share->trip_us)
        share->trip_us = larger(trip_us, 1);
}
