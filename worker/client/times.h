/* times.h - where a worker's time goes, since it told so last: exchanging, and waiting for what and
 * whom. What it computes and scores its trainer measures; the time that has passed in all is here, so
 * that every second has a name, and what is left over is known to be.
 *
 *     |<------------------------------- passed ------------------------------->|
 *     | waiting | computing | exchanging | waiting (barrier) | scoring | other |
 *
 * Threads: the session's. Time arrives as an argument. Units: microseconds. */

#ifndef WORKER_CLIENT_TIMES_H
#define WORKER_CLIENT_TIMES_H

#include "common/base/wait.h"
#include "common/wire/message.h"

struct times {
    uint64_t told_us; /* When it was told last, or began; 0: it has not begun. */
    uint64_t exchange_us, waits_us[WAIT_COUNT];
    uint32_t whom;    /* One more than the index of who was waited for longest; 0: nobody known. */
    uint64_t whom_us; /* For how long. */
};

/* The worker takes part from now on, unless it does already. */
void times_begin(struct times *times, uint64_t now_us);

void times_exchange(struct times *times, uint64_t took_us);
void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t took_us);

/* This process was stopped for so long: nobody's time. What began before ends that much sooner, as if
 * it had begun then, but what has begun since its end began no later than now. */
uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us);
void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us);

/* All since the last time; and begin anew. */
void times_tell(struct times *times, struct message_times *told, uint64_t now_us);

#endif
