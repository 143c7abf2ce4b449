/* json_line.h - in which line of a JSON text a value stands: its reader (json.h) forgets it, and a program that
 * wrote the text by hand wants to know.
 *
 * A value is named by the way to it, a number for each level: of the member of an object, or of the item
 * of an array, as they stand in the text, from 0 on. (Not by names, which a text may write in several
 * ways.)
 *
 * Threads: pure. */

#ifndef COMMON_FILE_JSON_LINE_H
#define COMMON_FILE_JSON_LINE_H

#include <stddef.h>

/* From 1 on; of a member the line in which its name begins. text is valid JSON, which json_parse has
 * taken, and has such a value: else it is some line of it. */
unsigned json_line(const char *text, size_t bytes, const size_t *way, size_t levels);

#endif
