/* remote_commands.h - short commands for many hosts: so many at once, each with a deadline, and what each
 * had to say.
 *
 * They are in the process group of whoever sends them, so that Ctrl-C ends all; when he dies
 * otherwise they get SIGTERM.
 *
 * Threads: one. Ownership: remote_command_free what has been run. */

#ifndef DEPLOY_HOSTS_REMOTE_COMMANDS_H
#define DEPLOY_HOSTS_REMOTE_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "deploy/launcher/arguments.h"

#define REMOTE_COMMAND_OUTPUT_MAX 65536 /* What is longer is cut. */
#define REMOTE_COMMAND_LINE_MAX   256

struct remote_command {
    struct arguments command; /* Owned. */

    /* What came of it. */
    int exit_code; /* -1: it could not be started, or a signal ended it. */
    bool late;     /* It was not done in time, and was killed. */
    char *output;  /* [output_bytes] and a zero, owned; NULL: none. */
    char said
        [REMOTE_COMMAND_LINE_MAX]; /* The last line of its standard error that is not blank, or "". */
    double first_at;               /* The wall's seconds when it first said something; 0: never. */

    /* Under way. */
    pid_t pid;
    int files[2]; /* Its output, its errors; -1: closed. */
    double deadline;
    size_t output_bytes;
    char line[REMOTE_COMMAND_LINE_MAX];
    size_t line_bytes;
};

/* All of them; `at_once` at a time at most, and `seconds` for each. */
void remote_commands_run(struct remote_command *remote_commands, size_t count, uint32_t at_once,
                         double seconds);

/* Accepts what was only zeroed. */
void remote_command_free(struct remote_command *remote_command);

/* The one behind a pipe: what `source` prints `sink` reads. Both are to end with 0 within so many
 * seconds. False: `said` [REMOTE_COMMAND_LINE_MAX] has the last line of what went wrong, or is "". */
bool remote_command_pipe(const struct arguments *source, const struct arguments *sink,
                         double seconds, char *said);

#endif
