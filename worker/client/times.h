/* times.h - the sums of a worker's time: computing and scoring, which its trainer measures,
 * exchanging, and waiting, by reason and worker. The time that has passed in all is here too, so
 * that the rest is known. All are sums since the begin, so a lost or repeated message changes
 * nothing.
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
    /* Since the last report: one more than the index of the worker that was waited for longest;
     * 0: not known. */
    uint32_t whom;
    uint64_t whom_us;    /* The wait for `whom`. */
    uint64_t awaited_us; /* The waits of all reports before, added up. */
    /* Payload sent and received since the first START of `server`. */
    uint64_t exchanged_bytes;
    uint64_t server; /* Incarnation of server 0. */
};

/* A START of this server 0 has come: the worker takes part from now on, unless it does already. */
void times_begin(struct times *times, uint64_t server, uint64_t now_us);

void times_compute(struct times *times, uint64_t took_us);
void times_evaluate(struct times *times, uint64_t took_us);
void times_exchange(struct times *times, uint64_t took_us);
void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t took_us);

/* Payload was sent or received. */
void times_move(struct times *times, uint64_t bytes);

/* This process was stopped for so long. A begin before that moves on by as much, but not beyond
 * now. */
uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us);
void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us);

/* The sums since the begin, and the longest awaited worker since the last report. */
void times_tell(struct times *times, struct message_times *report, uint64_t now_us);

#endif
