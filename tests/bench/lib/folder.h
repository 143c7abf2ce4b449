/* folder.h - a new folder under /tmp for what a benchmark writes; folder_remove is its end. */

#ifndef TESTS_BENCH_LIB_FOLDER_H
#define TESTS_BENCH_LIB_FOLDER_H

#include "common/file/folder.h"

#define FOLDER_PATH_MAX 64

/* Ends the program when it cannot. */
void folder_make(char path[FOLDER_PATH_MAX]);

#endif
