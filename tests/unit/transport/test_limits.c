/* What one peer can make a listening endpoint hold, with real sockets. */
/* test: tsan */

#include "common/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "tests/lib/stranger.h"
#include "tests/lib/suite.h"

enum { MIB = 1 << 20, PAYLOAD_MAX = 256 << 20, PATIENCE_US = 10000000, PATIENCE_MS = 10000 };
enum { QUIET_MS = 2500 }; /* Who gets rid of nothing for so long is held back. */

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

/* Receive until somebody says this, a message at most `others` times from others before; who. */
static uint64_t hear(struct endpoint *server, const char *text, unsigned others)
{
    struct received received;
    uint64_t began_us = clock_now_us();
    for (unsigned before = 0;;) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &server, 1, NULL, 0, 20);
        if (t->receive(server, &received) != STATUS_OK)
            continue;
        frame_release(received.payload);
        if (received.header_bytes == strlen(text) &&
            memcmp(received.header, text, strlen(text)) == 0)
            return received.peer;
        ck_assert_uint_le(++before, others);
    }
}

/* A question and its answer, whatever others do. */
static void check_served(struct endpoint *server, struct endpoint *client, unsigned others)
{
    struct received answer;
    uint64_t began_us = clock_now_us();
    say(client, "question");
    uint64_t peer = hear(server, "question", others);
    ck_assert_int_eq(t->send(server, peer, "answer", 6, NULL, 0), STATUS_OK);
    while (t->receive(client, &answer) != STATUS_OK) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &client, 1, NULL, 0, 20);
    }
}

/* Look after the server, as its thread does now and then, whether or not it receives. */
static void look_after(struct endpoint *server, uint64_t us)
{
    uint64_t began_us = clock_now_us();
    do {
        t->wait(transport, &server, 1, NULL, 0, 1);
        usleep(1000);
    } while (clock_now_us() - began_us < us);
}

/* While nobody receives; MiB that the peer got rid of before it was held back. */
static unsigned flood(struct endpoint *server, struct stranger *stranger)
{
    unsigned count = 0;
    while (count < 400 && stranger_say(stranger, "flood", 5, MIB, 1, QUIET_MS)) {
        count++;
        look_after(server, 5000);
    }
    return count;
}

TEST_PLAIN(who_sends_without_end_is_held_back)
{
    char bound[ADDRESS_MAX];
    struct stranger greedy;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    const struct traffic traffic = {.payload_bytes = MIB, .window_bytes = 20 * MIB, .peers = 3};
    t->expect(server, &traffic);
    ck_assert(stranger_open(&greedy, bound));
    ck_assert(stranger_say(&greedy, "greedy", 6, 0, 0, PATIENCE_MS));
    hear(server, "greedy", 0);
    say(good, "here");
    hear(server, "here", 0);
    unsigned sent = flood(server, &greedy);
    ck_assert_uint_ge(sent, 20);
    ck_assert_uint_lt(sent, 60); /* Half as much again, and what lies in the kernel. */
    check_served(server, good, sent);
    stranger_close(&greedy);
    close_all(server, good);
}

/* Marks of libzmq, once they are changed, may stop a connection for good. */
TEST_PLAIN(whoever_has_said_much_is_still_heard_when_the_job_is_known)
{
    static const int said[] = {1, 7, 16, 19, 31, 33, 100, 499};
    const struct traffic traffic = {.payload_bytes = MIB, .window_bytes = 4 * MIB, .peers = 3};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char bound[ADDRESS_MAX];
        struct endpoint *server = open_server(bound), *client = connect_to(bound);
        for (int n = 0; n < said[i]; n++) {
            say(client, "join");
            hear(server, "join", 0);
        }
        t->expect(server, &traffic);
        for (int n = 0; n < 50; n++)
            check_served(server, client, 0);
        close_all(server, client);
    }
}

/* What is still to be heard of it may be more than anybody should send from now on. */
TEST_PLAIN(whoever_is_waiting_with_much_when_the_job_is_known_goes_on)
{
    enum { SAID = 9 };
    char bound[ADDRESS_MAX];
    struct stranger early;
    struct endpoint *server = open_server(bound);
    const struct traffic traffic = {.payload_bytes = MIB, .window_bytes = 2 * MIB, .peers = 3};
    ck_assert(stranger_open(&early, bound));
    for (int i = 0; i < SAID; i++)
        ck_assert(stranger_say(&early, "early", 5, MIB, 1, PATIENCE_MS));
    look_after(server, 300000);
    t->expect(server, &traffic);
    look_after(server, 300000);
    for (int i = 0; i < SAID; i++)
        hear(server, "early", 0);
    for (int i = 0; i < SAID; i++) {
        ck_assert(stranger_say(&early, "later", 5, MIB, 1, PATIENCE_MS));
        hear(server, "later", 0);
    }
    stranger_close(&early);
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(who_never_reads_is_told_only_so_much)
{
    char bound[ADDRESS_MAX];
    struct stranger deaf;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    ck_assert(stranger_open(&deaf, bound));
    ck_assert(stranger_say(&deaf, "deaf", 4, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "deaf", 0);
    struct frame *payload = frame_create(4096);
    memset(payload->data, 0, 4096);
    enum status status = STATUS_OK;
    unsigned count = 0;
    for (; status == STATUS_OK && count < 200000; count++)
        status = t->send(server, peer, "x", 1, frame_retain(payload), 0);
    ck_assert_int_eq(status, STATUS_AGAIN);
    check_served(server, good, 0);
    ck_assert_int_eq(t->send(server, peer, "x", 1, NULL, 0), STATUS_AGAIN);
    stranger_close(&deaf);
    close_all(server, good);
    ck_assert(frame_is_unique(payload)); /* Nobody keeps it for whoever has gone. */
    frame_release(payload);
}

/* With room for a whole declaration. */
TEST_PLAIN(whoever_is_slow_is_told_all_of_a_declaration)
{
    char bound[ADDRESS_MAX];
    struct stranger slow;
    struct endpoint *server = open_server(bound);
    ck_assert(stranger_open(&slow, bound));
    ck_assert(stranger_say(&slow, "slow", 4, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "slow", 0);
    static char page[1100];
    for (unsigned i = 0; i < 8192; i++)
        ck_assert_int_eq(t->send(server, peer, page, sizeof page, NULL, 0), STATUS_OK);
    stranger_close(&slow);
    t->close(&server, 0);
    t->destroy(&transport);
}

/* Parts without an end, which are no message yet; empty ones take the most memory. */
TEST_TIMES(a_message_that_never_ends_costs_its_connection, 2)
{
    enum { PART = 64 << 10, EMPTY = 4096 };
    static char part[PART], empty[EMPTY];
    char bound[ADDRESS_MAX];
    struct stranger stranger;
    struct received received;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    uint64_t sent = 0, began_us = clock_now_us();
    for (int i = 0; i < EMPTY; i += 2)
        empty[i] = FRAME_MORE;
    ck_assert(stranger_open(&stranger, bound));
    for (;;) {
        bool taken = _i == 0 ? stranger_frame(&stranger, FRAME_MORE, PART) &&
                                   stranger_write(&stranger, part, PART, PATIENCE_MS) == PART
                             : stranger_write(&stranger, empty, EMPTY, PATIENCE_MS) == EMPTY;
        if (!taken)
            break;
        sent += _i == 0 ? PART : EMPTY;
        ck_assert_uint_lt(clock_now_us() - began_us, 2 * PATIENCE_US);
        t->wait(transport, &server, 1, NULL, 0, 0);
        ck_assert_int_eq(t->receive(server, &received), STATUS_AGAIN);
        usleep(500);
    }
    ck_assert_uint_lt(sent, _i == 0 ? 64 * MIB : 10 * MIB);
    check_served(server, good, 0);
    stranger_close(&stranger);
    close_all(server, good);
}

/* Many times what may wait. */
TEST_PLAIN(whoever_is_heard_may_send_as_much_as_it_likes)
{
    char bound[ADDRESS_MAX];
    struct stranger busy;
    struct endpoint *server = open_server(bound);
    uint64_t began_us = clock_now_us();
    ck_assert(stranger_open(&busy, bound));
    for (unsigned i = 0; i < 100 || clock_now_us() - began_us < 2500000; i++) {
        ck_assert(stranger_say(&busy, "busy", 4, MIB, 1, PATIENCE_MS));
        hear(server, "busy", 0);
        ck_assert(stranger_listen(&busy));
        usleep(5000);
    }
    stranger_close(&busy);
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
    enum { STRANGERS = 40 };
    char bound[ADDRESS_MAX], few[1000] = {0};
    struct stranger strangers[STRANGERS];
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    uint64_t before = resident_bytes();
    for (int i = 0; i < STRANGERS; i++) {
        ck_assert(stranger_open(&strangers[i], bound));
        ck_assert(stranger_frame(&strangers[i], 0, PAYLOAD_MAX));
        ck_assert_uint_eq(stranger_write(&strangers[i], few, sizeof few, PATIENCE_MS), sizeof few);
    }
    check_served(server, good, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_uint_lt(resident_bytes() - before, STRANGERS * (uint64_t)(256 << 10));
#else
    (void)before;
#endif
    for (int i = 0; i < STRANGERS; i++)
        stranger_close(&strangers[i]);
    close_all(server, good);
}

/* --- strangers ----------------------------------------------------------------------------- */

/* Nothing that is said to it leaves this process but what its kernel takes. */
TEST_PLAIN(a_stranger_that_never_reads_is_told_little)
{
    char bound[ADDRESS_MAX], text[400];
    struct stranger deaf;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    memset(text, 'x', sizeof text);
    t->distrust(server);
    ck_assert(stranger_open(&deaf, bound));
    ck_assert(stranger_say(&deaf, "deaf", 4, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "deaf", 0), told = 0;
    while (told < 64 * MIB && t->send(server, peer, text, sizeof text, NULL, 0) == STATUS_OK) {
        told += sizeof text;
        usleep(20); /* Time enough to take it. */
    }
    ck_assert_uint_lt(told, 8 * MIB);
    ck_assert_int_eq(t->send(server, peer, text, sizeof text, NULL, 0), STATUS_AGAIN);
    check_served(server, good, 0);
    for (uint64_t began_us = clock_now_us();
         t->send(server, peer, text, sizeof text, NULL, 0) != STATUS_OK;) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        stranger_listen(&deaf); /* And again as soon as it reads. */
        usleep(1000);
    }
    stranger_close(&deaf);
    close_all(server, good);
}

TEST_TIMES(little_is_taken_of_a_stranger_until_it_is_trusted, 2)
{
    char bound[ADDRESS_MAX];
    struct stranger stranger;
    struct endpoint *server = open_server(bound), *good = connect_to(bound);
    const struct traffic traffic = {.payload_bytes = MIB, .window_bytes = 20 * MIB, .peers = 3};
    t->distrust(server);
    t->expect(server, &traffic);
    ck_assert(stranger_open(&stranger, bound));
    ck_assert(stranger_say(&stranger, "hello", 5, 0, 0, PATIENCE_MS));
    uint64_t peer = hear(server, "hello", 0), before = resident_bytes();
    if (_i == 1)
        t->trust(server, peer, STANDING_MEMBER);
    unsigned sent = flood(server, &stranger);
    if (_i == 1)
        ck_assert_uint_ge(sent, 20);
    else
        ck_assert_uint_lt(sent, 8); /* Nearly all of it in the kernel on its side. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (_i == 0)
        ck_assert_uint_lt(resident_bytes() - before, MIB);
#else
    (void)before;
#endif
    check_served(server, good, sent);
    stranger_close(&stranger);
    close_all(server, good);
}

/* Over its new connection a member is a stranger, and says who it is before it says much. */
TEST_PLAIN(a_member_that_connects_again_is_counted)
{
    char bound[ADDRESS_MAX], again[ADDRESS_MAX];
    struct endpoint *server = open_server(bound), *client = connect_to(bound);
    check_served(server, client, 0);
    ck_assert_uint_eq(t->connections(client), 1);
    t->close(&server, 0);
    struct error error;
    uint64_t began_us = clock_now_us();
    while (t->listen(transport, bound, PAYLOAD_MAX, again, &server, &error) != STATUS_OK)
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
    while (t->connections(client) < 2) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        look_after(server, 1000);
    }
    check_served(server, client, 0);
    ck_assert_uint_eq(t->connections(client), 2);
    close_all(server, client);
}

static void add(TCase *tcase)
{
    tcase_set_timeout(tcase, 60);
}

int main(void)
{
    return suite_run("limits", add);
}
