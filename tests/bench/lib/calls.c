/* calls.c - counts, then calls what it stands in front of. */

#undef _FORTIFY_SOURCE /* Its poll and recv are inline functions. */

#include "tests/bench/lib/calls.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct calls own, *counted = &own;
static _Thread_local bool uses_epoll; /* To sleep. */
static int (*next_poll)(struct pollfd *, nfds_t, int);
static int (*next_epoll_wait)(int, struct epoll_event *, int, int);
static ssize_t (*next_send)(int, const void *, size_t, int);
static ssize_t (*next_recv)(int, void *, size_t, int);

__attribute__((constructor)) static void find(void)
{
    *(void **)&next_poll = dlsym(RTLD_NEXT, "poll");
    *(void **)&next_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
    *(void **)&next_send = dlsym(RTLD_NEXT, "send");
    *(void **)&next_recv = dlsym(RTLD_NEXT, "recv");
}

void calls_count(struct calls *calls)
{
    counted = calls;
}

int poll(struct pollfd *items, nfds_t count, int timeout)
{
    int found = next_poll(items, count, timeout);
    counted->polls += !uses_epoll;
    counted->wakings += !uses_epoll && found > 0 && timeout != 0;
    return found;
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    uses_epoll = uses_epoll || timeout != 0;
    return next_epoll_wait(set, events, most, timeout);
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    counted->sends++;
    return next_send(fd, data, bytes, flags);
}

ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    counted->receives++;
    return next_recv(fd, data, bytes, flags);
}
