/* file_lock.h - a file as a lock that dies with its process, and who holds it.
 *
 * The lock is flock's: the kernel gives it up when the process ends, however that happens, and
 * keeps it while the process is only stopped. Taking it waits a moment, never longer than
 * FILE_LOCK_PATIENCE_MS: a process that was killed takes a little to be gone, the more memory it
 * had the longer. Not for one that is stopped: it would hold the lock for ever.
 *
 * Threads: any. Errors: STATUS_EXISTS with a line that names the holder, if it is on this host;
 * STATUS_IO. */

#ifndef COMMON_FILE_FILE_LOCK_H
#define COMMON_FILE_FILE_LOCK_H

#include <stdbool.h>

#include "common/base/status.h"

#define FILE_LOCK_PATIENCE_MS 1000

/* Who has a lock, as far as the kernel tells. */
struct lock_holder {
    long process; /* 0: not known; it may be on another host. */
    bool stopped;
    char program[32]; /* "": of another user. */
};

/* Lock the open file until it is closed. `what` names for people what the lock stands for. */
enum status file_lock(int file, const char *what, struct error *error);

/* Only look whether file_lock would succeed; takes nothing. */
enum status file_lock_look(int file, const char *what, struct error *error);

/* Whether a process has it at this moment, and which. */
bool file_lock_is_held(int file, struct lock_holder *holder);

/* STATUS_EXISTS with the line that names the holder, and what to do about it. */
enum status file_lock_refusal(const char *what, const struct lock_holder *holder,
                              struct error *error);

#endif
