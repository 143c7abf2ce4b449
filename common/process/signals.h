/* signals.h - turns SIGINT, SIGTERM and SIGHUP into one clean request to stop, or SIGTERM and SIGHUP
 * into one to leave where `leave` is set, and the death of the launcher into a request
 * to stop without hope.
 *
 * The signals are blocked in every thread and read by one, so no handler ever runs in the middle of
 * anything. The first request calls back with EXIT_INTERRUPTED or, for SIGTERM and SIGHUP,
 * EXIT_TERMINATED; an impatient one (stop_request.h) ends the process at once with that code.
 * SIGINT and SIGHUP are left ignored where they were.
 *
 * When the parent (parent.h) is gone, or the connection to it, `abandoned` is called, or `stop` where
 * there is none, and when the process has not ended within abandoned_seconds it is ended. The SIGTERM
 * that the kernel may send then is no request.
 *
 * Threads: signals_block before any other thread is made; the callbacks run on a thread of their
 *   own. */

#ifndef COMMON_PROCESS_SIGNALS_H
#define COMMON_PROCESS_SIGNALS_H

#include <pthread.h>
#include <stdbool.h>

#include "common/base/status.h"
#include "common/process/stop_request.h"

struct signals_options {
    void *context;
    void (*stop)(void *context, int exit_code);
    void (*leave)(void *context); /* On SIGTERM and SIGHUP; NULL: they ask to stop. */
    bool has_parent;              /* parent_greet has been; else the rest is not used. */
    void (*abandoned)(
        void *context); /* Others may know more; NULL: to stop is all there is to do. */
    double abandoned_seconds;
};

struct signals {
    struct signals_options options;
    pthread_t thread;
    int incoming; /* signalfd. */
    int over;     /* eventfd: watching is. */
    struct stop_request request;
    double abandoned_at; /* Monotonic seconds; 0: not. */
};

/* Block the signals; call before making any thread. */
void signals_block(void);

enum status signals_start(struct signals *signals, const struct signals_options *options);

/* Nothing is called any more. An abandoned process is still ended at its deadline, by SIGALRM. */
void signals_stop(struct signals *signals);

#endif
