/* test_last_words.c - an endpoint over TCP that is closed while it still has something to say, to
 * somebody who does not listen, goes on talking, and breaks off: whatever libzmq does meanwhile, this
 * process lives. */
/* test: tsan */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/transport/transport.h"
#include "tests/lib/suite.h"
#include "tests/lib/unknown_peer.h"

enum {
    PAYLOAD = 8 << 20,
    PAYLOADS = 4,        /* More than the sockets in between take. */
    DIALED_MS = 1500,    /* For last words: longer than it is from one heartbeat that a ... */
    LISTENING_MS = 6000, /* ... connecting and a listening socket might have to the next. */
    PATIENCE_US = 5000000,
};

static struct transport *transport;
static const struct transport_operations *t;

static void open_transport(void)
{
    struct error error;
    ck_assert_int_eq(transport_zmq_create(&transport, &error), STATUS_OK);
    t = transport->operations;
}

static void say_much(struct endpoint *endpoint, uint64_t peer)
{
    uint64_t until_us = clock_now_us() + PATIENCE_US;
    for (int i = 0; i < PAYLOADS && clock_now_us() < until_us;) {
        struct frame *payload = frame_create(PAYLOAD);
        memset(payload->data, i, PAYLOAD);
        if (t->send(endpoint, peer, "words", 5, payload, 0) == STATUS_OK)
            i++;
        else
            usleep(2000); /* Not connected yet. */
    }
}

/* It is closing: the stranger says something that nobody will take, and breaks off. */
static void interrupt(struct unknown_peer *unknown_peer)
{
    usleep(200000);
    ck_assert(unknown_peer_say(unknown_peer, "still here", 10, 0, 0, 1000));
    usleep(100000);
    unknown_peer_reset(unknown_peer);
}

static int listen_raw(char address[ADDRESS_MAX])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)(void *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)(void *)&at, &bytes), 0);
    snprintf(address, ADDRESS_MAX, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

TEST_PLAIN(whoever_connected_outlives_a_server_that_breaks_off_as_it_closes)
{
    char address[ADDRESS_MAX];
    struct endpoint *endpoint;
    struct unknown_peer server;
    struct error error;
    open_transport();
    int listening = listen_raw(address);
    ck_assert_int_eq(t->connect(transport, address, PAYLOAD, &endpoint, &error), STATUS_OK);
    ck_assert(unknown_peer_accept(&server, listening));
    say_much(endpoint, 0);
    t->close(&endpoint, DIALED_MS);
    interrupt(&server);
    t->destroy(&transport); /* Waits for the last words. */
    close(listening);
}

START_TEST(whoever_listens_outlives_a_stranger_who_breaks_off_as_it_closes)
{
    char address[ADDRESS_MAX];
    struct endpoint *endpoint;
    struct unknown_peer unknown_peer;
    struct received received = {0};
    struct error error;
    open_transport();
    ck_assert_int_eq(t->listen(transport, "127.0.0.1:0", PAYLOAD, address, &endpoint, &error),
                     STATUS_OK);
    ck_assert(unknown_peer_open(&unknown_peer, address));
    ck_assert(unknown_peer_say(&unknown_peer, "here", 4, 0, 0, 1000));
    for (int i = 0; i < 100 && t->receive(endpoint, &received) != STATUS_OK; i++)
        t->wait(transport, &endpoint, 1, NULL, 0, 50);
    ck_assert_uint_eq(received.header_bytes, 4);
    say_much(endpoint, received.peer);
    t->close(&endpoint, LISTENING_MS);
    interrupt(&unknown_peer);
    t->destroy(&transport);
}

static void add_long(TCase *tcase)
{
    tcase_add_test(tcase, whoever_listens_outlives_a_stranger_who_breaks_off_as_it_closes);
}

int main(void)
{
    return suite_run_both("last words", NULL, add_long);
}
