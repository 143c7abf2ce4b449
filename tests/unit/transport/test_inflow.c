/* test_inflow.c - how far anybody gets ahead of what is heard of it: real connections, both ends
 * ours, looks made by hand. */
/* promises: hostile */

#include "common/transport/budget/inflow.h"

#include <arpa/inet.h>
#include <poll.h>
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

/* Shut down from the server's side. */
static bool is_cut(const struct fixture *f, int pair)
{
    char byte;
    return recv(f->clients[pair], &byte, 1, MSG_DONTWAIT) == 0;
}

/* How many it held back or ended. */
static unsigned look(struct fixture *f)
{
    uint64_t before = f->inflow.held_back + f->inflow.ended;
    inflow_look(&f->inflow, 100000);
    return (unsigned)(f->inflow.held_back + f->inflow.ended - before);
}

static bool is_held_back(const struct fixture *f, int pair)
{
    return f->inflow.connections[f->servers[pair]].stuck;
}

/* As many bytes as get through, now or when they are sent again, and at most so many. */
static size_t push_through(struct fixture *f, int pair, size_t most, unsigned patience_ms)
{
    static char data[65536];
    size_t sent = 0, taken = 0;
    for (unsigned quiet_ms = 0; taken < most && quiet_ms < patience_ms; quiet_ms++) {
        ssize_t count = most - sent < sizeof data ? (ssize_t)(most - sent) : (ssize_t)sizeof data;
        count = send(f->clients[pair], data, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += count > 0 ? (size_t)count : 0;
        while ((count = recv(f->servers[pair], data, sizeof data, MSG_DONTWAIT)) > 0) {
            taken += (size_t)count;
            quiet_ms = 0;
        }
        usleep(1000);
    }
    return taken;
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

/* Of handshakes that nobody hears, and of packets, one of which may go beyond the limit. */
enum { EACH = 400000, AHEAD = EACH / 2 * 3, ABOUT = 70000, SHORT_MS = 100, LONG_MS = 10000 };

/* Of a connection that says nothing; and the most that any stranger may be ahead. */
enum { SHAKES = 2048 + 128, STRANGER = 5120, JOIN = 200 };

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))
#define TEST_TWICE(name, ...)                                                                      \
    SUITE_TEST_TIMES(name, 2, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))
#define TEST_APART(name) SUITE_TEST(name, struct fixture, f, open_apart(f), close_fixture(f))

TEST(nobody_gets_further_ahead_than_the_limit, EACH, 1 << 30)
{
    f->inflow.payload_max = 1 << 20;
    int talks = add_pair(f), hoards = add_pair(f);
    hear(f, talks, 0);
    hear(f, hoards, 0);
    ck_assert_uint_eq(look(f), 0);
    for (int i = 0; i < 9; i++) { /* Without a look between them: hearing is enough. */
        ck_assert_uint_eq(push_through(f, talks, EACH, LONG_MS), EACH);
        hear(f, talks, EACH);
    }
    size_t taken = push_through(f, hoards, 3 * AHEAD, SHORT_MS);
    ck_assert_uint_gt(taken, EACH);
    ck_assert_uint_lt(taken, AHEAD + ABOUT);
    ck_assert_uint_eq(look(f), 1);
    ck_assert(is_held_back(f, hoards) && !is_held_back(f, talks));
    ck_assert_uint_eq(look(f), 0); /* It counts once. */
    hear(f, hoards, taken);
    ck_assert_uint_gt(push_through(f, hoards, EACH, LONG_MS), EACH / 2); /* TCP sends it again. */
    ck_assert_uint_eq(f->inflow.held_back, 1);
    ck_assert_uint_eq(f->inflow.ended, 0);
}

/* What it is told is acknowledged, and it can go. */
TEST(whoever_is_held_back_still_listens_and_may_hang_up, EACH, 1 << 30)
{
    static char data[65536];
    int pair = add_pair(f);
    look(f);
    push_through(f, pair, 3 * AHEAD, SHORT_MS);
    look(f);
    ck_assert(is_held_back(f, pair));
    for (size_t told = 0, heard = 0; heard < 3 << 20;) { /* More than the kernel keeps. */
        ssize_t count = send(f->servers[pair], data, sizeof data, MSG_NOSIGNAL | MSG_DONTWAIT);
        told += count > 0 ? (size_t)count : 0;
        struct pollfd readable = {f->clients[pair], POLLIN, 0};
        ck_assert_int_eq(poll(&readable, 1, LONG_MS), 1);
        heard += (size_t)recv(f->clients[pair], data, sizeof data, 0);
        ck_assert_uint_le(heard, told);
    }
    const struct linger at_once = {1, 0};
    setsockopt(f->clients[pair], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(f->clients[pair]);
    f->clients[pair] = -1;
    struct pollfd over = {f->servers[pair], POLLRDHUP, 0};
    ck_assert_int_eq(poll(&over, 1, LONG_MS), 1);
}

TEST(who_stays_at_its_limit_is_ended, EACH, 1 << 30)
{
    int endless = add_pair(f), other = add_pair(f);
    look(f);
    push_through(f, endless, 3 * AHEAD, SHORT_MS);
    for (int i = 0; i < 99; i++)
        look(f);
    ck_assert(is_held_back(f, endless) && !is_cut(f, endless));
    for (int i = 0; i < 3; i++)
        look(f);
    ck_assert(is_cut(f, endless) && !is_cut(f, other));
    ck_assert_uint_eq(f->inflow.ended, 1);
}

TEST(who_is_heard_at_its_limit_is_not_ended, EACH, 1 << 30)
{
    f->inflow.payload_max = 1 << 20;
    int pair = add_pair(f);
    hear(f, pair, 0);
    push_through(f, pair, 3 * AHEAD, SHORT_MS);
    for (int i = 0; i < 300; i++) {
        hear(f, pair, 10);
        look(f);
    }
    ck_assert(is_held_back(f, pair) && !is_cut(f, pair));
}

/* Those that began before this module was there; strangers may hold less, after their handshake. */
TEST_PLAIN(who_can_have_no_limit_is_ended_when_it_holds_more_than_half_as_much_again)
{
    for (int apart = 0; apart < 2; apart++) {
        struct fixture f;
        uint16_t port;
        f.count = 0;
        f.listener = listen_somewhere(&port);
        int over = add_pair(&f), under = add_pair(&f);
        inflow_init(&f.inflow, port, EACH, 1 << 30);
        f.inflow.payload_max = 1 << 20;
        if (apart)
            inflow_distrust(&f.inflow);
        int late = add_pair(&f);
        size_t most = apart ? STRANGER : EACH;
        send_through(&f, over, most * 7 / 4 + (apart ? SHAKES : 0));
        send_through(&f, under, most * 5 / 4 + (apart ? SHAKES : 0));
        send_through(&f, late, apart ? 100 : EACH / 2);
        for (int i = 0; i < 3; i++)
            look(&f);
        ck_assert(is_cut(&f, over) && !is_cut(&f, under) && !is_cut(&f, late));
        close_fixture(&f);
    }
}

TEST(short_frames_count_for_more, EACH, 1 << 30)
{
    f->inflow.payload_max = 1 << 20;
    int large = add_pair(f), small = add_pair(f);
    hear(f, large, 60); /* A few headers say nothing about what comes next. */
    hear(f, small, 0);
    inflow_hear(&f->inflow, peer_of(small), 5000, 10000);
    look(f);
    ck_assert_uint_eq(push_through(f, large, EACH, LONG_MS), EACH);
    ck_assert_uint_lt(push_through(f, small, EACH, SHORT_MS), AHEAD / 32 + 10000 + ABOUT);
    ck_assert_uint_eq(look(f), 1);
    ck_assert(!is_held_back(f, large) && is_held_back(f, small));
}

TEST(who_sends_on_and_completes_nothing_counts_for_more_and_more, 1000000, 1 << 30)
{
    f->inflow.payload_max = 200000;
    int slow = add_pair(f), endless = add_pair(f);
    send_through(f, slow, 200000); /* A payload that takes its time. */
    send_through(f, endless, 400000);
    unsigned looks = 0;
    do
        look(f);
    while (++looks < 50 && !is_held_back(f, endless));
    ck_assert_uint_gt(looks, 3);
    ck_assert_uint_lt(looks, 20);
    for (int i = 0; i < 50; i++)
        ck_assert_uint_eq(look(f), 0);
    ck_assert(!is_held_back(f, slow));
}

/* Days of heartbeats. */
TEST(what_nobody_hears_is_allowed_for, 10000, 1 << 30)
{
    int pair = add_pair(f);
    hear(f, pair, 60);
    for (int i = 0; i < 20000; i++) {
        send_through(f, pair, 14);
        ck_assert_uint_eq(look(f), 0);
    }
}

TEST(while_all_hold_too_much_nobody_gets_more_than_a_share, 100000, 260000)
{
    for (int i = 0; i < 4; i++)
        send_through(f, add_pair(f), 60000);
    ck_assert_uint_eq(look(f), 0);
    int modest = add_pair(f);
    send_through(f, modest, 20000);
    ck_assert_uint_eq(look(f), 0);
    ck_assert_uint_eq(look(f), 4);
    for (int i = 0; i < 5; i++)
        ck_assert(is_held_back(f, i) == (i != modest));
    ck_assert_uint_eq(push_through(f, modest, 20000, LONG_MS), 20000);
    ck_assert_uint_eq(push_through(f, 0, 20000, SHORT_MS), 0);
    hear(f, 0, 10000); /* Less than its share, but all is too much. */
    look(f);
    ck_assert_uint_eq(push_through(f, 0, 1, SHORT_MS), 0);
    hear(f, 1, 60000);
    look(f);
    ck_assert_uint_gt(push_through(f, 0, 20000, LONG_MS), 0);
}

/* What they left behind has still to be heard. */
TEST_TWICE(nobody_is_let_in_while_much_is_left_of_those_who_have_gone, 1 << 30, 1 << 30)
{
    f->inflow.gone_max = 100000;
    f->inflow.payload_max = 1 << 20;
    int goes = add_pair(f), stays = add_pair(f);
    send_through(f, goes, 300000);
    look(f);
    ck_assert(!f->inflow.closed);
    close(f->servers[goes]);
    close(f->clients[goes]);
    f->servers[goes] = f->clients[goes] = -1;
    look(f);
    ck_assert(f->inflow.closed);
    ck_assert_uint_eq(push_through(f, stays, 1, LONG_MS), 1);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    ck_assert_int_eq(getsockname(f->listener, (struct sockaddr *)(void *)&address, &size), 0);
    int knocks = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)connect(knocks, (struct sockaddr *)(void *)&address, size);
    struct pollfd fd = {knocks, POLLOUT, 0};
    ck_assert_int_eq(poll(&fd, 1, 100), 0);
    if (_i == 0)
        inflow_drained(&f->inflow);
    for (int i = 0; i < (_i == 0 ? 1 : 30); i++) /* Or nothing is heard of it for long. */
        look(f);
    ck_assert(!f->inflow.closed);
    ck_assert_int_eq(poll(&fd, 1, LONG_MS), 1); /* It knocks again by itself. */
    close(knocks);
}

TEST(of_too_many_connections_those_never_heard_go_first_and_the_silent_next, 100000, 1 << 30)
{
    f->inflow.connections_max = 4;
    for (int i = 0; i < 4; i++)
        add_pair(f);
    hear(f, 2, 0);
    hear(f, 3, 0);
    ck_assert_uint_eq(look(f), 0);
    add_pair(f);
    add_pair(f);
    hear(f, 5, 0);
    ck_assert_uint_eq(look(f), 2);
    for (int i = 0; i < 6; i++)
        ck_assert(is_cut(f, i) == (i < 2));
    ck_assert_uint_eq(look(f), 0);
    f->inflow.connections_max = 2;
    hear(f, 2, 0);
    ck_assert_uint_eq(look(f), 2);
    ck_assert(!is_cut(f, 2) && is_cut(f, 3) && is_cut(f, 4) && !is_cut(f, 5));
}

/* --- strangers ----------------------------------------------------------------------------- */

static void open_apart(struct fixture *f)
{
    open_fixture(f, EACH, 1 << 30);
    f->inflow.payload_max = 1 << 20;
    inflow_distrust(&f->inflow);
}

TEST_APART(little_is_taken_of_whoever_is_not_trusted)
{
    int early = add_pair(f), seen = add_pair(f);
    look(f);
    size_t taken = push_through(f, seen, AHEAD, SHORT_MS);
    ck_assert_uint_gt(taken, STRANGER / 2);
    ck_assert_uint_le(taken, STRANGER + SHAKES);
    hear(f, early, 0);
    ck_assert_uint_le(push_through(f, early, AHEAD, SHORT_MS), STRANGER + SHAKES);
    inflow_trust(&f->inflow, peer_of(early));
    ck_assert_uint_ge(push_through(f, early, EACH, LONG_MS), EACH - STRANGER - SHAKES);
    inflow_trust(&f->inflow, peer_of(seen)); /* Who has not been heard cannot be trusted. */
    ck_assert_uint_eq(push_through(f, seen, EACH, SHORT_MS), 0);
}

/* Before anybody looks. */
TEST_APART(of_a_stranger_nobody_has_looked_at_only_short_packets_are_taken)
{
    int pair = add_pair(f);
    send_through(f, pair, 64);
    send_through(f, pair, 100);
    ck_assert_uint_eq(push_through(f, pair, 1000, SHORT_MS), 0);
    look(f);
    ck_assert_uint_ge(push_through(f, pair, 4000, LONG_MS), 4000);
}

TEST_APART(the_more_strangers_the_less_is_taken_of_each)
{
    int pair = add_pair(f);
    look(f);
    f->inflow.gate.strangers = 1000; /* As if they had come since. */
    hear(f, pair, 0);
    ck_assert_uint_le(push_through(f, pair, AHEAD, SHORT_MS), 256 + SHAKES);
}

/* What is heard of it costs credit, and without any its limit stands still. */
TEST_APART(of_a_stranger_without_credit_nothing_is_taken)
{
    f->inflow.gate.busy = true;
    int pours = add_pair(f), asks = add_pair(f);
    look(f);
    size_t taken = push_through(f, pours, AHEAD, SHORT_MS);
    hear(f, pours, 0);
    inflow_hear(&f->inflow, peer_of(pours), 2000, taken); /* As so many short messages. */
    ck_assert_uint_eq(push_through(f, pours, AHEAD, SHORT_MS), 0);
    ck_assert_int_lt(f->inflow.connections[f->servers[pours]].credit, 0);
    for (int i = 0; i < 50; i++) { /* Another goes on: ten JOINs a second. */
        send_through(f, asks, JOIN);
        hear(f, asks, JOIN);
        look(f);
    }
    ck_assert(!is_cut(f, pours) && is_held_back(f, pours)); /* It only has to wait ... */
    ck_assert(!is_held_back(f, asks));
    for (int i = 0; i < 100; i++) /* ... and has some again after a while. */
        look(f);
    ck_assert_uint_gt(push_through(f, pours, AHEAD, LONG_MS), 0);
}

TEST_APART(a_stranger_that_completes_nothing_is_ended_soon_while_they_are_few)
{
    int endless = add_pair(f), honest = add_pair(f);
    hear(f, honest, 60);
    look(f);
    push_through(f, endless, AHEAD, SHORT_MS);
    for (int i = 0; i < 10; i++)
        look(f);
    ck_assert(!is_cut(f, endless));
    for (int i = 0; i < 3; i++)
        look(f);
    ck_assert(is_cut(f, endless) && !is_cut(f, honest));
}

TEST_APART(whoever_is_asked_for_a_declaration_may_send_it)
{
    int pair = add_pair(f), other = add_pair(f);
    hear(f, pair, 0);
    hear(f, other, 0);
    inflow_ask(&f->inflow, peer_of(pair));
    ck_assert_uint_eq(push_through(f, pair, 256 << 10, LONG_MS), 256 << 10);
    inflow_hear(&f->inflow, peer_of(pair), 200, 256 << 10);
    inflow_ask(&f->inflow, peer_of(other)); /* One at a time. */
    ck_assert_uint_le(push_through(f, pair, 1 << 20, SHORT_MS), (256 << 10) + SHAKES);
    ck_assert_uint_ge(push_through(f, other, 1 << 20, SHORT_MS), 256 << 10);
}

/* What is said to it, and what it has taken as its kernel knows. */
TEST_APART(whoever_does_not_take_what_it_is_told_is_told_no_more)
{
    static char answer[300];
    int pair = add_pair(f), small = 2048;
    setsockopt(f->clients[pair], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    hear(f, pair, 0);
    for (int i = 0; i < 1000; i++) { /* Who takes it is told without end. */
        ck_assert(inflow_may_say(&f->inflow, peer_of(pair), sizeof answer));
        ck_assert_int_eq(send(f->servers[pair], answer, sizeof answer, 0), sizeof answer);
        ck_assert_int_eq(recv(f->clients[pair], answer, sizeof answer, MSG_WAITALL), sizeof answer);
        if (i % 10 == 0) { /* A heartbeat, which nobody has counted. */
            ck_assert_int_eq(send(f->servers[pair], answer, 9, 0), 9);
            ck_assert_int_eq(recv(f->clients[pair], answer, 9, MSG_WAITALL), 9);
        }
        usleep(100);
    }
    unsigned told = 0;
    while (told < 10000 && inflow_may_say(&f->inflow, peer_of(pair), sizeof answer)) {
        told++;
        (void)send(f->servers[pair], answer, sizeof answer, MSG_DONTWAIT);
    }
    ck_assert_uint_lt(told, 400); /* What its kernel keeps for it, and GATE_OWED. */
    inflow_trust(&f->inflow, peer_of(pair));
    ck_assert(inflow_may_say(&f->inflow, peer_of(pair),
                             sizeof answer)); /* Members have those in flight. */
}

TEST_APART(strangers_beyond_their_places_go_and_members_never)
{
    f->inflow.gate.busy = true;
    f->inflow.connections_max = 5;
    for (int i = 0; i < 5; i++) {
        hear(f, add_pair(f), 0);
        if (i < 2)
            inflow_trust(&f->inflow, peer_of(i));
        look(f); /* So the first are silent for longest. */
    }
    for (int i = 0; i < 5; i++)
        ck_assert(!is_cut(f, i));
    inflow_hear(&f->inflow, peer_of(3), 3000, 9000); /* It has no credit left. */
    add_pair(f);
    ck_assert_uint_ge(look(f), 1);
    ck_assert(is_cut(f, 3) && !is_cut(f, 2));
    add_pair(f);
    look(f);
    ck_assert(is_cut(f, 2) && !is_cut(f, 4)); /* Silent for longest. */
    for (int i = 0; i < 3; i++) {             /* However many come. */
        hear(f, add_pair(f), 0);
        look(f);
    }
    ck_assert(!is_cut(f, 0) && !is_cut(f, 1));
}

TEST_APART(when_all_places_are_taken_nobody_comes_in_until_somebody_has_looked)
{
    f->inflow.gate.strangers = 2 * GATE_PLACES; /* As if they had come since the last look. */
    hear(f, add_pair(f), 0);
    ck_assert_uint_eq(f->inflow.chance, 0);
    look(f); /* There are not so many any more. */
    ck_assert_uint_eq(f->inflow.chance, GATE_OPEN);
    hear(f, add_pair(f), 0);
}

TEST_APART(when_too_many_knock_not_all_are_let_in_and_those_who_are_here_go_on)
{
    int pair = add_pair(f);
    hear(f, pair, 0);
    inflow_trust(&f->inflow, peer_of(pair));
    inflow_came(&f->inflow, 2000); /* As after a restart. */
    look(f);
    ck_assert_uint_eq(f->inflow.chance, GATE_OPEN);
    for (int i = 0; i < 6; i++) {
        inflow_came(&f->inflow, 500);
        look(f);
    }
    ck_assert_uint_lt(f->inflow.chance, GATE_OPEN / 8);
    ck_assert_uint_eq(push_through(f, pair, EACH, LONG_MS), EACH);
    for (int i = 0; i < 200; i++)
        look(f);
    ck_assert_uint_eq(f->inflow.chance, GATE_OPEN);
    hear(f, add_pair(f), 0);
}

/* A descriptor's number says nothing about who it is. */
TEST(a_connection_in_the_place_of_another_is_known_for_a_new_one, 100000, 1 << 30)
{
    f->inflow.payload_max = 1 << 20;
    int old = add_pair(f);
    send_through(f, old, 500000);
    hear(f, old, 500000);
    ck_assert_uint_eq(look(f), 0);
    int fd = f->servers[old];
    close(f->servers[old]); /* Its successor gets the same number. */
    close(f->clients[old]);
    f->clients[old] = f->servers[old] = -1;
    struct fixture *later = f;
    int young = add_pair(later);
    if (f->servers[young] != fd) { /* Or its other end did. */
        ck_assert_int_eq(dup2(f->servers[young], fd), fd);
        close(f->servers[young]);
        f->servers[young] = fd;
        f->clients[young] = f->clients[young] == fd ? -1 : f->clients[young];
    }
    inflow_hear(&f->inflow, peer_of(old), 1, 300000); /* What is left of the old one's. */
    look(f);
    ck_assert(!inflow_knows(&f->inflow, peer_of(old)));
    inflow_meet(&f->inflow, peer_of(old), fd);
    inflow_hear(&f->inflow, peer_of(old), 1, 300000);
    hear(f, young, 1000);
    inflow_meet(&f->inflow, peer_of(old), fd); /* Too late: somebody newer has it. */
    ck_assert(inflow_knows(&f->inflow, peer_of(young)));
    ck_assert_uint_eq(f->inflow.connections[fd].heard, 1000);
}

TEST_PLAIN(other_sockets_and_files_are_left_alone)
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
        ck_assert_uint_eq(look(&f), 0);
    ck_assert(!is_cut(&other, pair));
    close(ends[0]);
    close(ends[1]);
    close_fixture(&other);
    close_fixture(&f);
}

TEST(who_cannot_tell_any_more_lifts_all_limits, EACH, 1 << 30)
{
    int pair = add_pair(f);
    look(f);
    push_through(f, pair, 3 * AHEAD, SHORT_MS);
    inflow_meet(&f->inflow, 1, -1);
    ck_assert_uint_ge(push_through(f, pair, AHEAD, LONG_MS), AHEAD);
}

TEST_PLAIN(who_cannot_tell_leaves_everybody_alone)
{
    struct fixture f;
    open_fixture(&f, 1000, 1000);
    send_through(&f, add_pair(&f), 50000);
    ck_assert(!inflow_knows(&f.inflow, 1));
    inflow_meet(&f.inflow, 1, -1);
    ck_assert(inflow_knows(&f.inflow, 1)); /* Do not ask again. */
    ck_assert_uint_eq(look(&f) + look(&f), 0);
    ck_assert(!is_cut(&f, 0));
    close_fixture(&f);
    open_fixture(&f, 1000, 1000); /* A port that is not known. */
    send_through(&f, add_pair(&f), 50000);
    inflow_free(&f.inflow);
    inflow_init(&f.inflow, 0, 1000, 1000);
    ck_assert_uint_eq(look(&f) + look(&f), 0);
    ck_assert(!is_cut(&f, 0));
    close_fixture(&f);
}

/* More peers than the first table has room for, most of them gone. */
TEST(thousands_of_peers_come_and_go, 1000, 1 << 30)
{
    int stays = add_pair(f), changes = add_pair(f);
    hear(f, stays, 0);
    for (uint64_t peer = 100; peer < 5100; peer++) {
        ck_assert(!inflow_knows(&f->inflow, peer));
        inflow_meet(&f->inflow, peer, f->servers[changes]);
        ck_assert(inflow_knows(&f->inflow, peer));
        ck_assert(!inflow_knows(&f->inflow, peer - 1));
        if (peer % 1000 == 0)
            ck_assert_uint_eq(look(f), 0);
    }
    ck_assert(inflow_knows(&f->inflow, peer_of(stays)));
    ck_assert_uint_eq(look(f), 0);
    ck_assert_uint_le(f->inflow.peer_slots, 256);
}

int main(void)
{
    return suite_run("inflow", NULL);
}
