/* outlet.c - opens the terminal or pipe anew so that writes do not wait, or else asks first whether
 * they would; keeps the rest of a line of which only the beginning was taken. */

#include "common/process/outlet.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The same terminal or pipe, but writes to it do not wait; -1 when that cannot be had (there is no
 * /proc, the terminal is of another user). */
static int open_anew(int file)
{
    char path[64];
    struct stat about;
    if (fstat(file, &about) != 0 || (!S_ISFIFO(about.st_mode) && !isatty(file)))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void outlet_open(struct outlet *outlet, int file)
{
    int anew = open_anew(file);
    outlet->own = anew >= 0;
    outlet->file = outlet->own ? anew : file;
    outlet->rest_bytes = 0;
}

void outlet_close(struct outlet *outlet)
{
    if (outlet->own)
        close(outlet->file);
    outlet->own = false;
    outlet->file = -1;
}

/* What could not be opened anew is asked first, which leaves a gap only where the last bytes of
 * room are. */
static ssize_t write_now(int file, const char *bytes, size_t count)
{
    struct pollfd poll_file = {.fd = file, .events = POLLOUT};
    if (poll(&poll_file, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t written;
    do
        written = write(file, bytes, count);
    while (written < 0 && errno == EINTR);
    return written;
}

static enum outlet_result put_rest(struct outlet *outlet)
{
    if (outlet->rest_bytes == 0)
        return OUTLET_TAKEN;
    ssize_t written = write_now(outlet->file, outlet->rest, outlet->rest_bytes);
    if (written < 0)
        return errno == EAGAIN ? OUTLET_FULL : OUTLET_GONE;
    outlet->rest_bytes -= (size_t)written;
    memmove(outlet->rest, outlet->rest + written, outlet->rest_bytes);
    return outlet->rest_bytes == 0 ? OUTLET_TAKEN : OUTLET_FULL;
}

enum outlet_result outlet_put(struct outlet *outlet, const char *line, size_t bytes)
{
    assert(bytes <= OUTLET_LINE_MAX);
    enum outlet_result result = put_rest(outlet);
    if (result != OUTLET_TAKEN)
        return result;
    ssize_t written = write_now(outlet->file, line, bytes);
    if (written < 0)
        return errno == EAGAIN ? OUTLET_FULL : OUTLET_GONE;
    outlet->rest_bytes = bytes - (size_t)written;
    memcpy(outlet->rest, line + written, outlet->rest_bytes);
    return OUTLET_TAKEN;
}
