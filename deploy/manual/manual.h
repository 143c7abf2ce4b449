/* manual.h - pages of the manual, made from the table of options and additional texts.
 *
 * A page for each program and each command, syncopate-run(1) like git, and syncopate(1) for all; in
 * mdoc(7). They have all of --help, and more: files and variables.
 *
 * Threads: constant. */

#ifndef DEPLOY_MANUAL_MANUAL_H
#define DEPLOY_MANUAL_MANUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MANUAL_NAME_MAX 64

/* "syncopate-run" of page `index` into name; false when there are no more. */
bool manual_page(size_t index, char name[MANUAL_NAME_MAX]);

/* Write the page of this name, or of the command or role of this name ("run", "worker"); false when
 * there is none. */
bool manual_write(FILE *out, const char *name);

#endif
