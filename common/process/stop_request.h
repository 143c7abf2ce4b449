/* stop_request.h - what a signal asks of a job: a clean stop, nothing that was not asked before, or
 * the end at once.
 *
 * The first of SIGINT, SIGTERM and SIGHUP asks for a clean stop. A person who asks again, with
 * SIGINT or SIGTERM, has lost patience. But machines repeat themselves: `timeout` sends its signal
 * to its command and then to its whole group, a service manager may send SIGHUP behind SIGTERM, and
 * when a terminal goes away, the shell and the kernel both send it. So SIGHUP is never
 * impatience, nor is what comes within SIGNALS_APART_SECONDS.
 *
 * Threads: plain values. Time arrives as an argument. */

#ifndef COMMON_PROCESS_STOP_REQUEST_H
#define COMMON_PROCESS_STOP_REQUEST_H

#include <stdbool.h>

#define SIGNALS_APART_SECONDS 0.5

enum stop_action {
    STOP_NO_NEWS, /* It is stopping already. */
    STOP_CLEANLY,
    STOP_AT_ONCE,
};

/* Zeroed is ready. */
struct stop_request {
    bool made;
    bool insisted;      /* By SIGINT or SIGTERM ... */
    double insisted_at; /* ... first, monotonic seconds. */
};

enum stop_action stop_request_take(struct stop_request *request, int signal, double now);

#endif
