/* child_end.h - the meaning and the description of a child's end, from its exit code and its last
 * lines.
 *
 * All but child_is_alive and child_has_come are for a child that was started and has ended
 * (child_reap, child_conclude).
 *
 * Threads: plain values. */

#ifndef DEPLOY_LAUNCHER_CHILD_END_H
#define DEPLOY_LAUNCHER_CHILD_END_H

#include <stdbool.h>
#include <stddef.h>

#include "deploy/launcher/children.h"

/* Running, or to be restarted. */
bool child_is_alive(const struct child *child);

/* It has reached its host. If the first start fails the next one would, too: a key, a path or a
 * name is wrong. */
bool child_has_come(const struct child *child);

/* Its exit code, or -1 when a signal ended it. */
int child_exit_code(const struct child *child);

/* Ended as a process does on request: by its protocol, or before its first step. */
bool child_stopped(const struct child *child);

/* "worker/1 was killed by signal 9 (Killed)", with the last error that it printed, if any. */
void child_describe_end(const struct child *child, char *text, size_t bytes);
/* The same, and without an error its last line that is not only dashes: "worker/1 was killed by
 * signal 9 (Killed); its last line: ..." */
void child_explain(const struct child *child, char *text, size_t bytes);

#endif
