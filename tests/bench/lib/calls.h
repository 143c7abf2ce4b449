/* calls.h - how often a process waits, is woken, sends and receives, its libraries included: functions
 * here have the names of the C library's, come before those, and call them.
 *
 * Threads: any. */

#ifndef TESTS_BENCH_LIB_CALLS_H
#define TESTS_BENCH_LIB_CALLS_H

#include <stdatomic.h>

struct calls {
    /* Of threads that do not sleep in epoll_wait, as libzmq's own do: */
    atomic_ullong polls;           /* all, */
    atomic_ullong wakings;         /* and those that may have slept, and ended because of news. */
    atomic_ullong sends, receives; /* Of all threads. */
};

/* From now on this process and its children count here. */
void calls_count(struct calls *calls);

#endif
