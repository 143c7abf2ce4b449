/* tally.h - the scores of a run of updates as they were made. Integers, so that adding is exact
 * in any order.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_TALLY_H
#define COMMON_JOB_TALLY_H

#include <stdint.h>

struct job;

struct tally {
    int64_t loss; /* Sum over the examples, in the job's unit of loss. */
    uint64_t correct, examples, updates;
};

void tally_add(struct tally *to, const struct tally *from);

/* See job_mean_loss and job_accuracy. */
double tally_loss(const struct tally *tally, const struct job *job);
double tally_accuracy(const struct tally *tally, const struct job *job);

/* The first part of a window of --report-every, up to a step that lies in it: see windows.h. */
struct window_so_far {
    uint64_t first; /* The window's begin. */
    struct tally tally;
};

/* The scores before a step of its unfinished epoch and window. Tallies of no updates where there
 * are none, or they are not known. */
struct tally_so_far {
    struct tally epoch; /* Of the epoch that the step lies in. */
    struct window_so_far window;
};

#endif
