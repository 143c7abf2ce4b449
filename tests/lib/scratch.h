/* scratch.h - a directory for the files of one test: made before it, gone after it.
 *
 *     return suite_run("name", scratch_add);
 *
 * Threads: one. */

#ifndef TESTS_LIB_SCRATCH_H
#define TESTS_LIB_SCRATCH_H

#include <check.h>
#include <stddef.h>

#include "common/file/disk.h"

void scratch_open(void);
void scratch_close(void);
void scratch_add(TCase *tcase); /* Both, around each test of a case. */

/* The path of name in the directory into path[DISK_PATH_MAX]. */
void scratch_path(char *path, const char *name);

/* Write, read (malloc'd, with a zero after the last byte that *bytes does not count) and look. */
void scratch_write(const char *path, const void *data, size_t bytes);
char *scratch_read(const char *path, size_t *bytes);
int scratch_has(const char *path);

#endif
