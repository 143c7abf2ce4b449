/* completion.h - completions of our command lines, from the table of options.
 *
 * A shell asks `syncopate __complete WORD...` at each tab: the words of the line up to the cursor,
 * first the program, last the word at the cursor, which may be empty. The shell's script is the
 * same for all options and commands; `syncopate completion SHELL` prints it.
 *
 * Threads: constant. */

#ifndef DEPLOY_MANUAL_COMPLETION_H
#define DEPLOY_MANUAL_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options/options_text.h"

/* Write the script for "bash", "zsh" or "fish"; false for another shell. */
bool completion_write(FILE *out, const char *shell);

/* Write a line for each completion at the cursor, "WORD\tHALF A LINE ABOUT IT" (of an option the
 * first sentence of its help, cut where it gets long); at the end ":files"
 * or ":folders" where their names are allowed, too. count: at least 1. bash splits words at "=": of
 * "--mode" "=" "sy" the last one is completed alone. */
void completion_offer(FILE *out, int count, char *const *words);

#endif
