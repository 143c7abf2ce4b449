/* unknown_peer.c - ZMTP 3's greeting and frames, byte by byte over a plain socket. */

#include "tests/lib/unknown_peer.h"

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

static bool connect_to(struct unknown_peer *unknown_peer, const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *port = strrchr(address, ':');
    to.sin_port = htons((uint16_t)atoi(port != NULL ? port + 1 : address));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unknown_peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (unknown_peer->fd < 0)
        return false;
    int on = 1;
    setsockopt(unknown_peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(unknown_peer->fd, (struct sockaddr *)(void *)&to, sizeof to) == 0 &&
        fcntl(unknown_peer->fd, F_SETFL, O_NONBLOCK) == 0)
        return true;
    unknown_peer_close(unknown_peer);
    return false;
}

void unknown_peer_close(struct unknown_peer *unknown_peer)
{
    if (unknown_peer->fd >= 0)
        close(unknown_peer->fd);
    unknown_peer->fd = -1;
}

void unknown_peer_reset(struct unknown_peer *unknown_peer)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(unknown_peer->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    unknown_peer_close(unknown_peer);
}

static bool wait_for(const struct unknown_peer *unknown_peer, short events, uint64_t until_us)
{
    uint64_t now_us = clock_now_us();
    struct pollfd fd = {unknown_peer->fd, events, 0};
    int left_ms = now_us < until_us ? (int)((until_us - now_us) / 1000 + 1) : 0;
    return poll(&fd, 1, left_ms) > 0;
}

size_t unknown_peer_write(struct unknown_peer *unknown_peer, const void *bytes, size_t count,
                          int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    size_t done = 0;
    while (done < count) {
        ssize_t sent =
            send(unknown_peer->fd, (const char *)bytes + done, count - done, MSG_NOSIGNAL);
        if (sent > 0)
            done += (size_t)sent;
        else if (sent < 0 && errno != EAGAIN && errno != EINTR)
            break;
        else if (!wait_for(unknown_peer, POLLOUT, until_us))
            break;
    }
    return done;
}

static bool read_all(struct unknown_peer *unknown_peer, void *bytes, size_t count)
{
    uint64_t until_us = clock_now_us() + HANDSHAKE_MS * 1000;
    size_t done = 0;
    while (done < count) {
        ssize_t got = recv(unknown_peer->fd, (char *)bytes + done, count - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return false;
        else if (!wait_for(unknown_peer, POLLIN, until_us))
            return false;
    }
    return true;
}

/* ZMTP 3.1, section "Greeting", and READY of the NULL mechanism. */
static bool shake_hands(struct unknown_peer *unknown_peer)
{
    uint8_t greeting[GREETING] = {0xff, [9] = 0x7f, [10] = 3}, theirs[GREETING], ready[257];
    static const char hello[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER";
    memcpy(greeting + 12, "NULL", 4);
    bool open =
        unknown_peer_write(unknown_peer, greeting, sizeof greeting, HANDSHAKE_MS) == GREETING &&
        read_all(unknown_peer, theirs, sizeof theirs) &&
        unknown_peer_write(unknown_peer, hello, sizeof hello - 1, HANDSHAKE_MS) ==
            sizeof hello - 1 &&
        read_all(unknown_peer, ready, 2) && read_all(unknown_peer, ready + 2, ready[1]);
    if (!open)
        unknown_peer_close(unknown_peer);
    return open;
}

bool unknown_peer_open(struct unknown_peer *unknown_peer, const char *address)
{
    return connect_to(unknown_peer, address) && shake_hands(unknown_peer);
}

bool unknown_peer_accept(struct unknown_peer *unknown_peer, int listening)
{
    struct unknown_peer waiting = {listening};
    unknown_peer->fd = -1;
    if (!wait_for(&waiting, POLLIN, clock_now_us() + HANDSHAKE_MS * 1000))
        return false;
    unknown_peer->fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return unknown_peer->fd >= 0 && shake_hands(unknown_peer);
}

bool unknown_peer_frame(struct unknown_peer *unknown_peer, unsigned flags, uint64_t bytes)
{
    uint8_t head[9] = {(uint8_t)(flags | FRAME_LONG)};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(bytes >> (8 * (7 - i)));
    return unknown_peer_write(unknown_peer, head, sizeof head, HANDSHAKE_MS) == sizeof head;
}

bool unknown_peer_say(struct unknown_peer *unknown_peer, const void *header, size_t header_bytes,
                      size_t payload_bytes, uint8_t payload, int timeout_ms)
{
    unsigned more = payload_bytes > 0 ? FRAME_MORE : 0;
    if (!unknown_peer_frame(unknown_peer, more, header_bytes) ||
        unknown_peer_write(unknown_peer, header, header_bytes, timeout_ms) != header_bytes)
        return false;
    if (payload_bytes == 0)
        return true;
    uint8_t piece[4096];
    memset(piece, payload, sizeof piece);
    if (!unknown_peer_frame(unknown_peer, 0, payload_bytes))
        return false;
    for (size_t left = payload_bytes; left > 0;) {
        size_t count = left < sizeof piece ? left : sizeof piece;
        if (unknown_peer_write(unknown_peer, piece, count, timeout_ms) != count)
            return false;
        left -= count;
    }
    return true;
}

/* Flags and size of the next frame. */
static bool read_head(struct unknown_peer *unknown_peer, uint8_t *flags, uint64_t *bytes)
{
    uint8_t head[9];
    if (!read_all(unknown_peer, head, 2))
        return false;
    *flags = head[0];
    *bytes = head[1];
    if ((head[0] & FRAME_LONG) == 0)
        return true;
    if (!read_all(unknown_peer, head + 2, 7))
        return false;
    *bytes = 0;
    for (int i = 1; i < 9; i++)
        *bytes = *bytes << 8 | head[i];
    return true;
}

static bool skip(struct unknown_peer *unknown_peer, uint64_t bytes)
{
    uint8_t piece[16384];
    for (; bytes > 0; bytes -= bytes < sizeof piece ? bytes : sizeof piece)
        if (!read_all(unknown_peer, piece, bytes < sizeof piece ? bytes : sizeof piece))
            return false;
    return true;
}

/* ZMTP 3.1: PING has a time to live of two bytes and a context that PONG brings back. */
static bool take_command(struct unknown_peer *unknown_peer, uint64_t bytes)
{
    uint8_t body[255] = {0};
    if (bytes > sizeof body || !read_all(unknown_peer, body, bytes))
        return false;
    if (bytes < 7 || memcmp(body, "\4PING", 5) != 0)
        return true;
    uint8_t pong[2 + sizeof body] = {FRAME_COMMAND, (uint8_t)(bytes - 2), 4, 'P', 'O', 'N', 'G'};
    memcpy(pong + 7, body + 7, bytes - 7);
    return unknown_peer_write(unknown_peer, pong, bytes, HANDSHAKE_MS) == bytes;
}

static bool hear(struct unknown_peer *unknown_peer, void *buffer, size_t size, size_t *bytes,
                 uint64_t *payload_bytes, uint64_t until_us)
{
    uint8_t flags;
    uint64_t count;
    do {
        if (!wait_for(unknown_peer, POLLIN, until_us))
            return false;
        if (!read_head(unknown_peer, &flags, &count) ||
            ((flags & FRAME_COMMAND) != 0 && !take_command(unknown_peer, count))) {
            unknown_peer_close(unknown_peer);
            return false;
        }
    } while ((flags & FRAME_COMMAND) != 0);
    *bytes = count;
    *payload_bytes = 0;
    bool whole = count <= size && read_all(unknown_peer, buffer, count);
    while (whole && (flags & FRAME_MORE) != 0) {
        whole = read_head(unknown_peer, &flags, &count) && skip(unknown_peer, count);
        *payload_bytes += count;
    }
    if (!whole)
        unknown_peer_close(unknown_peer);
    return whole;
}

bool unknown_peer_hear(struct unknown_peer *unknown_peer, void *buffer, size_t size, size_t *bytes,
                       uint64_t *payload_bytes, int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    return unknown_peer->fd >= 0 &&
           hear(unknown_peer, buffer, size, bytes, payload_bytes, until_us);
}

bool unknown_peer_listen(struct unknown_peer *unknown_peer)
{
    char bytes[65536];
    ssize_t got;
    do
        got = recv(unknown_peer->fd, bytes, sizeof bytes, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 && errno == EAGAIN;
}

bool unknown_peer_is_left(struct unknown_peer *unknown_peer, int timeout_ms)
{
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    while (unknown_peer_listen(unknown_peer))
        if (!wait_for(unknown_peer, POLLIN, until_us))
            return false;
    return true;
}
