/* remote_commands.h - short commands for many hosts: a number in parallel, each with a deadline,
 * and their output.
 *
 * They are in the process group of the caller: Ctrl-C ends all. When the caller dies otherwise they
 * get SIGTERM.
 *
 * Threads: one. Ownership: call remote_command_free after the run. */

#ifndef DEPLOY_HOSTS_REMOTE_COMMANDS_H
#define DEPLOY_HOSTS_REMOTE_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "deploy/launcher/arguments.h"

#define REMOTE_COMMAND_OUTPUT_MAX 65536 /* Longer output is truncated. */
#define REMOTE_COMMAND_LINE_MAX   256

struct remote_command {
    struct arguments command; /* Owned. */

    int exit_code;                      /* -1: it could not be started, or a signal ended it. */
    bool late;                          /* It missed the deadline, and was killed. */
    char *output;                       /* [output_bytes] and a zero, owned; NULL: none. */
    char said[REMOTE_COMMAND_LINE_MAX]; /* The last line of its standard error that is not blank, or
                                    * "". */
    double first_at;                    /* Wall-clock seconds of its first output; 0: none. */

    /* While running. */
    pid_t pid;
    int files[2]; /* Its standard output and error; -1: closed. */
    double deadline;
    size_t output_bytes;
    char line[REMOTE_COMMAND_LINE_MAX];
    size_t line_bytes;
};

/* Runs all; at most `at_once` in parallel, and `seconds` for each. */
void remote_commands_run(struct remote_command *remote_commands, size_t count, uint32_t at_once,
                         double seconds);

/* Accepts a zeroed struct. */
void remote_command_free(struct remote_command *remote_command);

/* A pipe from `source` to `sink`. Both have to exit with 0 within so many seconds. False: `said`
 * [REMOTE_COMMAND_LINE_MAX] has the last line of the error output, or "". */
bool remote_command_pipe(const struct arguments *source, const struct arguments *sink,
                         double seconds, char *said);

#endif
