/* run_tree.c - nftw, which follows no link here. */

#include "deploy/compare/run_tree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

#define DESCRIPTORS 16

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

enum status run_tree_remove(const char *path, struct error *error)
{
    if (nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return STATUS_OK;
    return error_set(error, STATUS_IO, "cannot remove %.250s: %s", path, strerror(errno));
}
