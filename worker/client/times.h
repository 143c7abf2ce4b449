/* times.h - where a worker's time goes: computing and scoring, which its trainer measures, exchanging,
 * and waiting for what and whom. The time that has passed in all is here too, so that every second has
 * a name, and what is left over is known to be. What it tells are sums since it began, so nothing is
 * lost with a message that does not count, nor counted twice with one that comes again.
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
    uint64_t began_us; /* 0: it has not. */
    uint64_t compute_us, exchange_us, evaluate_us, waits_us[WAIT_COUNT];
    /* Since it was told last: one more than the index of who was waited for longest; 0: nobody known. */
    uint32_t whom;
    uint64_t whom_us;    /* For how long ... */
    uint64_t awaited_us; /* ... and what was told of that before, added up. */
    /* Of payload, sent and received, since the first START of ... */
    uint64_t exchanged_bytes;
    uint64_t server; /* ... the server 0 of this incarnation. */
};

/* A START of this server 0 has come: the worker takes part from now on, unless it does already. */
void times_begin(struct times *times, uint64_t server, uint64_t now_us);

void times_compute(struct times *times, uint64_t took_us);
void times_evaluate(struct times *times, uint64_t took_us);
void times_exchange(struct times *times, uint64_t took_us);
void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t took_us);

/* So much payload was sent or received. */
void times_move(struct times *times, uint64_t bytes);

/* This process was stopped for so long: nobody's time. What began before ends that much sooner, as if
 * it had begun then, but what has begun since its end began no later than now. */
uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us);
void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us);

/* All since it began, and whom it waited for since the last time. */
void times_tell(struct times *times, struct message_times *told, uint64_t now_us);

#endif
