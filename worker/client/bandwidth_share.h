/* bandwidth_share.h - limits a worker's bytes in flight to a server where workers keep together.
 * The share is a small part of a line's capacity, so that no worker gets ahead and takes the
 * line from the slowest. On a long line it is several times what was under way at once in the
 * step before, to keep the line full.
 *
 * What was under way at once is the rate at which a step's chunks arrived, times the shortest
 * time of a first chunk on a line without other traffic of ours. That time is the line's,
 * without queues (the two measures of Cardwell et al., "BBR: Congestion-based congestion
 * control", ACM Queue 14(5), 2016). The window grows to the line's capacity within a few steps
 * and stays at some times that, because a chunk is answered only when the other workers have
 * come as far.
 *
 * Units: bytes, microseconds. Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_CLIENT_BANDWIDTH_SHARE_H
#define WORKER_CLIENT_BANDWIDTH_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct bandwidth_share {
    uint64_t bytes;       /* What may be in flight. */
    uint64_t least, most; /* Bounds of `bytes`. */
    uint64_t trip_us;     /* The shortest from a step's begin to its first arrival; 0: none yet. */
    bool idle;            /* Nothing was in flight when this step began. */
    uint64_t begun_us;    /* When this step began. */
    uint64_t first_us;    /* When its first chunk arrived; 0: not yet. */
    uint64_t last_us;     /* When its last one so far arrived. */
    uint64_t arrived;     /* Bytes that arrived behind the first. */
};

/* largest: a chunk. most: the upper bound, at least two chunks. */
void bandwidth_share_init(struct bandwidth_share *share, uint32_t workers, uint64_t largest,
                          uint64_t most);

/* A step's last gradient begins to leave, or values are asked for; idle: nothing of ours is in
 * flight. The step before counts from now on. */
void bandwidth_share_begin(struct bandwidth_share *share, bool idle, uint64_t now_us);

/* A chunk of the step is at the server, or its values are here. */
void bandwidth_share_arrived(struct bandwidth_share *share, uint64_t bytes, uint64_t now_us);

#endif
