/* What peers can make a listening endpoint hold, with real sockets: messages that are not read, sizes
 * that are declared, connections. */
/* test: tsan */

#include "common/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "tests/lib/suite.h"
#include "tests/lib/unknown_peer.h"

enum { MIB = 1 << 20, PAYLOAD_MAX = 256 << 20, PATIENCE_US = 10000000, PATIENCE_MS = 10000 };

static struct transport *transport;
static const struct transport_operations *t;

static struct endpoint *open_server(char bound[ADDRESS_MAX])
{
    struct endpoint *server;
    struct error error;
    ck_assert_int_eq(transport_zmq_create(&transport, &error), STATUS_OK);
    t = transport->operations;
    ck_assert_int_eq(t->listen(transport, "127.0.0.1:0", PAYLOAD_MAX, bound, &server, &error),
                     STATUS_OK);
    return server;
}

static struct endpoint *connect_to(const char *address)
{
    struct endpoint *client;
    struct error error;
    ck_assert_int_eq(t->connect(transport, address, PAYLOAD_MAX, &client, &error), STATUS_OK);
    return client;
}

static void close_all(struct endpoint *server, struct endpoint *client)
{
    t->close(&client, 0);
    t->close(&server, 0);
    t->destroy(&transport);
}

static void say(struct endpoint *client, const char *text)
{
    uint64_t began_us = clock_now_us();
    while (t->send(client, 0, text, strlen(text), NULL, 0) != STATUS_OK) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        usleep(2000);
    }
}

/* The next message is this; who says it. */
static uint64_t hear(struct endpoint *server, const char *text)
{
    struct received received;
    uint64_t began_us = clock_now_us();
    while (t->receive(server, &received) != STATUS_OK) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &server, 1, NULL, 0, 20);
    }
    ck_assert_uint_eq(received.header_bytes, strlen(text));
    ck_assert(memcmp(received.header, text, strlen(text)) == 0);
    return received.peer;
}

/* A question and its answer, whatever others do. */
static void check_served(struct endpoint *server, struct endpoint *client)
{
    struct received answer;
    uint64_t began_us = clock_now_us();
    say(client, "question");
    uint64_t peer = hear(server, "question");
    ck_assert_int_eq(t->send(server, peer, "answer", 6, NULL, 0), STATUS_OK);
    while (t->receive(client, &answer) != STATUS_OK) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &client, 1, NULL, 0, 20);
    }
}

TEST_PLAIN(who_never_reads_is_told_only_so_much)
{
    char bound[ADDRESS_MAX];
    struct unknown_peer deaf;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    ck_assert(unknown_peer_open(&deaf, bound));
    ck_assert(unknown_peer_say(&deaf, "deaf", 4, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "deaf");
    struct frame *payload = frame_create(4096);
    memset(payload->data, 0, 4096);
    enum status status = STATUS_OK;
    unsigned count = 0;
    for (; status == STATUS_OK && count < 200000; count++)
        status = t->send(server, peer, "x", 1, frame_retain(payload), 0);
    ck_assert_int_eq(status, STATUS_AGAIN);
    check_served(server, good);
    ck_assert_int_eq(t->send(server, peer, "x", 1, NULL, 0), STATUS_AGAIN);
    unknown_peer_close(&deaf);
    close_all(server, good);
    ck_assert(frame_is_unique(payload)); /* Nobody keeps it for whoever has gone. */
    frame_release(payload);
}

/* With room for a whole declaration. */
TEST_PLAIN(whoever_is_slow_is_told_all_of_a_declaration)
{
    char bound[ADDRESS_MAX];
    struct unknown_peer slow;
    struct endpoint *server = open_server(bound);
    ck_assert(unknown_peer_open(&slow, bound));
    ck_assert(unknown_peer_say(&slow, "slow", 4, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "slow");
    static char page[1100];
    for (unsigned i = 0; i < 8192; i++)
        ck_assert_int_eq(t->send(server, peer, page, sizeof page, NULL, 0), STATUS_OK);
    unknown_peer_close(&slow);
    t->close(&server, 0);
    t->destroy(&transport);
}

/* Pages of this process that lie in memory. */
static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * 4096ull;
}

/* libzmq allocates what is declared; it is no memory before it is written to. */
TEST_PLAIN(a_size_that_is_only_declared_takes_no_memory)
{
    enum { UNKNOWN_PEERS = 40 };
    char bound[ADDRESS_MAX], few[1000] = {0};
    struct unknown_peer unknown_peers[UNKNOWN_PEERS];
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    uint64_t before = resident_bytes();
    for (int i = 0; i < UNKNOWN_PEERS; i++) {
        ck_assert(unknown_peer_open(&unknown_peers[i], bound));
        ck_assert(unknown_peer_frame(&unknown_peers[i], 0, PAYLOAD_MAX));
        ck_assert_uint_eq(unknown_peer_write(&unknown_peers[i], few, sizeof few, PATIENCE_MS),
                          sizeof few);
    }
    check_served(server, good);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_uint_lt(resident_bytes() - before, UNKNOWN_PEERS * (uint64_t)(256 << 10));
#else
    (void)before;
#endif
    for (int i = 0; i < UNKNOWN_PEERS; i++)
        unknown_peer_close(&unknown_peers[i]);
    close_all(server, good);
}

/* --- connections --------------------------------------------------------------------------- */

/* Of a process that may open twice as many files when it begins to listen. */
static struct endpoint *open_narrow_server(char bound[ADDRESS_MAX], unsigned connections)
{
    struct rlimit was, few;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){2 * connections, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct endpoint *server = open_server(bound);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    return server;
}

static void await_left(struct endpoint *server, struct unknown_peer *unknown_peer)
{
    uint64_t began_us = clock_now_us();
    while (!unknown_peer_is_left(unknown_peer, 0)) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &server, 1, NULL, 0, 20);
    }
    unknown_peer_close(unknown_peer);
}

TEST_PLAIN(connections_beyond_half_of_the_files_are_closed_until_others_end)
{
    enum { MOST = 40 };
    char bound[ADDRESS_MAX];
    struct unknown_peer unknown_peers[MOST], one_more;
    struct endpoint *server = open_narrow_server(bound, MOST);
    for (int i = 0; i < MOST; i++)
        ck_assert(unknown_peer_open(&unknown_peers[i], bound));
    ck_assert(unknown_peer_open(&one_more, bound));
    await_left(server, &one_more);
    for (int i = 0; i < MOST; i++)
        ck_assert(!unknown_peer_is_left(&unknown_peers[i], 0));
    unknown_peer_close(&unknown_peers[0]);
    struct endpoint *good = connect_to(bound); /* It comes again until there is room. */
    check_served(server, good);
    ck_assert(unknown_peer_open(&one_more, bound));
    await_left(server, &one_more);
    for (int i = 1; i < MOST; i++)
        unknown_peer_close(&unknown_peers[i]);
    close_all(server, good);
}

static void add(TCase *tcase)
{
    tcase_set_timeout(tcase, 60);
}

int main(void)
{
    return suite_run("limits", add);
}
