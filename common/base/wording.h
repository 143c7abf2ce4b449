/* wording.h - numbers, and texts in lines, as people read them, so that all programs say the same
 * thing alike.
 *
 *     printf("%s, %s\n", wording_counted(2814, "update", "updates").text,
 *            wording_duration(3725.4).text);                         2,814 updates, 1 h 2 min
 *
 * What comes back lives to the end of the full expression it is made in.
 *
 * Threads: pure, but for wording_wrap's stream. */

#ifndef COMMON_BASE_WORDING_H
#define COMMON_BASE_WORDING_H

#include <stdint.h>
#include <stdio.h>

#define WORDING_COLUMNS 80 /* Of a page. */

struct wording {
    char text[96];
};

/* "121,930" */
struct wording wording_count(uint64_t count);

/* "1 server", "121,930 examples" */
struct wording wording_counted(uint64_t count, const char *one, const char *many);

/* "512 B", "1.2 MiB" */
struct wording wording_bytes(uint64_t bytes);

/* Seconds, in the two largest units that matter: "0 s", "<1 ms", "40 ms", "5.7 s", "45 s", "4 min
 * 50 s", "1 h 2 min", "3 d 4 h"; "?" when they are negative, infinite or not a number. */
struct wording wording_duration(double seconds);

/* The same in whole seconds, for what still goes on: "0 s", "5 s". */
struct wording wording_waited(double seconds);

/* A part of 1 in percent, behind these words: "  accuracy 89.50 %"; "" when it is not a number. */
struct wording wording_percent(const char *before, double part, int digits);

/* Append to text[size], which is a text; what does not fit is cut. */
void wording_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Print a text and a newline, its lines broken between words. The first line goes on from `column`,
 * after a blank where that is beyond `indent`; later ones start at `indent`. */
void wording_wrap(FILE *out, const char *text, int column, int indent);

#endif
