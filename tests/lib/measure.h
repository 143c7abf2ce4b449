/* measure.h - what benchmarks share: time pieces of work in turn, and notice who else was at work.
 *
 *     round 1        round 2        round 3
 *     A  B  C        A  B  C        A  B  C   ...      each a number of calls
 *
 * Machines are shared and noisy. Pieces take turns, so that what disturbs one disturbs its
 * neighbour too, and ratios are taken within a round. What other processes and other virtual
 * machines took meanwhile is measured as well (/proc/stat counts in ticks of 10 ms: a measurement
 * should last a good part of a second).
 *
 * With BENCH_SMOKE in the environment a measurement is one round of one call: whether it works at all.
 *
 * Units: seconds. Threads: one measures; the work may have as many as it likes. */

#ifndef TESTS_LIB_MEASURE_H
#define TESTS_LIB_MEASURE_H

#include <stdbool.h>
#include <sys/types.h>

#define MEASURE_ROUNDS     11 /* The usual number. */
#define MEASURE_ROUNDS_MAX 32

struct piece {
    void (*work)(void *context); /* One call. */
    void *context;
    unsigned calls; /* A round. 0 is 1. */
    bool each; /* A round's seconds are the median of its calls, timed one by one, not the mean. */
    bool cold; /* No call before the first round. */
    /* NULL, or where a call leaves how long it took, when it knows better than a clock around it:
     * part of it does not count, or another process did the work. */
    const double *own_seconds;
    /* Processes that work for this piece besides this one and its children that have ended. */
    const pid_t *helpers; /* [helper_count] */
    unsigned helper_count;
};

/* Who was at work besides the pieces, from the first round to the last. */
struct disturbance {
    double seconds;    /* How long that was. */
    double others;     /* Processor seconds of other processes. */
    double stolen;     /* Processor seconds of other virtual machines. */
    unsigned switches; /* Times that this process was made to give way. */
};

struct measured {
    unsigned rounds;
    double seconds[MEASURE_ROUNDS_MAX];     /* [rounds] a call */
    double cpu_seconds[MEASURE_ROUNDS_MAX]; /* [rounds] a call, of all threads and helpers */
    struct disturbance disturbance;
};

struct spread {
    double least, lower, median, upper, most; /* lower and upper: quartiles */
};

/* Whether BENCH_SMOKE is in the environment. */
bool measure_is_smoke(void);

/* measured[count], one for each piece. */
void measure_in_turn(const struct piece *pieces, unsigned count, unsigned rounds,
                     struct measured *measured);

/* One value from elsewhere, in the place of the seconds of one round. */
struct measured measure_value(double value);

/* Of values[count], count > 0. */
struct spread spread_of(const double *values, unsigned count);

#endif
