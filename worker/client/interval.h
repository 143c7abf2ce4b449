/* interval.h - where in time lay what a worker spent (times.h), for whoever draws it: a stretch of time
 * that ends now, and has the trainer's scoring within it, which was neither exchanging nor waiting.
 *
 *     |<----------------- stretch ----------------->|
 *     | exchange |#### scores ####| ex- | wait | ex- |
 *
 * Parts are named by how much of the stretch was before them, without the score.
 *
 * Threads: the session's. Units: microseconds. */

#ifndef WORKER_CLIENT_INTERVAL_H
#define WORKER_CLIENT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/wait.h"

struct time_spent {
    bool waits; /* Else it exchanged. */
    enum wait
        what; /* For what it waited, and one more than the worker that it was for; 0: nobody. */
    uint32_t whom;
    uint64_t step; /* Or batch: that was computed last. */
    uint64_t from_us, to_us;
};

/* Who is told of every piece, as it ends; spent: NULL for nobody. */
struct time_spent_listener {
    void *context;
    void (*time_spent)(void *context, const struct time_spent *time_spent);
};

struct interval {
    uint64_t from_us, to_us;
    uint64_t gap_from_us, gap_to_us; /* In which it scored; equal: there is none. */
};

/* A stretch up to now_us from a time that was moved on by as long as the score before took, if that was in
 * the stretch: it was from scored_from_us to scored_to_us. */
struct interval interval_after(uint64_t moved_us, uint64_t scored_from_us, uint64_t scored_to_us,
                               uint64_t now_us);

/* How much of it there is before a time in it. */
uint64_t interval_before(const struct interval *interval, uint64_t time_us);

/* Tell of the part from `from` to `to` in one piece, or in two around the gap; of nothing when it is
 * empty. */
void interval_tell(const struct interval *interval, uint64_t from, uint64_t to,
                   struct time_spent what, const struct time_spent_listener *listener);

#endif
