/* machine_watch.h - the load of the processors during a run, by this run and by others
 * (run_noise.h).
 *
 * From /proc/stat, for the processors that this process may use: user, nice and system are the
 * load. Our part of it is getrusage of this process and of its children that have ended, with their
 * children. The kernel counts the load in ticks; a small load of others is only rounding, and a
 * negative one counts as 0.
 *
 * Threads: one; no other child of this process may outlive a measurement. */

#ifndef DEPLOY_COMPARE_MACHINE_WATCH_H
#define DEPLOY_COMPARE_MACHINE_WATCH_H

#include <sched.h>
#include <stdio.h>

#include "common/progress/run_noise.h"

/* Since boot, in processor seconds. */
struct machine_times {
    double busy, stolen;
    uint32_t processors;
};

/* Of the processors in the set, from a text such as /proc/stat. False: one of them is missing. */
bool machine_times_read(FILE *stat, const cpu_set_t *set, double ticks_per_second,
                        struct machine_times *times);

struct machine_watch {
    struct machine_times times; /* With 0 processors: nothing is known. */
    double at;                  /* Seconds of the clock. */
    double own;                 /* Processor seconds of our own. */
};

void machine_watch_look(struct machine_watch *watch);

/* The load between two readings; without the machine's name. */
void machine_watch_between(const struct machine_watch *before, const struct machine_watch *after,
                           struct run_noise *noise);

#endif
