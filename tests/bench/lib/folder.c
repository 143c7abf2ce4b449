/* folder.c - made by mkdtemp. */

#include "tests/bench/lib/folder.h"

#include <stdio.h>
#include <stdlib.h>

void folder_make(char path[FOLDER_PATH_MAX])
{
    snprintf(path, FOLDER_PATH_MAX, "/tmp/syncopate-bench-XXXXXX");
    if (mkdtemp(path) == NULL) {
        fprintf(stderr, "cannot make a folder in /tmp\n");
        exit(EXIT_FAILURE);
    }
}
