/* bandwidth_share.h - how much a worker may have on its way to a server where workers keep together: a small
 * share of what a line holds, so that nobody gets ahead and takes the line from the one for whom all wait;
 * but on a long line several times what was under way at once in the step before, or the line would be
 * empty most of the time.
 *
 * What was under way at once is the rate at which a step's chunks arrived, times the shortest time that the
 * first of one took on a line with nothing else of ours: that is the line's, and not that of what waits
 * before it (the two measures of Cardwell et al., "BBR: Congestion-based congestion control", ACM Queue
 * 14(5), 2016). In a few steps the window grows to as much as the line takes, and stays at some times that:
 * a chunk is answered later than it arrives, when the others have come as far.
 *
 * Units: bytes, microseconds. Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_CLIENT_BANDWIDTH_SHARE_H
#define WORKER_CLIENT_BANDWIDTH_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct bandwidth_share {
    uint64_t bytes;       /* What may be under way; ... */
    uint64_t least, most; /* ... no less and no more than this. */
    uint64_t trip_us;     /* The shortest from a beginning to the first arrival; 0: none yet. */
    bool idle;            /* Nothing was under way when this step began, ... */
    uint64_t begun_us;    /* ... which was at this time, ... */
    uint64_t first_us;    /* ... with the first arrival, 0 before it, ... */
    uint64_t last_us;     /* ... and the last so far; ... */
    uint64_t arrived;     /* ... what came behind the first. */
};

/* largest: a chunk. most: what is never gone beyond, at least two chunks. */
void bandwidth_share_init(struct bandwidth_share *share, uint32_t workers, uint64_t largest,
                          uint64_t most);

/* A step's last gradient begins to leave, or values are asked for; idle: nothing of ours is on its way. What
 * the step before has shown counts. */
void bandwidth_share_begin(struct bandwidth_share *share, bool idle, uint64_t now_us);

/* A chunk of it is at the server, or its values are here. */
void bandwidth_share_arrived(struct bandwidth_share *share, uint64_t bytes, uint64_t now_us);

#endif
