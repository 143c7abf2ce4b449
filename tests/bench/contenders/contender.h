/* contender.h - one way of doing a piece of work, in processes of its own, waiting to be told.
 *
 *     contender_start(&ours, &kind, &setting);        forks a server and a worker
 *     contender_piece(&ours)                          for measure_in_turn: A B A B, the others sleep
 *     contender_stop(&ours);
 *
 * What is compared exists side by side and takes turns, so that a noisy minute hits everybody.
 * Processor seconds are those of both processes, all threads.
 *
 * Threads: one; a process that has others of its own must not start contenders (it forks).
 * Units: nanoseconds in `took`, seconds elsewhere. Errors: any ends the program with a line. */

#ifndef TESTS_BENCH_CONTENDERS_CONTENDER_H
#define TESTS_BENCH_CONTENDERS_CONTENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/lib/calls.h"
#include "tests/lib/measure.h"

#define CONTENDER_CALLS_MAX   65536 /* Exchanges whose times are kept. */
#define CONTENDER_ADDRESS_MAX 512

struct contender_kind {
    const char *name;
    /* The other process: tell contender_ready an address, then serve until killed. NULL: there is
     * none. */
    void (*serve)(const void *setting);
    /* In the measured process: get ready. What it returns is exchange's. */
    void *(*open)(const void *setting, const char *address);
    /* The work, once. */
    void (*exchange)(void *state);
};

struct contender {
    const struct contender_kind *kind;
    pid_t server, worker; /* 0: none. */
    pid_t processes[2];   /* Those there are. */
    int orders, answers;  /* Pipes to and from the worker. */
    unsigned calls;       /* Exchanges in a round. */
    bool by_median;
    double seconds;    /* Of one exchange of the last round. */
    double server_cpu; /* Processor seconds of the server in it, of one exchange. */
    uint64_t *took;    /* [CONTENDER_CALLS_MAX] of each exchange, shared with the worker. */
    uint64_t count;    /* All so far; those beyond the array are not kept. */
    uint64_t warm;     /* The first of them, to warm up. */
    struct calls *own; /* Of both processes since then. */
};

/* Starts the processes, does a few exchanges to warm up and settles how many make a round. */
void contender_start(struct contender *contender, const struct contender_kind *kind,
                     const void *setting);
void contender_stop(struct contender *contender);

/* One call of the piece is a round of contender->calls exchanges; its seconds are those of one:
 * the round's mean, or (by_median) the median of them timed one by one. */
struct piece contender_piece(struct contender *contender, bool by_median);

/* A quantile of all exchanges measured, of their own times: share 0.5 is the median. */
double contender_quantile(const struct contender *contender, double share);

/* Bytes at most resident so far in the server's process (VmHWM). */
uint64_t contender_server_peak(const struct contender *contender);

/* For serve: the address that open is to be given. */
void contender_ready(const char *address);

/* For serve and open: end this process with a line. */
_Noreturn void contender_fail(const char *what);

#endif
