/* signal_file.h - the launcher's signals as bytes of a signalfd: without handlers or globals, and a
 * poll waits for them as for a pipe.
 *
 * SIGTERM and SIGCHLD always, SIGINT and SIGHUP unless they were ignored. They are blocked
 * meanwhile, in the opening thread and in those that it creates.
 *
 * Threads: one, before it has others. */

#ifndef DEPLOY_LAUNCHER_SIGNAL_FILE_H
#define DEPLOY_LAUNCHER_SIGNAL_FILE_H

#include <signal.h>

#include "common/base/status.h"

struct signal_file {
    int file; /* -1: not open. */
    sigset_t before;
};

/* On failure no signal is blocked, and file is -1. */
enum status signal_file_open(struct signal_file *signals, struct error *error);

/* The next pending signal, but for SIGCHLD, which only wakes; 0: none. */
int signal_file_next(const struct signal_file *signals);

/* Restores the former signals. A pending one that was not read then has its former effect. No
 * effect when it is not open. */
void signal_file_close(struct signal_file *signals);

#endif
