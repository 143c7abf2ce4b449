/* child_end.h - what a child's end means and how it is told, from its exit code and its last lines.
 *
 * All but child_is_alive and child_has_come are asked of a child that was started and has ended
 * (child_reap, child_conclude).
 *
 * Threads: plain values. */

#ifndef DEPLOY_LAUNCHER_CHILD_END_H
#define DEPLOY_LAUNCHER_CHILD_END_H

#include <stdbool.h>
#include <stddef.h>

#include "deploy/launcher/children.h"

/* Running, or about to be again. */
bool child_is_alive(const struct child *child);

/* It has been where it is to run. A first start that fails would fail again: a key, a path or a name is
 * wrong. */
bool child_has_come(const struct child *child);

/* Its exit code, or -1 when a signal ended it. */
int child_exit_code(const struct child *child);

/* Ended as a process does that was asked to: by its protocol, or too young to have one. */
bool child_stopped(const struct child *child);

/* "worker/1 was killed by signal 9 (Killed)", and what it had said was wrong, if it had. */
void child_describe_end(const struct child *child, char *text, size_t bytes);
/* The same, and where it had said nothing wrong its last line of more than dashes: "worker/1 was
 * killed by signal 9 (Killed); its last line: ..." */
void child_explain(const struct child *child, char *text, size_t bytes);

#endif
