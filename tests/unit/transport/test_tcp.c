/* test_tcp.c - what the kernel says of a connection, and limits that hold to the byte. Both ends
 * are ours. */

#include "common/transport/budget/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/suite.h"

enum { SHORT_MS = 150, LONG_MS = 10000, SHORT_PACKET = 1000 };

/* A listening socket, and a connection to it, both ends ours. */
struct fixture {
    struct sockaddr_in address;
    int listener, client, server;
};

static void open_listener(struct fixture *f)
{
    socklen_t size = sizeof f->address;
    f->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    f->client = f->server = -1;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(f->listener, (struct sockaddr *)(void *)&f->address, size), 0);
    ck_assert_int_eq(listen(f->listener, 16), 0);
    ck_assert_int_eq(getsockname(f->listener, (struct sockaddr *)(void *)&f->address, &size), 0);
    tcp_keep_first(f->listener);
}

static void connect_pair(struct fixture *f)
{
    int on = 1;
    f->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(f->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ck_assert_int_eq(connect(f->client, (struct sockaddr *)(void *)&f->address, sizeof f->address),
                     0);
    f->server = accept(f->listener, NULL, NULL);
    ck_assert_int_ge(f->server, 0);
}

static void close_fixture(struct fixture *f)
{
    close(f->client);
    close(f->server);
    close(f->listener);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_listener(f), close_fixture(f))

/* As many bytes as come within the time, at most so many. */
static size_t take(int fd, size_t most, int patience_ms)
{
    static char bytes[1 << 20];
    size_t taken = 0;
    struct pollfd readable = {fd, POLLIN, 0};
    while (taken < most && poll(&readable, 1, patience_ms) > 0) {
        ssize_t got = recv(fd, bytes, most - taken < sizeof bytes ? most - taken : sizeof bytes, 0);
        if (got <= 0)
            break;
        taken += (size_t)got;
    }
    return taken;
}

static void give(int fd, size_t bytes)
{
    static char data[1 << 20];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i % 251);
    ck_assert_uint_le(bytes, sizeof data);
    ck_assert_int_eq(send(fd, data, bytes, MSG_NOSIGNAL), bytes);
}

static void limit(struct fixture *f, uint32_t first, uint32_t bytes)
{
    struct tcp_look look;
    ck_assert(tcp_look(f->server, &look));
    ck_assert(tcp_limit(f->server, look.cookie, first + bytes));
}

/* --- limits -------------------------------------------------------------------------------- */

/* Also where a packet, or a few merged into one, goes beyond. */
TEST(a_limit_is_kept_to_the_byte_and_the_rest_comes_when_it_moves)
{
    static const uint32_t limits[] = {1, 7, 1000, 65536, 100001, 300000};
    struct tcp_look look;
    uint32_t first, before = 0;
    connect_pair(f);
    ck_assert(tcp_first(f->server, &first));
    uint32_t again;
    ck_assert(!tcp_first(f->server, &again)); /* It is told once. */
    limit(f, first, limits[0]);
    give(f->client, 300000);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        limit(f, first, limits[i]);
        ck_assert_uint_eq(take(f->server, limits[i] - before, LONG_MS), limits[i] - before);
        ck_assert_uint_eq(take(f->server, 1, SHORT_MS), 0);
        ck_assert(tcp_look(f->server, &look));
        ck_assert_uint_eq(look.received, limits[i]);
        before = limits[i];
    }
}

TEST(what_is_taken_is_what_was_sent)
{
    uint32_t first;
    uint8_t byte;
    connect_pair(f);
    ck_assert(tcp_first(f->server, &first));
    limit(f, first, 1000);
    give(f->client, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        if (i % 1000 == 0)
            limit(f, first, i + 1000);
        struct pollfd readable = {f->server, POLLIN, 0};
        ck_assert_int_eq(poll(&readable, 1, LONG_MS), 1);
        ck_assert_int_eq(recv(f->server, &byte, 1, 0), 1);
        ck_assert_uint_eq(byte, i % 251);
    }
}

/* The end of a stream does not come before what is in front of it. */
TEST(who_hangs_up_beyond_the_limit_is_heard_to_the_end)
{
    uint32_t first;
    char byte;
    connect_pair(f);
    ck_assert(tcp_first(f->server, &first));
    limit(f, first, 1000);
    give(f->client, 5000);
    ck_assert_int_eq(shutdown(f->client, SHUT_WR), 0);
    size_t early = take(f->server, 5000, SHORT_MS);
    ck_assert_uint_le(early, 1000);
    ck_assert_int_eq(recv(f->server, &byte, 1, MSG_DONTWAIT), -1); /* It has not ended. */
    tcp_free(f->server);
    ck_assert_uint_eq(early + take(f->server, 5001, LONG_MS), 5000);
    ck_assert_int_eq(recv(f->server, &byte, 1, 0), 0);
}

TEST(whoever_is_limited_is_still_spoken_to)
{
    uint32_t first;
    connect_pair(f);
    ck_assert(tcp_first(f->server, &first));
    limit(f, first, 0);
    give(f->client, 100);
    give(f->server, 100000);
    ck_assert_uint_eq(take(f->client, 100000, LONG_MS), 100000);
    struct tcp_look look;
    for (int i = 0; i < LONG_MS && (!tcp_look(f->server, &look) || look.taken < 100000); i++)
        usleep(1000);
    ck_assert_uint_ge(look.taken, 100000); /* And what it has taken is known. */
    ck_assert_uint_eq(look.received, 0);
}

TEST(another_socket_in_the_place_of_one_is_not_limited)
{
    struct tcp_look look;
    connect_pair(f);
    ck_assert(tcp_look(f->server, &look));
    ck_assert(tcp_is(f->server, look.cookie) && !tcp_is(f->server, look.cookie + 1));
    ck_assert(!tcp_limit(f->server, look.cookie + 1, 0));
    give(f->client, 100);
    ck_assert_uint_eq(take(f->server, 100, LONG_MS), 100);
}

/* --- the door ------------------------------------------------------------------------------ */

TEST(who_comes_in_says_little_at_first)
{
    struct tcp_look look;
    ck_assert(tcp_door(f->listener, TCP_DOOR_OPEN, SHORT_PACKET));
    connect_pair(f);
    give(f->client, 64); /* A handshake, and a header or two. */
    ck_assert_uint_eq(take(f->server, 64, LONG_MS), 64);
    give(f->client, SHORT_PACKET);
    ck_assert_uint_eq(take(f->server, SHORT_PACKET, LONG_MS), SHORT_PACKET);
    give(f->client, 100000);
    ck_assert_uint_eq(take(f->server, 1, SHORT_MS), 0);
    ck_assert(tcp_look(f->server, &look)); /* Until it has a limit. */
    tcp_free(f->server);
    ck_assert_uint_eq(take(f->server, 100000, LONG_MS), 100000);
}

TEST(who_comes_in_may_say_nothing_at_first)
{
    uint32_t first;
    ck_assert(tcp_door(f->listener, TCP_DOOR_OPEN, 0));
    connect_pair(f);
    give(f->client, 1);
    ck_assert_uint_eq(take(f->server, 1, SHORT_MS), 0);
    give(f->server, 100);
    ck_assert_uint_eq(take(f->client, 100, LONG_MS), 100);
    ck_assert(tcp_first(f->server, &first));
    limit(f, first, 1);
    ck_assert_uint_eq(take(f->server, 1, LONG_MS), 1);
}

static bool knock(const struct fixture *f, int patience_ms)
{
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(client, (const struct sockaddr *)(const void *)&f->address, sizeof f->address);
    struct pollfd writable = {client, POLLOUT, 0};
    bool in = poll(&writable, 1, patience_ms) > 0;
    close(client);
    return in;
}

TEST(a_lot_decides_who_is_let_in)
{
    int in = 0;
    ck_assert(tcp_door(f->listener, 0, SHORT_PACKET));
    ck_assert(!knock(f, SHORT_MS));
    ck_assert(tcp_door(f->listener, TCP_DOOR_OPEN / 4, SHORT_PACKET));
    ck_assert_int_eq(fcntl(f->listener, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 120; i++) {
        in += knock(f, 10);
        int server;
        while ((server = accept(f->listener, NULL, NULL)) >= 0)
            close(server);
    }
    ck_assert_int_gt(in, 8);
    ck_assert_int_lt(in, 70);
    ck_assert(tcp_door(f->listener, TCP_DOOR_OPEN, SHORT_PACKET));
    ck_assert(knock(f, LONG_MS));
}

/* Its kernel knocks again. */
TEST(whoever_is_not_let_in_comes_in_later)
{
    ck_assert(tcp_door(f->listener, 0, SHORT_PACKET));
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(client, (struct sockaddr *)(void *)&f->address, sizeof f->address);
    struct pollfd writable = {client, POLLOUT, 0};
    ck_assert_int_eq(poll(&writable, 1, SHORT_MS), 0);
    ck_assert(tcp_door(f->listener, TCP_DOOR_OPEN, SHORT_PACKET));
    ck_assert_int_eq(poll(&writable, 1, LONG_MS), 1);
    close(client);
}

TEST(other_descriptors_are_told_apart)
{
    struct tcp_look look;
    int ends[2];
    connect_pair(f);
    uint16_t port = ntohs(f->address.sin_port);
    ck_assert(tcp_is_of_port(f->listener, port) && tcp_is_of_port(f->server, port));
    ck_assert(!tcp_is_of_port(f->client, port) && !tcp_is_of_port(-1, port));
    ck_assert(tcp_look(f->listener, &look) && look.listens);
    ck_assert(tcp_look(f->server, &look) && !look.listens);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert(!tcp_look(ends[0], &look) && !tcp_look(-1, &look));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    return suite_run("tcp", NULL);
}
