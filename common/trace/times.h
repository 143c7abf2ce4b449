/* times.h - the time accounting of a worker: computing and scoring, which its trainer measures,
 * exchanging, and waiting, by reason and worker. The time that has passed in all is here too, so
 * that the rest is known. All are sums since the begin, so a lost or repeated message changes
 * nothing. Exchanges and waits are spans, too.
 *
 *     |<------------------------------- passed ------------------------------->|
 *     | waiting | computing | exchanging | waiting (barrier) | scoring | other |
 *
 * A score counts as neither: what was under way meanwhile has its begin moved on by as much. As spans it lies
 * before and after the score:
 *
 *     began  scored           now
 *     |------|##############|--|
 *
 * Threads: the session's; times_hear: plain. Time arrives as an argument. Units: microseconds. */

#ifndef COMMON_TRACE_TIMES_H
#define COMMON_TRACE_TIMES_H

#include "common/base/wait.h"
#include "common/trace/span.h"

struct times {
    uint32_t worker;
    struct span_listener listener; /* Of what it exchanged and waited, in one piece or two. */
    uint64_t step;                 /* The step or batch that was computed last. */
    uint64_t scored_from_us, scored_to_us; /* The last score. */
    uint64_t began_us;                     /* 0: it has not. */
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

/* It scores from now on; and has scored, since then. */
void times_scores(struct times *times);
void times_scored(struct times *times, uint64_t from_us, uint64_t now_us);

/* Since (moved on) it has waited for so long, for one more than a worker's index; 0: not known. */
void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t since_us,
                uint64_t took_us);

/* The same of an exchange, of which it waited for so long at a barrier, until the first answer came that had
 * waited; 0: not known. */
void times_exchange(struct times *times, uint64_t since_us, uint64_t took_us, uint64_t held_us,
                    uint64_t let_go_us, uint32_t held_for);

/* Payload was sent or received. */
void times_move(struct times *times, uint64_t bytes);

/* This process was stopped for so long. A begin before that moves on by as much, but not beyond
 * now. */
uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us);
void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us);

/* The sums since the begin, and the longest awaited worker since the last report. */
void times_tell(struct times *times, struct message_times *report, uint64_t now_us);

/* The coordinator has heard these: the growth over the greatest heard of this process before counts. The seconds
 * that `whom` was waited for. */
double times_hear(struct message_times *most, const struct message_times *heard,
                  struct worker_summary *summary);

#endif
