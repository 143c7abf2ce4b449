/* command.h - the commands of `syncopate`, and their shared functions.
 *
 * A command is a command_fn: the result is an enum exit_code, with a line in `error` when there is
 * one; syncopate_main.c prints it as "syncopate x: ..." on standard error. The result of the
 * command goes to standard output. To add one: write command_x.c, declare it here, give it a row in
 * syncopate_main.c.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_COMMAND_H
#define DEPLOY_COMMAND_COMMAND_H

#include <stdbool.h>

#include "common/base/status.h"
#include "common/file/json_writer.h"
#include "common/options/options.h"
#include "common/process/log_line.h"

/* The call of a command: argv from the command's name on, which options are parsed from; and the
 * typed words, when a named file adds others (plan_words.h). */
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
    command_probe, command_serve, command_lab, command_figure;

/* --- shared ----------------------------------------------------------------------------------- */

/* Print "program: text" on standard error, or the same as JSON. */
void command_say(const char *program, enum log_level level, const char *text);

int command_fail(const char *program, int code, const struct error *error);

/* Whether the folder of keys is complete for a server and so many workers: keys_check, and whether
 * the halves of each secret certificate match. An exit code. */
int command_check_keys(const char *directory, uint32_t workers, struct error *error);

/* If a path that could not be read is a comparison's folder: let the error say so. */
void command_explain_comparison(const char *path, struct error *error);

/* Print the writer's text and a newline, and free the writer. */
enum status command_print_json(struct json_writer *writer, struct error *error);

/* The exit code of a failure to read or write a path that a person named. */
int command_exit_code(enum status status);

#endif
