/* stranger.c - ZMTP 3's greeting and frames, byte by byte over a plain socket. */

#include "tests/lib/stranger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

#define HANDSHAKE_MS 5000
#define GREETING     64

bool stranger_connect(struct stranger *stranger, const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *port = strrchr(address, ':');
    to.sin_port = htons((uint16_t)atoi(port != NULL ? port + 1 : address));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    stranger->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (stranger->fd < 0)
        return false;
    int on = 1;
    setsockopt(stranger->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(stranger->fd, (struct sockaddr *)(void *)&to, sizeof to) == 0 &&
        fcntl(stranger->fd, F_SETFL, O_NONBLOCK) == 0)
        return true;
    stranger_close(stranger);
    return false;
}

void stranger_close(struct stranger *stranger)
{
    if (stranger->fd >= 0)
        close(stranger->fd);
    stranger->fd = -1;
}

void stranger_reset(struct stranger *stranger)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(stranger->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    stranger_close(stranger);
}

static bool wait_for(const struct stranger *stranger, short events, uint64_t until_us)
{
    uint64_t now_us = clock_now_us();
    struct pollfd fd = {stranger->fd, events, 0};
    int left_ms = now_us < until_us ? (int)((until_us - now_us) / 1000 + 1) : 0;
    return poll(&fd, 1, left_ms) > 0;
}

size_t stranger_write(struct stranger *stranger, const void *bytes, size_t count, int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    size_t done = 0;
    while (done < count) {
        ssize_t sent = send(stranger->fd, (const char *)bytes + done, count - done, MSG_NOSIGNAL);
        if (sent > 0)
            done += (size_t)sent;
        else if (sent < 0 && errno != EAGAIN && errno != EINTR)
            break;
        else if (!wait_for(stranger, POLLOUT, until_us))
            break;
    }
    return done;
}

static bool read_all(struct stranger *stranger, void *bytes, size_t count)
{
    uint64_t until_us = clock_now_us() + HANDSHAKE_MS * 1000;
    size_t done = 0;
    while (done < count) {
        ssize_t got = recv(stranger->fd, (char *)bytes + done, count - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return false;
        else if (!wait_for(stranger, POLLIN, until_us))
            return false;
    }
    return true;
}

/* ZMTP 3.1, section "Greeting", and READY of the NULL mechanism. */
static bool shake_hands(struct stranger *stranger)
{
    uint8_t greeting[GREETING] = {0xff, [9] = 0x7f, [10] = 3}, theirs[GREETING], ready[257];
    static const char hello[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER";
    memcpy(greeting + 12, "NULL", 4);
    bool open =
        stranger_write(stranger, greeting, sizeof greeting, HANDSHAKE_MS) == GREETING &&
        read_all(stranger, theirs, sizeof theirs) &&
        stranger_write(stranger, hello, sizeof hello - 1, HANDSHAKE_MS) == sizeof hello - 1 &&
        read_all(stranger, ready, 2) && read_all(stranger, ready + 2, ready[1]);
    if (!open)
        stranger_close(stranger);
    return open;
}

bool stranger_open(struct stranger *stranger, const char *address)
{
    return stranger_connect(stranger, address) && shake_hands(stranger);
}

bool stranger_accept(struct stranger *stranger, int listening)
{
    struct stranger waiting = {listening};
    stranger->fd = -1;
    if (!wait_for(&waiting, POLLIN, clock_now_us() + HANDSHAKE_MS * 1000))
        return false;
    stranger->fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return stranger->fd >= 0 && shake_hands(stranger);
}

bool stranger_frame(struct stranger *stranger, unsigned flags, uint64_t bytes)
{
    uint8_t head[9] = {(uint8_t)(flags | FRAME_LONG)};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(bytes >> (8 * (7 - i)));
    return stranger_write(stranger, head, sizeof head, HANDSHAKE_MS) == sizeof head;
}

bool stranger_say(struct stranger *stranger, const void *header, size_t header_bytes,
                  size_t payload_bytes, uint8_t payload, int timeout_ms)
{
    unsigned more = payload_bytes > 0 ? FRAME_MORE : 0;
    if (!stranger_frame(stranger, more, header_bytes) ||
        stranger_write(stranger, header, header_bytes, timeout_ms) != header_bytes)
        return false;
    if (payload_bytes == 0)
        return true;
    uint8_t piece[4096];
    memset(piece, payload, sizeof piece);
    if (!stranger_frame(stranger, 0, payload_bytes))
        return false;
    for (size_t left = payload_bytes; left > 0;) {
        size_t count = left < sizeof piece ? left : sizeof piece;
        if (stranger_write(stranger, piece, count, timeout_ms) != count)
            return false;
        left -= count;
    }
    return true;
}

/* Flags and size of the next frame. */
static bool read_head(struct stranger *stranger, uint8_t *flags, uint64_t *bytes)
{
    uint8_t head[9];
    if (!read_all(stranger, head, 2))
        return false;
    *flags = head[0];
    *bytes = head[1];
    if ((head[0] & FRAME_LONG) == 0)
        return true;
    if (!read_all(stranger, head + 2, 7))
        return false;
    *bytes = 0;
    for (int i = 1; i < 9; i++)
        *bytes = *bytes << 8 | head[i];
    return true;
}

static bool skip(struct stranger *stranger, uint64_t bytes)
{
    uint8_t piece[16384];
    for (; bytes > 0; bytes -= bytes < sizeof piece ? bytes : sizeof piece)
        if (!read_all(stranger, piece, bytes < sizeof piece ? bytes : sizeof piece))
            return false;
    return true;
}

/* ZMTP 3.1: PING has a time to live of two bytes and a context that PONG brings back. */
static bool take_command(struct stranger *stranger, uint64_t bytes)
{
    uint8_t body[255] = {0};
    if (bytes > sizeof body || !read_all(stranger, body, bytes))
        return false;
    if (bytes < 7 || memcmp(body, "\4PING", 5) != 0)
        return true;
    uint8_t pong[2 + sizeof body] = {FRAME_COMMAND, (uint8_t)(bytes - 2), 4, 'P', 'O', 'N', 'G'};
    memcpy(pong + 7, body + 7, bytes - 7);
    return stranger_write(stranger, pong, bytes, HANDSHAKE_MS) == bytes;
}

static bool hear(struct stranger *stranger, void *buffer, size_t size, size_t *bytes,
                 uint64_t *payload_bytes, uint64_t until_us)
{
    uint8_t flags;
    uint64_t count;
    do {
        if (!wait_for(stranger, POLLIN, until_us))
            return false;
        if (!read_head(stranger, &flags, &count) ||
            ((flags & FRAME_COMMAND) != 0 && !take_command(stranger, count))) {
            stranger_close(stranger);
            return false;
        }
    } while ((flags & FRAME_COMMAND) != 0);
    *bytes = count;
    *payload_bytes = 0;
    bool whole = count <= size && read_all(stranger, buffer, count);
    while (whole && (flags & FRAME_MORE) != 0) {
        whole = read_head(stranger, &flags, &count) && skip(stranger, count);
        *payload_bytes += count;
    }
    if (!whole)
        stranger_close(stranger);
    return whole;
}

bool stranger_hear(struct stranger *stranger, void *buffer, size_t size, size_t *bytes,
                   uint64_t *payload_bytes, int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    return stranger->fd >= 0 && hear(stranger, buffer, size, bytes, payload_bytes, until_us);
}

bool stranger_listen(struct stranger *stranger)
{
    char bytes[65536];
    ssize_t got;
    do
        got = recv(stranger->fd, bytes, sizeof bytes, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 && errno == EAGAIN;
}

bool stranger_is_left(struct stranger *stranger, int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    while (stranger_listen(stranger))
        if (!wait_for(stranger, POLLIN, until_us))
            return false;
    return true;
}
