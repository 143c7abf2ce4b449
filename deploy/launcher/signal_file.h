/* signal_file.h - the signals that a launcher takes, as bytes of a signalfd: there are no handlers and no
 * globals, and a poll waits for them as for a pipe.
 *
 * SIGTERM and SIGCHLD always, SIGINT and SIGHUP unless they were ignored. They are blocked meanwhile, in
 * the thread that opens it and those that it makes.
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

/* When it fails no signal is blocked, and file is -1. */
enum status signal_file_open(struct signal_file *signals, struct error *error);

/* The next signal that has come, but for SIGCHLD, which only wakes; 0: none. */
int signal_file_next(const struct signal_file *signals);

/* Signals are as they were before. One that has come and was not read is then taken as it would have
 * been. Nothing to do where it is not open. */
void signal_file_close(struct signal_file *signals);

#endif
