/* foreign.h - what a file is, by its first bytes, where it is not what a reader expected: for its message.
 *
 * Threads: pure. */

#ifndef COMMON_FILE_FOREIGN_H
#define COMMON_FILE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#define FOREIGN_TEXT_MAX 80

/* "a PNG image", "zeros", "text ('<!DOCTYPE')" of bytes[count], count > 0; false and "" for anything else. */
bool foreign_describe(const void *bytes, size_t count, char text[FOREIGN_TEXT_MAX]);

#endif
