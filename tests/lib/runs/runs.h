/* runs.h - made-up run directories, for tests of what reads them. */

#ifndef TESTS_LIB_RUNS_RUNS_H
#define TESTS_LIB_RUNS_RUNS_H

#include <stddef.h>

/* A new folder under /tmp into folder[64]; runs_remove takes it away with all that is in it. */
void runs_make(char *folder);
void runs_remove(const char *folder);

/* Write text to folder/name, making the folder when it is missing. */
void runs_write(const char *folder, const char *name, const char *text);

/* The text of folder/name, malloc'd; the test fails when it cannot be read. */
char *runs_read(const char *folder, const char *name);

/* A finished run of two epochs in folder/name. */
struct made_run {
    const char *name, *mode, *sha256;
    unsigned workers;
    unsigned long long seed;
    double loss, accuracy; /* At the end. */
};
void runs_finished(const char *folder, const struct made_run *run);

#endif
