/* signals.h - turns SIGINT and SIGTERM into one clean request to stop, and SIGUSR1 into one to
 * leave.
 *
 * The signals are blocked in every thread and waited for by one, so no handler ever runs in the
 * middle of anything. The first signal calls back with EXIT_INTERRUPTED or EXIT_TERMINATED; a
 * second one ends the process at once with that code. SIGUSR1 is for those who can leave a job that
 * goes on without them; others ignore it.
 *
 * Threads: signals_start before any other thread is made; the callback runs on its own thread. */

#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/status.h"

struct signals {
    pthread_t thread;
    atomic_bool stop;
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
