#include "common/inflow.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/suite.h"

/* A listening socket and connections to it, both ends ours. */
enum { PAIRS_MAX = 16 };

struct fixture {
    int listener, clients[PAIRS_MAX], servers[PAIRS_MAX];
    int count;
    struct inflow inflow;
};

static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)(void *)&address, size), 0);
    ck_assert_int_eq(listen(fd, PAIRS_MAX), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)(void *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void open_fixture(struct fixture *f, uint64_t each_max, uint64_t all_max)
{
    uint16_t port;
    f->count = 0;
    f->listener = listen_somewhere(&port);
    inflow_init(&f->inflow, port, each_max, all_max);
}

/* Returns the number of the new pair. */
static int add_pair(struct fixture *f)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    ck_assert_int_eq(getsockname(f->listener, (struct sockaddr *)(void *)&address, &size), 0);
    int i = f->count++;
    f->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(f->clients[i], (struct sockaddr *)(void *)&address, size), 0);
    f->servers[i] = accept(f->listener, NULL, NULL);
    ck_assert_int_ge(f->servers[i], 0);
    return i;
}

/* Through the connection, and out of it on the other side. */
static void send_through(struct fixture *f, int pair, size_t bytes)
{
    static char data[4096];
    while (bytes > 0) {
        size_t count = bytes < sizeof data ? bytes : sizeof data;
        ck_assert_int_eq(send(f->clients[pair], data, count, MSG_NOSIGNAL), count);
        ck_assert_int_eq(recv(f->servers[pair], data, count, MSG_WAITALL), count);
        bytes -= count;
    }
}

static uint64_t peer_of(int pair)
{
    return 0xfffffffeu + (uint64_t)pair;
}

/* A message of so many bytes is heard of this pair. */
static void hear(struct fixture *f, int pair, uint64_t bytes)
{
    if (!inflow_knows(&f->inflow, peer_of(pair)))
        inflow_meet(&f->inflow, peer_of(pair), f->servers[pair]);
    ck_assert(inflow_knows(&f->inflow, peer_of(pair)));
    inflow_hear(&f->inflow, peer_of(pair), 1, bytes);
}

static bool is_cut(const struct fixture *f, int pair)
{
    char byte;
    return recv(f->clients[pair], &byte, 1, MSG_DONTWAIT) == 0;
}

static void close_fixture(struct fixture *f)
{
    for (int i = 0; i < f->count; i++) {
        close(f->clients[i]);
        close(f->servers[i]);
    }
    close(f->listener);
    inflow_free(&f->inflow);
}

/* Of the bytes of one large frame, and of heartbeats and handshakes that nobody hears. */
#define ABOUT 5000

START_TEST(who_sends_more_than_is_heard_is_cut)
{
    struct fixture f;
    open_fixture(&f, 100000, 1 << 30);
    f.inflow.payload_max = 200000;
    int talks = add_pair(&f), hoards = add_pair(&f), stranger = add_pair(&f);
    hear(&f, talks, 0);
    hear(&f, hoards, 0);
    ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    for (int i = 0; i < 9; i++) {
        send_through(&f, talks, 150000);
        hear(&f, talks, 150000);
        send_through(&f, hoards, 11000);
        hear(&f, hoards, 1000);
        ck_assert_uint_eq(inflow_look(&f.inflow), 0); /* Below the bound, not above. */
    }
    send_through(&f, hoards, 10000 + ABOUT);
    send_through(&f, stranger, 100000 + ABOUT);
    ck_assert_uint_eq(inflow_look(&f.inflow), 0); /* They have another chance. */
    ck_assert_uint_eq(inflow_look(&f.inflow), 2);
    ck_assert(!is_cut(&f, talks) && is_cut(&f, hoards) && is_cut(&f, stranger));
    ck_assert_uint_eq(f.inflow.cut, 2);
    ck_assert_uint_eq(inflow_look(&f.inflow), 0); /* Once is enough. */
    close_fixture(&f);
}
END_TEST

START_TEST(who_is_heard_between_two_looks_may_have_been_waiting)
{
    struct fixture f;
    open_fixture(&f, 100000, 1 << 30);
    f.inflow.payload_max = 500000;
    int pair = add_pair(&f);
    for (int i = 0; i < 5; i++) {
        send_through(&f, pair, 200000);
        ck_assert_uint_eq(inflow_look(&f.inflow), 0);
        hear(&f, pair, 200000);
        ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    }
    ck_assert(!is_cut(&f, pair));
    close_fixture(&f);
}
END_TEST

/* Every frame takes memory, and there may be many to a byte. */
START_TEST(short_frames_count_for_more)
{
    struct fixture f;
    open_fixture(&f, 100000, 1 << 30);
    f.inflow.payload_max = 1 << 20;
    int large = add_pair(&f), small = add_pair(&f);
    hear(&f, large, 60); /* A few headers say nothing about what comes next. */
    hear(&f, small, 0);
    inflow_hear(&f.inflow, peer_of(small), 5000, 10000);
    for (int i = 0; i < 2; i++) {
        send_through(&f, large, 40000);
        send_through(&f, small, 20000);
        ck_assert_uint_eq(inflow_look(&f.inflow), (unsigned)i);
    }
    ck_assert(!is_cut(&f, large) && is_cut(&f, small));
    close_fixture(&f);
}
END_TEST

START_TEST(who_sends_on_and_completes_nothing_counts_for_more_and_more)
{
    struct fixture f;
    open_fixture(&f, 1000000, 1 << 30);
    f.inflow.payload_max = 200000;
    int slow = add_pair(&f), endless = add_pair(&f);
    send_through(&f, slow, 200000); /* A payload that takes its time. */
    send_through(&f, endless, 400000);
    unsigned looks = 0;
    for (; !is_cut(&f, endless) && looks < 50; looks++)
        inflow_look(&f.inflow);
    ck_assert_uint_gt(looks, 3);
    ck_assert_uint_lt(looks, 20);
    for (int i = 0; i < 50; i++)
        ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    ck_assert(!is_cut(&f, slow));
    close_fixture(&f);
}
END_TEST

/* Days of heartbeats. */
START_TEST(what_nobody_hears_is_allowed_for)
{
    struct fixture f;
    open_fixture(&f, 10000, 1 << 30);
    int pair = add_pair(&f);
    hear(&f, pair, 60);
    for (int i = 0; i < 20000; i++) {
        send_through(&f, pair, 14);
        ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(of_many_that_hoard_a_little_the_largest_are_cut)
{
    struct fixture f;
    open_fixture(&f, 100000, 260000);
    for (int i = 0; i < 4; i++)
        send_through(&f, add_pair(&f), 60000 + 1000 * (size_t)i);
    ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    send_through(&f, add_pair(&f), 20000);
    ck_assert_uint_eq(inflow_look(&f.inflow), 1);
    for (int i = 0; i < 5; i++)
        ck_assert(is_cut(&f, i) == (i == 3));
    close_fixture(&f);
}
END_TEST

START_TEST(of_too_many_connections_those_never_heard_go_first_and_the_latest_of_them)
{
    struct fixture f;
    open_fixture(&f, 100000, 1 << 30);
    f.inflow.connections_max = 4;
    for (int i = 0; i < 6; i++)
        add_pair(&f);
    hear(&f, 2, 0);
    hear(&f, 5, 0);
    ck_assert_uint_eq(inflow_look(&f.inflow), 2);
    for (int i = 0; i < 6; i++)
        ck_assert(is_cut(&f, i) == (i == 3 || i == 4));
    ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    f.inflow.connections_max = 1;
    ck_assert_uint_eq(inflow_look(&f.inflow), 3);
    ck_assert(!is_cut(&f, 2) && is_cut(&f, 5));
    close_fixture(&f);
}
END_TEST

/* A descriptor's number says nothing about who it is. */
START_TEST(a_connection_in_the_place_of_another_is_known_for_a_new_one)
{
    struct fixture f;
    open_fixture(&f, 100000, 1 << 30);
    f.inflow.payload_max = 1 << 20;
    int old = add_pair(&f);
    send_through(&f, old, 500000);
    hear(&f, old, 500000);
    ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    int fd = f.servers[old];
    close(f.servers[old]); /* Its successor gets the same number. */
    close(f.clients[old]);
    f.clients[old] = f.servers[old] = -1;
    struct fixture *later = &f;
    int young = add_pair(later);
    if (f.servers[young] != fd) { /* Or its other end did. */
        ck_assert_int_eq(dup2(f.servers[young], fd), fd);
        close(f.servers[young]);
        f.servers[young] = fd;
        f.clients[young] = f.clients[young] == fd ? -1 : f.clients[young];
    }
    inflow_hear(&f.inflow, peer_of(old), 1, 300000); /* What is left of the old one's. */
    inflow_look(&f.inflow);
    ck_assert(!inflow_knows(&f.inflow, peer_of(old)));
    inflow_meet(&f.inflow, peer_of(old), fd);
    inflow_hear(&f.inflow, peer_of(old), 1, 300000);
    hear(&f, young, 1000);
    inflow_meet(&f.inflow, peer_of(old), fd); /* Too late: somebody newer has it. */
    ck_assert(inflow_knows(&f.inflow, peer_of(young)));
    ck_assert_uint_eq(f.inflow.connections[fd].heard, 1000);
    close_fixture(&f);
}
END_TEST

START_TEST(other_sockets_and_files_are_left_alone)
{
    struct fixture f, other;
    open_fixture(&f, 1000, 1000);
    open_fixture(&other, 1000, 1000);
    int pair = add_pair(&other), ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    send_through(&other, pair, 50000);
    inflow_meet(&f.inflow, peer_of(0), ends[0]);
    ck_assert(!f.inflow.blind);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    ck_assert(!is_cut(&other, pair));
    close(ends[0]);
    close(ends[1]);
    close_fixture(&other);
    close_fixture(&f);
}
END_TEST

START_TEST(who_cannot_tell_leaves_everybody_alone)
{
    struct fixture f;
    open_fixture(&f, 1000, 1000);
    send_through(&f, add_pair(&f), 50000);
    ck_assert(!inflow_knows(&f.inflow, 1));
    inflow_meet(&f.inflow, 1, -1);
    ck_assert(inflow_knows(&f.inflow, 1)); /* Do not ask again. */
    ck_assert_uint_eq(inflow_look(&f.inflow) + inflow_look(&f.inflow), 0);
    ck_assert(!is_cut(&f, 0));
    close_fixture(&f);
    open_fixture(&f, 1000, 1000); /* A port that is not known. */
    send_through(&f, add_pair(&f), 50000);
    inflow_free(&f.inflow);
    inflow_init(&f.inflow, 0, 1000, 1000);
    ck_assert_uint_eq(inflow_look(&f.inflow) + inflow_look(&f.inflow), 0);
    ck_assert(!is_cut(&f, 0));
    close_fixture(&f);
}
END_TEST

/* More peers than the first table has room for, most of them gone. */
START_TEST(thousands_of_peers_come_and_go)
{
    struct fixture f;
    open_fixture(&f, 1000, 1 << 30);
    int stays = add_pair(&f), changes = add_pair(&f);
    hear(&f, stays, 0);
    for (uint64_t peer = 100; peer < 5100; peer++) {
        ck_assert(!inflow_knows(&f.inflow, peer));
        inflow_meet(&f.inflow, peer, f.servers[changes]);
        ck_assert(inflow_knows(&f.inflow, peer));
        ck_assert(!inflow_knows(&f.inflow, peer - 1));
        if (peer % 1000 == 0)
            ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    }
    ck_assert(inflow_knows(&f.inflow, peer_of(stays)));
    ck_assert_uint_eq(inflow_look(&f.inflow), 0);
    ck_assert_uint_le(f.inflow.peer_slots, 256);
    close_fixture(&f);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, who_sends_more_than_is_heard_is_cut);
    tcase_add_test(t, who_is_heard_between_two_looks_may_have_been_waiting);
    tcase_add_test(t, short_frames_count_for_more);
    tcase_add_test(t, who_sends_on_and_completes_nothing_counts_for_more_and_more);
    tcase_add_test(t, what_nobody_hears_is_allowed_for);
    tcase_add_test(t, of_many_that_hoard_a_little_the_largest_are_cut);
    tcase_add_test(t, of_too_many_connections_those_never_heard_go_first_and_the_latest_of_them);
    tcase_add_test(t, a_connection_in_the_place_of_another_is_known_for_a_new_one);
    tcase_add_test(t, other_sockets_and_files_are_left_alone);
    tcase_add_test(t, who_cannot_tell_leaves_everybody_alone);
    tcase_add_test(t, thousands_of_peers_come_and_go);
}

int main(void)
{
    return suite_run("inflow", add);
}
