/* completion.h - scripts that teach a shell to complete our command lines, made from the table of
 * options: commands, options, the words that may stand behind one, and files and folders where a
 * path is expected.
 *
 * Every script is for all three programs. What it completes is settled here, once for all shells
 * (struct completion); how a shell wants it said is in completion_bash.c, _zsh.c and _fish.c.
 *
 * Threads: constant. */

#ifndef DEPLOY_MANUAL_COMPLETION_H
#define DEPLOY_MANUAL_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options/options_text.h"

#define COMPLETION_WORDS_MAX 400
#define COMPLETION_BRIEF_MAX 80

/* Write the script for "bash", "zsh" or "fish"; false for another shell. */
bool completion_write(FILE *out, const char *shell);

/* --- for those who write them ---------------------------------------------------------------- */

/* What may stand somewhere. Nothing of all that: any text, such as a number. */
struct completion {
    char words[COMPLETION_WORDS_MAX]; /* "sync async" */
    bool list;                        /* Of such words, with commas. */
    bool files, folders;
};

/* Behind an option; where the argument stands that is no option. */
struct completion completion_of_option(const struct option_row *row);
struct completion completion_of_operand(enum option_user user);

/* Half a line about an option: the first sentence of its help, cut where it gets long. */
void completion_brief(const struct option_row *row, char text[COMPLETION_BRIEF_MAX]);

/* "run" of a command's user; NULL of a program of its own, which has options at once. */
const char *completion_command(enum option_user user);

/* Text as part of a word between apostrophes, where the characters of `escaped` need a backslash.
 */
void completion_quote(FILE *out, const char *text, const char *escaped);

void completion_bash(FILE *out);
void completion_zsh(FILE *out);
void completion_fish(FILE *out);

#endif
