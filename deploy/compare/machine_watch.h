/* machine_watch.h - what the processors do while a run is made, and for whom (run_noise.h).
 *
 * From /proc/stat, of the processors that this process may use: user, nice and system are somebody's work;
 * of it our own is what getrusage has of us and of our children that have ended, and theirs. The kernel counts
 * the former by ticks, so that a little of others' is only what these are coarse; below nothing there is nothing.
 *
 * Threads: one, which no other child of this process may outlive a watch in. */

#ifndef DEPLOY_COMPARE_MACHINE_WATCH_H
#define DEPLOY_COMPARE_MACHINE_WATCH_H

#include <sched.h>
#include <stdio.h>

#include "common/progress/run_noise.h"

/* Since the machine started, in processor seconds. */
struct machine_times {
    double busy, stolen;
    uint32_t processors;
};

/* Of those in the set, from a text such as /proc/stat. False: one of them is not there. */
bool machine_times_read(FILE *stat, const cpu_set_t *set, double ticks_per_second,
                        struct machine_times *times);

/* One look. */
struct machine_watch {
    struct machine_times times; /* Of 0 processors: nothing can be known. */
    double at;                  /* Seconds of the clock. */
    double own;                 /* Processor seconds. */
};

void machine_watch_look(struct machine_watch *watch);

/* What was between two looks; the machine's name is not in it. */
void machine_watch_between(const struct machine_watch *before, const struct machine_watch *after,
                           struct run_noise *noise);

#endif
