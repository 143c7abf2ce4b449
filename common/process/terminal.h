/* terminal.h - what can be done with the terminal that a stream goes to, if it is one.
 *
 * Threads: any. */

#ifndef COMMON_PROCESS_TERMINAL_H
#define COMMON_PROCESS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* It is a terminal, and not one that TERM calls dumb. */
bool terminal_can_redraw(FILE *out);
/* The same, and NO_COLOR does not forbid it. */
bool terminal_has_colour(FILE *out);
/* Columns; 80 when they are not known. Asked anew each time: windows change their size. */
size_t terminal_width(FILE *out);

/* Some lines that are drawn over and over in the same place. Zeroed is ready. */
struct terminal_block {
    size_t lines; /* On the terminal. */
};

/* Draw the lines of a text in the place of those before, each cut to the width of the terminal,
 * since one that wraps would take two. */
void terminal_draw(struct terminal_block *block, FILE *out, const char *text);

#endif
