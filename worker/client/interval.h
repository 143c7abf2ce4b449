/* interval.h - the place in time of what a worker spent (times.h), for swim lanes. An interval
 * ends now. The trainer may have scored within it, which was neither exchanging nor waiting.
 *
 *     |<----------------- interval ---------------->|
 *     | exchange |#### scores ####| ex- | wait | ex- |
 *
 * Parts are named by how much of the interval was before them, without the score.
 *
 * Threads: the session's. Units: microseconds. */

#ifndef WORKER_CLIENT_INTERVAL_H
#define WORKER_CLIENT_INTERVAL_H

#include "common/trace/span.h"

struct interval {
    uint64_t from_us, to_us;
    uint64_t gap_from_us, gap_to_us; /* In which it scored; equal: there is none. */
};

/* An interval up to now_us from a begin that was moved on by the length of a score, if that was
 * within it: the score was from scored_from_us to scored_to_us. */
struct interval interval_after(uint64_t moved_us, uint64_t scored_from_us, uint64_t scored_to_us,
                               uint64_t now_us);

/* How much of the interval was before a time in it. */
uint64_t interval_before(const struct interval *interval, uint64_t time_us);

/* Report the part from `from` to `to` as one such span, or as two around the gap; nothing when it
 * is empty. */
void interval_tell(const struct interval *interval, uint64_t from, uint64_t to, struct span span,
                   const struct span_listener *listener);

#endif
