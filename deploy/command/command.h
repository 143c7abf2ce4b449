/* command.h - the commands of `syncopate`, and what they share.
 *
 * A command is `int command_x(int argc, char **argv)`: argv[0] is its name, the result an enum
 * exit_code. It says what went wrong in one line, "syncopate x: ...", on standard error, and writes
 * what was asked for to standard output. To add one: write command_x.c, declare it here, give it a
 * row in syncopate_main.c.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_COMMAND_H
#define DEPLOY_COMMAND_COMMAND_H

#include <stdbool.h>

#include "common/base/status.h"
#include "common/job/variable.h"
#include "common/options/options.h"
#include "common/process/log_line.h"

int command_run(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_export(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_keygen(int argc, char **argv);
int command_completion(int argc, char **argv);
int command_man(int argc, char **argv);

/* --- shared ---------------------------------------------------------------------------------- */

/* options_begin, and the log as the options say. */
bool command_begin(struct options *options, enum option_user user, int argc, char **argv,
                   int *exit_code);

/* Say "program: text" on standard error, or the same as JSON. */
void command_say(const char *program, enum log_level level, const char *text);

/* Say what went wrong, and return code. */
int command_fail(const char *program, int code, const struct error *error);

/* Whether the folder of keys has what a server and so many workers need: keys_check, and whether
 * the halves of each secret certificate belong together. An exit code. */
int command_check_keys(const char *directory, uint32_t workers, struct error *error);

/* Of a path that could not be read and is a comparison's folder: make the error say so. */
void command_explain_comparison(const char *path, struct error *error);

/* The exit code of a failure to read or write something a person named. */
int command_exit_code(enum status status);

/* "[3,3,1,32]" into text[COMMAND_SHAPE_MAX], which is returned. */
#define COMMAND_SHAPE_MAX 200
char *command_shape(const struct variable *variable, char text[COMMAND_SHAPE_MAX]);

#endif
