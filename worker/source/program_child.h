/* program_child.h - the process of a program: its start, its end, and what it ended with.
 *
 * `/bin/sh -c COMMAND` in a process group of its own, by which it is ended: a terminal's Ctrl-C reaches
 * the asker alone. Standard input is empty and standard output goes to standard error. Linux kills the
 * shell when the thread that started it ends, so this is called by a thread that lives as long as the
 * process.
 *
 * Threads: the thread that started it. Errors: one line. */

#ifndef WORKER_SOURCE_PROGRAM_CHILD_H
#define WORKER_SOURCE_PROGRAM_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/status.h"

struct program_child {
    pid_t pid;  /* 0: none runs. */
    int pidfd;  /* Readable when it has ended; -1: none. */
    int socket; /* Ours; -1: none. */
};

/* memory: a descriptor that it gets, as well; -1: none, and the socket is its standard input and
 * output. task: SYNCOPATE_TASK_INDEX. */
enum status program_child_start(struct program_child *child, const char *command, int memory,
                                unsigned task, struct error *error);

/* Of one that has ended: whether a signal ended it, itself or what the shell ran; else *code is its exit code. */
bool program_child_ended(struct program_child *child, int *code);

/* Whether it ends within so many seconds. */
bool program_child_ends(const struct program_child *child, double seconds);

/* Kill the whole group, if it still runs, and forget it. */
void program_child_kill(struct program_child *child);

/* Close the socket, by which it ends; kill it when it has not ended after so many seconds. */
void program_child_end(struct program_child *child, double seconds);

#endif
