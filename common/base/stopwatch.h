/* stopwatch.h - how long a run has trained: the one clock of tables, figures and events.
 *
 * Training seconds are those that pass from the first START to the last update that was counted, less
 * those in which training was held up by evaluation, or stood still for a checkpoint. All else is
 * training: computing, exchanging, waiting for others or for a batch, and what a lost process costs.
 *
 *   - for a checkpoint training stands from when no worker computes any more until it goes on; that the
 *     fast wait for the slow before that is training
 *   - a score holds up training by as long as it keeps the workers from it: see coordinator_scores.c
 *
 * The clock is read when updates are counted (a mark), so that it stops at the last of them, and it
 * never goes back. It counts from 0 in each session.
 *
 * Threads: values; time comes in. Units: microseconds of any clock that does not jump, and seconds. */

#ifndef COMMON_BASE_STOPWATCH_H
#define COMMON_BASE_STOPWATCH_H

#include <stdbool.h>
#include <stdint.h>

enum pause_reason { PAUSE_EVALUATION, PAUSE_CHECKPOINT, PAUSE_COUNT };

struct stopwatch {
    bool begun, ended, stands;
    enum pause_reason why; /* It stands ... */
    uint64_t began_us, since_us;
    uint64_t paused_us[PAUSE_COUNT]; /* But what it stands for now. */
    uint64_t marked_us, window_us; /* Of training: at the last mark, and where the window began. */
};

void stopwatch_begin(struct stopwatch *clock, uint64_t now_us);

/* Training stands still; and goes on, also when it had ended and is to be done again. */
void stopwatch_stand(struct stopwatch *clock, enum pause_reason why, uint64_t now_us);
void stopwatch_go_on(struct stopwatch *clock, uint64_t now_us);

/* Until now training was held up by `us` (at most by all there is), in which not all stood still. If
 * it stands, that is taken from what it stands for. */
void stopwatch_hold_up(struct stopwatch *clock, enum pause_reason why, uint64_t us,
                       uint64_t now_us);

/* An update was counted. */
void stopwatch_mark(struct stopwatch *clock, uint64_t now_us);

/* From now on the clock shows the last mark. */
void stopwatch_end(struct stopwatch *clock);

double stopwatch_marked(const struct stopwatch *clock); /* Seconds at the last mark. */
/* Seconds until now; 0 before it begins. */
double stopwatch_seconds(const struct stopwatch *clock, uint64_t now_us);
/* Seconds from where this was last called to the last mark. */
double stopwatch_take_window(struct stopwatch *clock);
/* Seconds that are apart. */
double stopwatch_paused(const struct stopwatch *clock, enum pause_reason why, uint64_t now_us);

#endif
