/* signals.h - turns SIGINT, SIGTERM and SIGHUP into one clean request to stop, and SIGUSR1 into one
 * to leave.
 *
 * The signals are blocked in every thread and read by one, so no handler ever runs in the middle of
 * anything. The first request calls back with EXIT_INTERRUPTED or, for SIGTERM and SIGHUP,
 * EXIT_TERMINATED; an impatient one (stop_request.h) ends the process at once with that code.
 * SIGUSR1 is for those who can leave a job that goes on without them; others ignore it. SIGHUP is
 * left ignored where it was (nohup).
 *
 * Threads: signals_block before any other thread is made; the callbacks run on a thread of their
 *   own. */

#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <pthread.h>

#include "common/status.h"
#include "common/stop_request.h"

struct signals {
    pthread_t thread;
    int incoming; /* signalfd. */
    int stop;     /* eventfd: watching is over. */
    struct stop_request request;
    void (*requested)(void *context, int exit_code);
    void (*leave)(void *context); /* NULL: ignored. */
    void *context;
};

/* Block the signals; call before making any thread. */
void signals_block(void);

enum status signals_start(struct signals *signals, void (*requested)(void *context, int exit_code),
                          void *context);
enum status signals_start_leaving(struct signals *signals,
                                  void (*requested)(void *context, int exit_code),
                                  void (*leave)(void *context), void *context);
void signals_stop(struct signals *signals);

#endif
