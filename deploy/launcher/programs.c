/* programs.c - four places, in order; the first with a syncopate-ps counts. */

#include "deploy/launcher/programs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define ROLE_PROGRAM "syncopate-ps"

static bool has_programs(const char *folder)
{
    char path[PATH_MAX + sizeof ROLE_PROGRAM + 1];
    snprintf(path, sizeof path, "%s/" ROLE_PROGRAM, folder);
    return access(path, X_OK) == 0;
}

/* The folder of a path; "." of one without slashes. */
static void folder_of(char folder[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(folder, PATH_MAX, ".");
    else
        snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static bool from_kernel(char folder[PATH_MAX])
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    folder_of(folder, path);
    return has_programs(folder);
}

static bool from_start(char folder[PATH_MAX])
{
    /* getauxval has no pointers, only numbers. */
    const char *started = (const char *)getauxval(AT_EXECFN); // NOLINT
    char real[PATH_MAX];
    if (started == NULL)
        return false;
    folder_of(folder, started);
    if (has_programs(folder))
        return true;
    if (realpath(started, real) == NULL)
        return false;
    folder_of(folder, real);
    return has_programs(folder);
}

static bool from_path(char folder[PATH_MAX])
{
    const char *list = getenv("PATH");
    while (list != NULL) {
        size_t length = strcspn(list, ":");
        snprintf(folder, PATH_MAX, "%.*s", length > 0 ? (int)length : 1, length > 0 ? list : ".");
        if (has_programs(folder))
            return true;
        list = list[length] == ':' ? list + length + 1 : NULL;
    }
    return false;
}

enum status programs_find(char folder[PATH_MAX], struct error *error)
{
    const char *named = getenv("SYNCOPATE_BIN_DIR");
    if (named != NULL && named[0] != '\0') {
        snprintf(folder, PATH_MAX, "%s", named);
        return STATUS_OK;
    }
    if (from_kernel(folder) || from_start(folder) || from_path(folder))
        return STATUS_OK;
    return error_set(error, STATUS_NOT_FOUND,
                     "cannot find " ROLE_PROGRAM " beside this program, nor in PATH");
}
