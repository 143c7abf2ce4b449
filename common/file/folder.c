/* folder.c - walks up from the wanted folder to one that is there, and tries to make a folder in
 * it; removes one by nftw, which follows no link here. */

#include "common/file/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"

#define TRIAL "/.syncopate-XXXXXX"

/* Cut the last part off; "." is above a relative name, and / above all others. */
static void go_up(char path[DISK_PATH_MAX])
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        strcpy(path, ".");
    else if (slash == path)
        path[1] = '\0';
    else
        *slash = '\0';
}

/* A folder can only be made where one can: permissions alone do not tell (/proc has none to spare
 * for root, and no room either). */
static enum status try_to_make(const char *option, const char *above, const char *directory,
                               struct error *error)
{
    char trial[DISK_PATH_MAX + sizeof TRIAL];
    snprintf(trial, sizeof trial, "%s" TRIAL, above);
    if (mkdtemp(trial) == NULL)
        return error_set(error, STATUS_IO,
                         "%s: cannot make %.200s: no folder can be made in %.200s: %s", option,
                         directory, above, strerror(errno));
    rmdir(trial);
    return STATUS_OK;
}

/* `path`: the directory, or what there is of the way to it. */
static enum status check(const char *option, const char *path, const char *directory,
                         struct error *error)
{
    struct stat about;
    bool there = strcmp(path, directory) == 0;
    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode) && there)
        return error_set(error, STATUS_IO, "%s: %.300s is not a folder", option, path);
    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode))
        return error_set(error, STATUS_IO, "%s: cannot make %.200s: %.200s is not a folder", option,
                         directory, path);
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        return error_set(error, STATUS_IO, "%s: cannot write to %.300s: %s", option, path,
                         strerror(errno));
    return there ? STATUS_OK : try_to_make(option, path, directory, error);
}

enum status folder_check(const char *option, const char *directory, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct stat about;
    if (directory[0] == '\0' || strlen(directory) >= sizeof path)
        return error_set(error, STATUS_INVALID, "%s: not a usable path: '%.300s'", option,
                         directory);
    strcpy(path, directory);
    while (stat(path, &about) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        if (lstat(path, &about) == 0)
            return error_set(error, STATUS_IO, "%s: %.300s is a symbolic link that leads nowhere",
                             option, path);
        go_up(path);
    }
    return check(option, path, directory, error);
}

/* --- removing -------------------------------------------------------------------------------- */

#define DESCRIPTORS 16

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

enum status folder_remove(const char *path, struct error *error)
{
    if (nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return STATUS_OK;
    return error_set(error, STATUS_IO, "cannot remove %.250s: %s", path, strerror(errno));
}
