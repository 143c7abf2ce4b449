/* output.c - flushes standard output and closes a copy of it, to hear what stdio would not say. */

#include "common/process/output.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#define UNREAD "it is not read"

/* A pipe or socket whose reader is gone. */
static bool is_unread(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/* 0: what went wrong has been forgotten; stdio only knows that something did. */
static const char *describe(int reason)
{
    if (reason == EPIPE || (reason == 0 && is_unread()))
        return UNREAD;
    if (reason == EBADF)
        return "it is closed";
    return reason == 0 ? "not all of it was taken" : strerror(reason);
}

/* Some file systems say only now that there was no room; closing a copy makes them. */
static bool close_copy(void)
{
    int copy = dup(STDOUT_FILENO);
    return copy >= 0 && close(copy) == 0;
}

enum status output_finish(struct error *error)
{
    bool lost = ferror(stdout) != 0;
    errno = 0;
    bool written = fflush(stdout) == 0 && close_copy();
    int reason = written ? 0 : errno;
    clearerr(stdout);
    __fpurge(stdout);
    if (written && !lost)
        return STATUS_OK;
    const char *why = describe(reason);
    return error_set(error, strcmp(why, UNREAD) == 0 ? STATUS_UNREACHABLE : STATUS_IO,
                     "cannot write to standard output: %s", why);
}
