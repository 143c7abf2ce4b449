/* command.h - the commands of `syncopate`, and what they share.
 *
 * A command is a command_fn: the result is an enum exit_code, and what went wrong, when there is
 * something to say, is in `error`, for syncopate_main.c to say in one line, "syncopate x: ...", on
 * standard error. It writes what was asked for to standard output. To add one: write command_x.c,
 * declare it here, give it a row in syncopate_main.c.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_COMMAND_H
#define DEPLOY_COMMAND_COMMAND_H

#include <stdbool.h>

#include "common/base/status.h"
#include "common/file/json_writer.h"
#include "common/options/options.h"
#include "common/process/log_line.h"

/* How a command was called: argv from the command's name on, of which options are; and, where a file that
 * was named says more of them (plan_words.h), what was typed. */
struct command_call {
    struct options options;
    int argc;
    char **argv;
    int typed_argc;
    char **typed;
};

typedef int command_fn(const struct command_call *call, struct error *error);

command_fn command_run, command_compare, command_evaluate, command_export, command_inspect;
command_fn command_simulate, command_calibrate, command_verify, command_keygen, command_completion,
    command_man, command_replay, command_trace, command_leave, command_task, command_launch,
    command_probe;

/* --- shared ---------------------------------------------------------------------------------- */

/* Say "program: text" on standard error, or the same as JSON. */
void command_say(const char *program, enum log_level level, const char *text);

/* Say what went wrong, and return code. */
int command_fail(const char *program, int code, const struct error *error);

/* Whether the folder of keys has what a server and so many workers need: keys_check, and whether
 * the halves of each secret certificate belong together. An exit code. */
int command_check_keys(const char *directory, uint32_t workers, struct error *error);

/* Of a path that could not be read and is a comparison's folder: make the error say so. */
void command_explain_comparison(const char *path, struct error *error);

/* Print what was written, and a newline; then the writer is freed. */
enum status command_print_json(struct json_writer *writer, struct error *error);

/* The exit code of a failure to read or write something a person named. */
int command_exit_code(enum status status);

#endif
