/* raw_tcp.c - blocking calls one way and then the other, or poll over both ways at once. */

#include "tests/bench/contenders/raw_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE (256u << 10) /* Given to or asked of the kernel at once, when both ways are open. */

struct stream {
    int socket;
    uint64_t bytes;
    char *out, *in; /* [bytes] */
};

static void open_buffers(struct stream *stream, uint64_t bytes)
{
    stream->bytes = bytes;
    stream->out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    stream->in = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (stream->out == NULL || stream->in == NULL)
        contender_fail("out of memory");
    memset(stream->out, 1, bytes);
    memset(stream->in, 1, bytes);
}

static void no_delay(int socket)
{
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int listen_anywhere(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (listener < 0 || bind(listener, (struct sockaddr *)address, size) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)address, &size) != 0)
        contender_fail("raw TCP: cannot listen");
    return listener;
}

static int connect_port(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (client < 0 || connect(client, (struct sockaddr *)&to, sizeof to) != 0)
        contender_fail("raw TCP: cannot connect");
    no_delay(client);
    return client;
}

static void accept_one(struct stream *stream)
{
    char port[16];
    struct sockaddr_in address;
    int listener = listen_anywhere(&address);
    snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
    contender_ready(port);
    stream->socket = accept(listener, NULL, NULL);
    if (stream->socket < 0)
        contender_fail("raw TCP: cannot accept");
    no_delay(stream->socket);
}

static void *open_stream(const void *setting, const char *address)
{
    const struct raw_tcp_setting *raw = setting;
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        contender_fail("out of memory");
    open_buffers(stream, raw->bytes);
    stream->socket = connect_port((unsigned)atoi(address));
    return stream;
}

/* --- one after the other -------------------------------------------------------------------- */

static void send_all(const struct stream *stream)
{
    for (uint64_t sent = 0; sent < stream->bytes;) {
        ssize_t bytes = send(stream->socket, stream->out + sent, stream->bytes - sent, 0);
        if (bytes <= 0)
            contender_fail("raw TCP: the other side is gone");
        sent += (uint64_t)bytes;
    }
}

static void receive_all(const struct stream *stream)
{
    for (uint64_t received = 0; received < stream->bytes;) {
        ssize_t bytes = recv(stream->socket, stream->in + received, stream->bytes - received, 0);
        if (bytes <= 0)
            _exit(EXIT_SUCCESS); /* The measured side is done. */
        received += (uint64_t)bytes;
    }
}

static void serve_sequence(const void *setting)
{
    struct stream stream;
    const struct raw_tcp_setting *raw = setting;
    open_buffers(&stream, raw->bytes);
    accept_one(&stream);
    for (;;) {
        receive_all(&stream);
        send_all(&stream);
    }
}

static void exchange_sequence(void *state)
{
    send_all(state);
    receive_all(state);
}

const struct contender_kind raw_tcp_sequence = {"raw TCP, in sequence", serve_sequence, open_stream,
                                                exchange_sequence};

/* --- both ways at once ---------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bytes moved; 0 when the socket is not ready. */
static uint64_t moved(ssize_t bytes)
{
    if (bytes > 0)
        return (uint64_t)bytes;
    if (bytes == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
        _exit(EXIT_SUCCESS); /* The other side is gone: done. */
    return 0;
}

static void move_both(const struct stream *stream)
{
    uint64_t sent = 0, received = 0, bytes = stream->bytes;
    while (sent < bytes || received < bytes) {
        uint64_t out = 0, in = 0;
        if (sent < bytes)
            out = moved(send(stream->socket, stream->out + sent, least(PIECE, bytes - sent),
                             MSG_DONTWAIT | MSG_NOSIGNAL));
        if (received < bytes)
            in = moved(recv(stream->socket, stream->in + received, least(PIECE, bytes - received),
                            MSG_DONTWAIT));
        sent += out;
        received += in;
        struct pollfd ready = {
            stream->socket, (short)((received < bytes ? POLLIN : 0) | (sent < bytes ? POLLOUT : 0)),
            0};
        if (out == 0 && in == 0)
            poll(&ready, 1, -1);
    }
}

static void serve_both(const void *setting)
{
    struct stream stream;
    const struct raw_tcp_setting *raw = setting;
    open_buffers(&stream, raw->bytes);
    accept_one(&stream);
    for (;;) {
        struct pollfd ready = {stream.socket, POLLIN, 0}; /* The first bytes start an exchange. */
        poll(&ready, 1, -1);
        move_both(&stream);
    }
}

static void exchange_both(void *state)
{
    move_both(state);
}

const struct contender_kind raw_tcp_both = {"raw TCP, both ways at once", serve_both, open_stream,
                                            exchange_both};

/* --- the setting ---------------------------------------------------------------------------- */

static void congestion_of(int socket, char name[16])
{
    socklen_t size = 16;
    memset(name, 0, 16);
    if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0)
        strcpy(name, "?");
    name[15] = '\0';
}

void raw_tcp_congestion_control(char name[16])
{
    char other[16];
    struct sockaddr_in address;
    int listener = listen_anywhere(&address);
    int client = connect_port(ntohs(address.sin_port));
    int server = accept(listener, NULL, NULL);
    congestion_of(client, name);
    congestion_of(server, other);
    if (strcmp(name, other) != 0)
        strcpy(name, "mixed");
    close(server);
    close(client);
    close(listener);
}
