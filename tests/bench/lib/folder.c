/* folder.c - made by mkdtemp, and removed from its leaves up. */

#include "tests/bench/lib/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define DESCRIPTORS 8

void folder_make(char path[FOLDER_PATH_MAX])
{
    snprintf(path, FOLDER_PATH_MAX, "/tmp/syncopate-bench-XXXXXX");
    if (mkdtemp(path) == NULL) {
        fprintf(stderr, "cannot make a folder in /tmp\n");
        exit(EXIT_FAILURE);
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void folder_remove(const char *path)
{
    nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
