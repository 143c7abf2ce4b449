/* arguments.h - options turned back into a command line, for the processes we start.
 *
 * options.c reads a command line into struct options; this is the way back, along the same table,
 * so that a child gets the values the launcher has checked, wherever they came from (flags,
 * environment, compare's own choices), and a new option needs nothing here. Values that were never
 * set, or that do not matter with the others (beta1 without adam), are left out.
 *
 * Ownership: the list owns its strings. Threads: plain values.
 * Errors: running out of memory is remembered, and told by arguments_list. */

#ifndef DEPLOY_LAUNCHER_ARGUMENTS_H
#define DEPLOY_LAUNCHER_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options/options.h"

struct arguments {
    char **items; /* [count] and a NULL, owned. */
    size_t count, capacity;
    bool failed; /* Out of memory on the way. */
};

void arguments_init(struct arguments *arguments, const char *program);
void arguments_free(struct arguments *arguments);

/* Add "--name=value". */
void arguments_add(struct arguments *arguments, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Add a word as it is. */
void arguments_add_word(struct arguments *arguments, const char *word);

/* Add every option of `user` but those by which a process learns its place (task-index, ps-hosts,
 * workers, out, ...): only the launcher knows these. */
void arguments_add_options(struct arguments *arguments, const struct options *options,
                           enum option_user user);

/* Add what was given of the options that both users have, but those by which a process learns its
 * place: for a process that takes this one's place. Nobody but a server, and who trains alone, is
 * told what servers do with files. */
void arguments_add_given(struct arguments *arguments, const struct options *options,
                         enum option_user given_to, enum option_user user, bool alone);

/* Whether "NAME=value" of the environment sets an option. Children are started without such: their
 * command line says all. */
bool arguments_environment_is_option(const char *entry);

/* The list for execve, or NULL when memory ran out. */
char *const *arguments_list(const struct arguments *arguments);

#endif
