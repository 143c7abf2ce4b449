/* network.h - a loopback of the benchmark's own, whose congestion control it may choose.
 *
 * Linux: a network namespace, made when the process may (root). A namespace other than the first
 * may not make every algorithm its default; where it may not, the loopback's routes name it
 * (ip route ... congctl). What a connection really got is asked of one.
 *
 * Threads: before any other exists. */

#ifndef TESTS_BENCH_LIB_NETWORK_H
#define TESTS_BENCH_LIB_NETWORK_H

#include <stdbool.h>

/* False: not allowed; measure on the host's own loopback. */
bool network_own(void);

/* Connections made from now on, in this process and those it forks. False when it cannot. */
bool network_set_congestion_control(const char *name);

#endif
