/* training_clock.h - how long a run has trained: the one clock of tables, figures and events.
 *
 * Training seconds are those that pass from the first START to the last update that was counted, less
 * those in which training was held up by evaluation, or stood still for a checkpoint. All else is
 * training: computing, exchanging, waiting for others or for a batch, and what a lost process costs.
 *
 *   - for a checkpoint training stands from when nobody computes any more until it goes on; that the
 *     fast wait for the slow before that is training
 *   - a score holds up training by as long as it keeps the workers from it: see coordinator_scores.c
 *
 * The clock is read when updates are counted (a mark), so that it stops at the last of them, and it
 * never goes back. It counts from 0 in each session.
 *
 * Threads: values; time comes in. Units: microseconds of any clock that does not jump, and seconds. */

#ifndef COMMON_BASE_TRAINING_CLOCK_H
#define COMMON_BASE_TRAINING_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum apart { APART_EVALUATION, APART_CHECKPOINT, APART_COUNT };

struct training_clock {
    bool begun, ended, stands;
    enum apart why; /* It stands ... */
    uint64_t began_us, since_us;
    uint64_t apart_us[APART_COUNT]; /* But what it stands for now. */
    uint64_t marked_us, window_us;  /* Of training: at the last mark, and where the window began. */
};

void training_clock_begin(struct training_clock *clock, uint64_t now_us);

/* Training stands still; and goes on, also when it had ended and is to be done again. */
void training_clock_stand(struct training_clock *clock, enum apart why, uint64_t now_us);
void training_clock_go_on(struct training_clock *clock, uint64_t now_us);

/* Until now training was held up by `us` (at most by all there is), in which not all stood still. If
 * it stands, that is taken from what it stands for. */
void training_clock_hold_up(struct training_clock *clock, enum apart why, uint64_t us,
                            uint64_t now_us);

/* An update was counted. */
void training_clock_mark(struct training_clock *clock, uint64_t now_us);

/* From now on the clock shows the last mark. */
void training_clock_end(struct training_clock *clock);

double training_clock_marked(const struct training_clock *clock); /* Seconds at the last mark. */
/* Seconds until now; 0 before it begins. */
double training_clock_seconds(const struct training_clock *clock, uint64_t now_us);
/* Seconds from where this was last called to the last mark. */
double training_clock_take_window(struct training_clock *clock);
/* Seconds that are apart. */
double training_clock_apart(const struct training_clock *clock, enum apart why, uint64_t now_us);

#endif
