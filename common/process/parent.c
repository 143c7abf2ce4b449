/* parent.c - poll and read on standard input, which ends when the launcher that holds its other end does. */

#include "common/process/parent.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"

static bool can_be_read(int timeout_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, timeout_ms) > 0;
}

enum status parent_greet(double seconds, struct error *error)
{
    char byte = 0;
    double left, deadline = clock_now_seconds() + seconds;
    while (byte != '\n') {
        left = deadline - clock_now_seconds();
        if (left <= 0)
            return error_set(error, STATUS_TIMEOUT,
                             "--parent-stdin: no line came on standard input within %s",
                             wording_duration(seconds).text);
        if (!can_be_read((int)(1e3 * left) + 1))
            continue;
        ssize_t count = read(STDIN_FILENO, &byte, 1);
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return error_set(error, STATUS_INVALID,
                             "--parent-stdin: standard input cannot be read: %s", strerror(errno));
        if (count == 0)
            return error_set(error, STATUS_INVALID,
                             "--parent-stdin: standard input ended before its first line; is it "
                             "/dev/null, as in batch scripts, ssh -n and exec without -i?");
    }
    return STATUS_OK;
}

enum parent_news parent_look(char *word)
{
    while (can_be_read(0)) {
        ssize_t count = read(STDIN_FILENO, word, 1);
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            return PARENT_SILENT;
        if (count <= 0)
            return PARENT_GONE;
        if (*word == PARENT_INTERRUPTS || *word == PARENT_TERMINATES || *word == PARENT_KILLS)
            return PARENT_ASKS;
    }
    return PARENT_SILENT;
}
