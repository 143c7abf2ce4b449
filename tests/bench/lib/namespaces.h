/* namespaces.h - hosts that are network namespaces of this machine, joined by a bridge, every link limited
 * to a rate in both directions (tc's token buckets), and programs that run on them.
 *
 * Hosts count from 1; host i has the address 10.77.0.i. Linux, as root.
 *
 * Threads: one. Ownership: whoever made the hosts removes them, before it ends. */

#ifndef TESTS_BENCH_LIB_NAMESPACES_H
#define TESTS_BENCH_LIB_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

#define NAMESPACES_NETWORK "10.77.0"

struct namespaces {
    unsigned hosts;
};

/* rate in bits a second, as tc spells it and as a number; NULL: no limit. False: not allowed, and nothing is there. */
bool namespaces_make(struct namespaces *namespaces, unsigned hosts, const char *rate,
                     double bits_a_second);
void namespaces_remove(struct namespaces *namespaces);

/* The congestion control of connections made from now on. False: the kernel does not have it. */
bool namespaces_set_congestion_control(const struct namespaces *namespaces, const char *name);

/* A shell's command as a process of the host; it becomes the program that it is to exec. -1: cannot. */
pid_t namespaces_start(unsigned host, const char *command);

/* Waits for it to end. Whether it ended with 0; the processor seconds that it took are added. */
bool namespaces_await(pid_t process, double *cpu_seconds);

#endif
