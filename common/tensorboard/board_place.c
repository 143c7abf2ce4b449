/* board_place.c - a folder by the run's name, and who writes there. */

#include "common/tensorboard/board_place.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/file/folder.h"

/* The last part of a path, without what stands for another folder. */
static void last_part(const char *path, char *name, size_t size)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t first = end;
    while (first > 0 && path[first - 1] != '/')
        first--;
    snprintf(name, size, "%.*s", (int)(end - first), path + first);
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        snprintf(name, size, "run");
}

/* "alpha.4711", of letters that a file's name may have anywhere. */
static void name_process(char by[EVENT_FILE_BY_MAX])
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *c) == NULL)
            *c = '_';
    snprintf(by, EVENT_FILE_BY_MAX, "%s.%ld", host[0] != '\0' ? host : "host", (long)getpid());
}

enum status board_place_find(struct board_place *place, const char *directory, const char *run,
                             const char *out, double now, struct error *error)
{
    char name[DISK_PATH_MAX];
    struct timespec date;
    *place = (struct board_place){.folder = ""};
    if (directory == NULL)
        return STATUS_OK;
    if (run != NULL)
        snprintf(name, sizeof name, "%s", run);
    else
        last_part(out, name, sizeof name);
    if (snprintf(place->folder, sizeof place->folder, "%s/%s", directory, name) >=
        DISK_PATH_MAX - EVENT_FILE_BY_MAX - 64)
        return error_set(error, STATUS_INVALID, "--tensorboard: the path is too long");
    name_process(place->by);
    clock_gettime(CLOCK_REALTIME, &date);
    place->date = (double)date.tv_sec + 1e-9 * (double)date.tv_nsec - now;
    return folder_check("--tensorboard", place->folder, error);
}
