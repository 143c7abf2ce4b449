/* golden.h - what came out when it was last looked at and found right, kept in a file of its own.
 *
 *     # What the file holds and why a change of it matters.
 *     welcome 08021001...          a name without spaces, and what belongs to it
 *
 * A test gives every name and value there is now. It fails when one differs, has no line, or when a
 * line of the file is left over. With TEST_GOLDEN=write in the environment the file is written anew
 * (but for its comment) and the test fails all the same, because nothing was compared.
 *
 * Threads: one. Paths are from the top of the sources, where tests are run. */

#ifndef TESTS_LIB_GOLDEN_H
#define TESTS_LIB_GOLDEN_H

#include <stddef.h>

struct golden;

struct golden *golden_open(const char *path);

/* NULL when the file has none of that name. */
const char *golden_find(const struct golden *golden, const char *name);

void golden_line(struct golden *golden, const char *name, const char *value);

/* When all lines have been given: fail for what differs, each named, with `advice` below. */
void golden_check(struct golden *golden, const char *advice);

void golden_free(struct golden *golden);

#endif
