/* greeting.c - connects with a socket of its own, says the first bytes of a ZMTP greeting, reads
 * the other side's and looks at the mechanism in it; every step has a deadline. */

#include "common/address/greeting.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/address/resolver.h"
#include "common/base/clock.h"

/* A ZMTP 3 greeting: signature [10], version [2], mechanism [20], as-server, filler to 64. Each
 * side sends the mechanism once it has the other's signature and major version. */
#define MECHANISM_AT    12
#define MECHANISM_BYTES 20

static int connect_to(const char *place, int timeout_ms)
{
    struct sockaddr_storage address;
    socklen_t size;
    if (!resolver_socket_address(place, &address, &size))
        return -1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    /* Linux has the time to send stand for the time to connect, too. */
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* `bytes` bytes, or fewer where the other side ends or the time does. */
static size_t read_some(int fd, uint8_t *data, size_t bytes, uint64_t until_us)
{
    size_t got = 0;
    while (got < bytes) {
        uint64_t now_us = clock_now_us();
        struct pollfd pollfd = {fd, POLLIN, 0};
        if (now_us >= until_us || poll(&pollfd, 1, (int)((until_us - now_us) / 1000) + 1) <= 0)
            break;
        ssize_t count = recv(fd, data + got, bytes - got, MSG_DONTWAIT);
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    return got;
}

enum greeting greeting_ask(const char *place, int timeout_ms)
{
    static const uint8_t ours[] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3};
    uint8_t theirs[MECHANISM_AT + MECHANISM_BYTES] = {0};
    uint64_t until_us = clock_now_us() + 1000 * (uint64_t)timeout_ms;
    int fd = connect_to(place, timeout_ms);
    if (fd < 0)
        return GREETING_NONE;
    size_t got = 0;
    if (send(fd, ours, sizeof ours, MSG_NOSIGNAL) == (ssize_t)sizeof ours)
        got = read_some(fd, theirs, sizeof theirs, until_us);
    close(fd);
    if (got < sizeof theirs || theirs[0] != 0xff || theirs[9] != 0x7f || theirs[10] < 3)
        return GREETING_NONE;
    const char *mechanism = (const char *)theirs + MECHANISM_AT;
    if (strncmp(mechanism, "CURVE", MECHANISM_BYTES) == 0)
        return GREETING_CURVE;
    return strncmp(mechanism, "NULL", MECHANISM_BYTES) == 0 ? GREETING_PLAIN : GREETING_NONE;
}
