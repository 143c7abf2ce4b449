/* completion.h - what may follow on a command line of ours, from the table of options.
 *
 * A shell asks `syncopate __complete WORD...` at each tab: the words of the line up to the cursor, first the
 * program, last what is being typed, which may be empty. The script that makes it ask is the same for all
 * options and commands, and is printed once by `syncopate completion SHELL`.
 *
 * Threads: constant. */

#ifndef DEPLOY_MANUAL_COMPLETION_H
#define DEPLOY_MANUAL_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options/options_text.h"

#define COMPLETION_BRIEF_MAX 80

/* Write the script for "bash", "zsh" or "fish"; false for another shell. */
bool completion_write(FILE *out, const char *shell);

/* Write a line for each word that may stand at the cursor, "WORD\tHALF A LINE ABOUT IT"; at the end
 * ":files" or ":folders" where their names may stand, too. count: at least 1. In words that bash has cut
 * at "=", "--mode" "=" "sy", the last one is completed alone. */
void completion_offer(FILE *out, int count, char *const *words);

/* Half a line about an option: the first sentence of its help, cut where it gets long. */
void completion_brief(const struct option_row *row, char text[COMPLETION_BRIEF_MAX]);

#endif
