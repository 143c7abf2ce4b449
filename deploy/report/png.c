/* png.c - one child process after the other, polled every few milliseconds until it has ended or
 * its time is over. */

#include "deploy/report/png.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"

#define PROGRAM       "rsvg-convert"
#define LOOK_NS       3000000
#define NOT_THERE     127 /* Exit codes of a child that could not become the converter. */
#define NOT_STARTED   126
#define PICTURES_MAX  64
#define NAME_ROOM     64
#define SIGNATURE     "\x89PNG\r\n\x1a\n"
#define SIGNATURE_LEN 8

struct pictures {
    char names[PICTURES_MAX][NAME_ROOM]; /* Without ".svg". */
    size_t count;
};

struct paths {
    char svg[DISK_PATH_MAX + NAME_ROOM + 16], part[DISK_PATH_MAX + NAME_ROOM + 16],
        png[DISK_PATH_MAX + NAME_ROOM + 16];
};

static void set_paths(struct paths *paths, const char *folder, const char *name)
{
    snprintf(paths->svg, sizeof(paths->svg), "%s/%s.svg", folder, name);
    snprintf(paths->part, sizeof(paths->part), "%s/.%s.png.part", folder, name);
    snprintf(paths->png, sizeof(paths->png), "%s/%s.png", folder, name);
}

void png_forget(const char *folder, const char *name)
{
    struct paths paths;
    set_paths(&paths, folder, name);
    unlink(paths.png); /* Usually it does not exist. */
}

/* --- the child ----------------------------------------------------------------------------- */

/* Never returns. Calls only functions that are allowed between fork and exec. */
static void become_converter(const struct paths *paths, pid_t parent)
{
    const char *const words[] = {PROGRAM,     "--zoom", "2",        "--output",
                                 paths->part, "--",     paths->svg, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDWR);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || nothing < 0)
        _exit(NOT_STARTED);
    for (int i = 0; i <= 2; i++)
        dup2(nothing, i);
    closefrom(3);
    execvp(PROGRAM, (char *const *)(uintptr_t)words);
    _exit(errno == ENOENT ? NOT_THERE : NOT_STARTED);
}

/* Its wait status, or -1 when its time was over: then it and all of its group are gone. */
static int await(pid_t pid, double deadline)
{
    int status;
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return status;
        if ((ended < 0 && errno != EINTR) || clock_now_seconds() > deadline)
            break;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return -1;
}

static bool is_png(const char *path)
{
    char begin[SIGNATURE_LEN];
    FILE *file = fopen(path, "re");
    bool is = file != NULL && fread(begin, 1, sizeof(begin), file) == sizeof(begin) &&
              memcmp(begin, SIGNATURE, SIGNATURE_LEN) == 0;
    if (file != NULL)
        fclose(file);
    return is;
}

/* "" for success, else the reason. */
static void convert(const struct paths *paths, double seconds, char *why, size_t bytes)
{
    pid_t parent = getpid(), pid = fork();
    snprintf(why, bytes, "%s", "");
    if (pid == 0)
        become_converter(paths, parent);
    if (pid < 0) {
        snprintf(why, bytes, "cannot be started: %s", strerror(errno));
        return;
    }
    setpgid(pid, pid); /* In parent and child: the first one counts. */
    int status = await(pid, clock_now_seconds() + seconds);
    if (status == -1)
        snprintf(why, bytes, "took longer than %.3g s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, bytes, "was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == NOT_THERE)
        snprintf(why, bytes, "is not installed (Debian's librsvg2-bin)");
    else if (WEXITSTATUS(status) != 0)
        snprintf(why, bytes, "ended with %d", WEXITSTATUS(status));
    else if (!is_png(paths->part))
        snprintf(why, bytes, "wrote no PNG");
    else if (rename(paths->part, paths->png) != 0)
        snprintf(why, bytes, "wrote what cannot be renamed: %s", strerror(errno));
    unlink(paths->part);
}

/* --- all of them --------------------------------------------------------------------------- */

static void take_name(void *argument, const char *name)
{
    struct pictures *pictures = argument;
    size_t length = strlen(name);
    if (length <= 4 || length >= NAME_ROOM || strcmp(name + length - 4, ".svg") != 0 ||
        name[0] == '.' || pictures->count == PICTURES_MAX)
        return;
    snprintf(pictures->names[pictures->count++], NAME_ROOM, "%.*s", (int)(length - 4), name);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(left, right);
}

bool png_make(const char *folder, struct png_limits limits, char *remark)
{
    struct pictures pictures = {.count = 0};
    struct error unread;
    char why[PNG_REMARK_MAX - 100];
    double end = clock_now_seconds() + limits.all;
    snprintf(remark, PNG_REMARK_MAX, "%s", "");
    if (strlen(folder) >= DISK_PATH_MAX ||
        disk_posix.list_directory(disk_posix.context, folder, take_name, &pictures, &unread) !=
            STATUS_OK)
        return true; /* Of nothing. */
    qsort(pictures.names, pictures.count, NAME_ROOM, by_name);
    for (size_t i = 0; i < pictures.count; i++) {
        struct paths paths;
        double left = end - clock_now_seconds();
        set_paths(&paths, folder, pictures.names[i]);
        png_forget(folder, pictures.names[i]);
        if (remark[0] != '\0')
            continue;
        convert(&paths, left < limits.one ? (left > 0 ? left : 0) : limits.one, why, sizeof(why));
        if (why[0] != '\0')
            snprintf(remark, PNG_REMARK_MAX, "figures%s%s%s are SVG alone: " PROGRAM " %s",
                     i > 0 ? " from " : "", i > 0 ? pictures.names[i] : "", i > 0 ? " on" : "",
                     why);
    }
    return remark[0] == '\0';
}
