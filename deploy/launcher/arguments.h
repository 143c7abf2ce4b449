/* arguments.h - converts options back to a command line, for started processes.
 *
 * options.c reads a command line into struct options; this is the inverse, by the same table. A
 * child gets the values that the launcher has checked, from flags, environment or compare, and a
 * new option needs no change here. Values that were never set, or that have no effect with the
 * others (beta1 without adam), are left out.
 *
 * Ownership: the list owns its strings. Threads: plain values.
 * Errors: running out of memory is remembered, and reported by arguments_list. */

#ifndef DEPLOY_LAUNCHER_ARGUMENTS_H
#define DEPLOY_LAUNCHER_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options/options.h"

struct arguments {
    char **items; /* [count] and a NULL, owned. */
    size_t count, capacity;
    bool failed; /* Out of memory. */
};

void arguments_init(struct arguments *arguments, const char *program);
void arguments_free(struct arguments *arguments);

/* Add "--name=value". */
void arguments_add(struct arguments *arguments, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void arguments_add_word(struct arguments *arguments, const char *word);

/* Add every option of `user` but those that identify a process (task-index, ps-hosts, workers, out,
 * ...): the launcher adds these. */
void arguments_add_options(struct arguments *arguments, const struct options *options,
                           enum option_user user);

/* Add the given options that both users have, but those that identify a process: for a program that
 * replaces this one. Options about servers' files go only to servers, and to a worker that trains
 * alone. */
void arguments_add_given(struct arguments *arguments, const struct options *options,
                         enum option_user given_to, enum option_user user, bool alone);

/* Whether "NAME=value" of the environment sets an option. Children do not get such variables: their
 * command line is complete. */
bool arguments_environment_is_option(const char *entry);

/* The list for execve, or NULL when memory ran out. */
char *const *arguments_list(const struct arguments *arguments);

#endif
