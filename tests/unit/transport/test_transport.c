/* test_transport.c - one contract for every transport: each case over memory, ZeroMQ and shared
 * memory where it applies. */
/* test: tsan */

#include "common/transport/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/transport/shm/rendezvous.h"
#include "common/transport/shm/window.h"
#include "tests/lib/suite.h"
#include "tests/lib/transport_memory.h"

enum { PAYLOAD_MAX = 8 << 20, PATIENCE_US = 10000000 };

/* All transports pass the same tests; what is about TCP or about shared memory alone comes after
 * them. */
enum { ZMQ, MEMORY, SHM_OVER_MEMORY, SHM_OVER_ZMQ, WAYS };
static struct transport *transport;
static const struct transport_operations *t;
static struct endpoint *sharing; /* The latest listener, which lets peers attach; or NULL. */
static uint64_t sharing_name;

static void open_transport(int which)
{
    struct error error;
    struct transport *inner = NULL;
    bool over_zmq = which == ZMQ || which == SHM_OVER_ZMQ;
    sharing = NULL;
    ck_assert_int_eq(over_zmq ? transport_zmq_create(&inner, &error)
                              : transport_memory_create(&inner),
                     STATUS_OK);
    transport = inner;
    if (which == SHM_OVER_MEMORY || which == SHM_OVER_ZMQ)
        ck_assert_int_eq(transport_shm_create(&transport, inner, &error), STATUS_OK);
    t = transport->operations;
}

static void close_transport(void)
{
    if (transport != NULL)
        t->destroy(&transport);
    ck_assert_ptr_null(transport);
}

static struct endpoint *plain_listener(const char *address, char bound[ADDRESS_MAX])
{
    struct endpoint *endpoint;
    struct error error;
    ck_assert_msg(t->listen(transport, address, PAYLOAD_MAX, bound, &endpoint, &error) == STATUS_OK,
                  "%s", error.text);
    return endpoint;
}

static struct endpoint *plain_connector(const char *address)
{
    struct endpoint *endpoint;
    struct error error;
    ck_assert_msg(t->connect(transport, address, PAYLOAD_MAX, &endpoint, &error) == STATUS_OK, "%s",
                  error.text);
    return endpoint;
}

/* Let peers attach to it. */
static void start_sharing(struct endpoint *listening, const struct share *wanted)
{
    struct error error;
    struct share share = *wanted;
    share.name = sharing_name = hash_random_u64();
    ck_assert_msg(t->share(listening, &share, &error) == STATUS_OK, "%s", error.text);
    sharing = listening;
}

/* Both sides look after themselves until they share memory, or have had the time to. */
static bool try_attach(struct endpoint *endpoint)
{
    ck_assert_int_eq(t->attach(endpoint, sharing_name), STATUS_OK);
    for (int i = 0; i < 20 && !t->attached(endpoint); i++) {
        t->wait(transport, &sharing, 1, NULL, 0, 1);
        t->wait(transport, &endpoint, 1, NULL, 0, 1);
    }
    return t->attached(endpoint);
}

/* A listener, and a connection to one, that use all that the transport has. */
static struct endpoint *listener(char bound[ADDRESS_MAX])
{
    struct endpoint *endpoint = plain_listener("127.0.0.1:0", bound);
    struct share share = {
        .shard_bytes = PAYLOAD_MAX, .slots = 1, .messages = 8192, .published = 1, .peers_max = 4};
    if (t->share != NULL)
        start_sharing(endpoint, &share);
    return endpoint;
}

static struct endpoint *connector(const char *address)
{
    struct endpoint *endpoint = plain_connector(address);
    if (sharing != NULL)
        ck_assert(try_attach(endpoint));
    return endpoint;
}

/* Send, again while there is no connection yet. */
static void send_text(struct endpoint *endpoint, uint64_t peer, const char *text,
                      struct frame *payload)
{
    uint64_t began_us = clock_now_us();
    enum status status;
    do {
        if (payload != NULL)
            frame_retain(payload);
        status = t->send(endpoint, peer, text, strlen(text), payload, 0);
        if (status == STATUS_AGAIN)
            usleep(2000);
    } while (status == STATUS_AGAIN && clock_now_us() - began_us < PATIENCE_US);
    ck_assert_int_eq(status, STATUS_OK);
    frame_release(payload);
}

static bool receive_within(struct endpoint *endpoint, struct received *received, uint64_t limit_us)
{
    uint64_t began_us = clock_now_us();
    while (t->receive(endpoint, received) != STATUS_OK) {
        if (clock_now_us() - began_us > limit_us)
            return false;
        t->wait(transport, &endpoint, 1, NULL, 0, 20);
    }
    return true;
}

static struct received receive(struct endpoint *endpoint)
{
    struct received received;
    ck_assert(receive_within(endpoint, &received, PATIENCE_US));
    return received;
}

static void check_header(const struct received *received, const char *text)
{
    ck_assert_uint_eq(received->header_bytes, strlen(text));
    ck_assert(memcmp(received->header, text, strlen(text)) == 0);
}

static struct frame *pattern(size_t bytes)
{
    struct frame *frame = frame_create(bytes);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)frame->data)[i] = (uint8_t)(i * 31 + i / 251);
    return frame;
}

static void check_pattern(const struct frame *frame, size_t bytes)
{
    struct frame *expected = pattern(bytes);
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->bytes, bytes);
    ck_assert(memcmp(frame->data, expected->data, bytes) == 0);
    ck_assert_uint_eq((uintptr_t)frame->data % sizeof(float), 0);
    frame_release(expected);
}

/* A test with a listener and a connection to it, made by the functions named; over transport
 * `first` and the `times` - 1 after it. */
#define TEST_PAIR(name, first, times, listening, connecting)                                       \
    static void name##_with(struct endpoint *server, struct endpoint *client, const char *bound);  \
    TEST_TIMES(name, times)                                                                        \
    {                                                                                              \
        char bound[ADDRESS_MAX];                                                                   \
        open_transport((first) + _i);                                                              \
        struct endpoint *server = listening(bound), *client = connecting(bound);                   \
        name##_with(server, client, bound);                                                        \
        t->close(&client, 0);                                                                      \
        t->close(&server, 0);                                                                      \
    }                                                                                              \
    static void name##_with(struct endpoint *server, struct endpoint *client,                      \
                            const char *bound CK_ATTRIBUTE_UNUSED)

/* --- all transports ------------------------------------------------------------------------ */

TEST_TIMES(a_question_is_answered_to_whoever_asked, WAYS)
{
    char bound[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *server = listener(bound);
    struct endpoint *clients[3];
    for (int i = 0; i < 3; i++) {
        clients[i] = connector(bound);
        send_text(clients[i], 0, i == 0 ? "a" : i == 1 ? "b" : "c", NULL);
    }
    for (int i = 0; i < 3; i++) {
        struct received question = receive(server);
        char text[8] = {(char)question.header[0], '!', 0};
        send_text(server, question.peer, text, NULL);
    }
    for (int i = 0; i < 3; i++) {
        struct received answer = receive(clients[i]);
        check_header(&answer, i == 0 ? "a!" : i == 1 ? "b!" : "c!");
        ck_assert_ptr_null(answer.payload);
        t->close(&clients[i], 0);
        ck_assert_ptr_null(clients[i]);
    }
    t->close(&server, 0);
}

/* An address of this host at which nobody listens. */
static void free_address(char address[ADDRESS_MAX])
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)(void *)&at, sizeof at), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)(void *)&at, &size), 0);
    close(fd);
    snprintf(address, ADDRESS_MAX, "127.0.0.1:%u", ntohs(at.sin_port));
}

TEST_TIMES(who_connects_before_anybody_listens_is_told_to_try_again_and_gets_through, WAYS)
{
    char address[ADDRESS_MAX], bound[ADDRESS_MAX];
    struct endpoint *server;
    struct error error;
    free_address(address);
    open_transport(_i);
    struct endpoint *client = connector(address);
    ck_assert_int_eq(t->send(client, 0, "x", 1, frame_create(4), 0), STATUS_AGAIN);
    ck_assert_msg(t->listen(transport, address, PAYLOAD_MAX, bound, &server, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_str_eq(address, bound);
    send_text(client, 0, "hello", NULL);
    struct received received = receive(server);
    check_header(&received, "hello"); /* And the one before it was not kept for anybody. */
    t->close(&client, 0);
    t->close(&server, 0);
}

TEST_PAIR(payloads_of_every_size_arrive_as_they_were, ZMQ, WAYS, listener, connector)
{
    static const size_t sizes[] = {0,     1,     2,       3,       4,       5,          63,
                                   64,    4096,  8100,    8191,    8192,    8193,       16384,
                                   65536, 65537, 1 << 20, 3000001, 5 << 20, PAYLOAD_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        send_text(client, 0, "up", pattern(sizes[i]));
        struct received up = receive(server);
        check_header(&up, "up");
        check_pattern(up.payload, sizes[i]);
        send_text(server, up.peer, "down", up.payload); /* On, without a copy. */
        struct received down = receive(client);
        check_pattern(down.payload, sizes[i]);
        frame_release(down.payload);
    }
}

TEST_PAIR(messages_keep_their_order_and_headers_may_be_large, ZMQ, WAYS, listener, connector)
{
    char header[4096];
    send_text(client, 0, "first", NULL);
    struct received first = receive(server);
    check_header(&first, "first");
    for (int i = 0; i < 500; i++) {
        memset(header, i % 200 + 1, sizeof header);
        ck_assert_int_eq(t->send(client, 0, header, (size_t)(i * 8 + 1), NULL, 0), STATUS_OK);
    }
    for (int i = 0; i < 500; i++) {
        struct received received = receive(server);
        ck_assert_uint_eq(received.header_bytes, i * 8 + 1);
        ck_assert_uint_eq(received.header[0], i % 200 + 1);
        ck_assert_uint_eq(received.peer, first.peer);
    }
}

TEST_PAIR(a_payload_is_given_back_when_it_has_been_sent, ZMQ, WAYS, listener, connector)
{
    struct frame *frame = pattern(100000);
    send_text(client, 0, "x", frame_retain(frame));
    struct received received = receive(server);
    frame_release(received.payload);
    uint64_t began_us = clock_now_us();
    while (!frame_is_unique(frame) && clock_now_us() - began_us < PATIENCE_US)
        usleep(1000);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
}

TEST_TIMES(an_address_in_use_is_an_error_that_names_it, WAYS)
{
    char bound[ADDRESS_MAX], again[ADDRESS_MAX];
    struct error error;
    open_transport(_i);
    struct endpoint *server = listener(bound), *other = NULL;
    ck_assert_int_eq(t->listen(transport, bound, PAYLOAD_MAX, again, &other, &error),
                     STATUS_EXISTS);
    ck_assert_ptr_null(other);
    ck_assert_ptr_nonnull(strstr(error.text, bound));
    ck_assert_ptr_nonnull(strstr(error.text, "in use"));
    t->close(&server, 0);
}

TEST_TIMES(port_0_picks_another_one_each_time, WAYS)
{
    char a[ADDRESS_MAX], b[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *one = listener(a), *other = listener(b);
    ck_assert_str_ne(a, b);
    ck_assert(strncmp(a, "127.0.0.1:", 10) == 0);
    ck_assert_int_gt(atoi(a + 10), 0);
    t->close(&one, 0);
    t->close(&other, 0);
}

TEST_TIMES(a_peer_that_has_gone_is_unreachable, WAYS)
{
    char bound[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
    send_text(client, 0, "x", NULL);
    struct received received = receive(server);
    t->close(&client, 0);
    enum status status = STATUS_OK;
    struct frame *frame = pattern(64);
    uint64_t began_us = clock_now_us();
    while (status != STATUS_UNREACHABLE && clock_now_us() - began_us < PATIENCE_US) {
        struct received nothing;
        t->receive(server, &nothing); /* ZeroMQ tidies up when it is used. */
        t->wait(transport, &server, 1, NULL, 0, 1);
        status = t->send(server, received.peer, "y", 1, frame_retain(frame), 0);
        usleep(1000);
    }
    ck_assert_int_eq(status, STATUS_UNREACHABLE);
    ck_assert_int_eq(t->send(server, 12345678, "y", 1, NULL, 0), STATUS_UNREACHABLE);
    t->close(&server, 0);
    close_transport();
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
}

TEST_PAIR(waiting_ends_with_its_time_a_message_or_the_bell, ZMQ, WAYS, listener, connector)
{
    int bell = eventfd(0, EFD_NONBLOCK);
    uint64_t began_us = clock_now_us();
    t->wait(transport, &server, 1, &bell, 1, 30);
    ck_assert_uint_ge(clock_now_us() - began_us, 25000);
    eventfd_write(bell, 1);
    began_us = clock_now_us();
    t->wait(transport, &server, 1, &bell, 1, 5000);
    ck_assert_uint_lt(clock_now_us() - began_us, 4000000);
    send_text(client, 0, "x", NULL);
    t->wait(transport, &server, 1, NULL, 0, 5000);
    struct received received = receive(server);
    check_header(&received, "x");
    close(bell);
}

/* Whoever has received some of what is there does not wait for the rest. */
TEST_PAIR(what_is_there_already_ends_waiting, ZMQ, WAYS, listener, connector)
{
    for (int i = 0; i < 3; i++)
        send_text(client, 0, "x", NULL);
    receive(server);
    t->wait(transport, &server, 1, NULL, 0, 50); /* Time for the others, and nothing is taken. */
    usleep(50000);
    for (int i = 0; i < 2; i++) {
        uint64_t began_us = clock_now_us();
        t->wait(transport, &server, 1, NULL, 0, 5000);
        ck_assert_uint_lt(clock_now_us() - began_us, 4000000);
        receive(server);
    }
}

/* The same when it was received without a wait. */
TEST_PAIR(what_came_beside_a_message_ends_waiting, ZMQ, WAYS, listener, connector)
{
    struct received received;
    send_text(client, 0, "x", NULL);
    receive(server);
    while (t->receive(server, &received) == STATUS_OK)
        continue;
    for (int i = 0; i < 3; i++)
        send_text(client, 0, "x", NULL);
    do
        usleep(20000);
    while (t->receive(server, &received) != STATUS_OK);
    uint64_t began_us = clock_now_us();
    t->wait(transport, &server, 1, NULL, 0, 5000);
    ck_assert_uint_lt(clock_now_us() - began_us, 4000000);
    receive(server);
}

TEST_TIMES(what_nobody_received_is_given_back_at_the_end, WAYS)
{
    char bound[ADDRESS_MAX];
    struct frame *frame = pattern(50000);
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
    for (int i = 0; i < 20; i++)
        send_text(client, 0, "x", frame_retain(frame));
    t->close(&server, 0);
    t->close(&client, 0);
    close_transport();
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
}

/* --- over TCP ------------------------------------------------------------------------------ */

TEST_PLAIN(a_payload_above_the_limit_closes_its_connection_and_no_other)
{
    char bound[ADDRESS_MAX];
    struct endpoint *server;
    struct error error;
    open_transport(0);
    ck_assert(t->listen(transport, "127.0.0.1:0", 100000, bound, &server, &error) == STATUS_OK);
    struct endpoint *good = connector(bound), *bad = connector(bound);
    send_text(bad, 0, "fits", pattern(100000));
    struct received received = receive(server);
    check_pattern(received.payload, 100000);
    frame_release(received.payload);
    uint64_t peer = received.peer;
    send_text(bad, 0, "too large", pattern(100001));
    ck_assert(!receive_within(server, &received, 200000));
    enum status status = STATUS_OK;
    uint64_t began_us = clock_now_us();
    while (status != STATUS_UNREACHABLE && clock_now_us() - began_us < PATIENCE_US) {
        t->receive(server, &received);
        status = t->send(server, peer, "x", 1, NULL, 0);
        usleep(1000);
    }
    ck_assert_int_eq(status, STATUS_UNREACHABLE);
    send_text(good, 0, "still here", NULL);
    received = receive(server);
    check_header(&received, "still here");
    t->close(&good, 0);
    t->close(&bad, 0);
    t->close(&server, 0);
}

/* Open a plain TCP connection and write bytes that are no ZeroMQ. */
static void send_garbage(const char *address, unsigned seed, size_t bytes)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *port = strrchr(address, ':') + 1;
    to.sin_port = htons((uint16_t)atoi(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)(void *)&to, sizeof to), 0);
    uint8_t *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1103515245u + 12345u;
        data[i] = (uint8_t)(seed >> 16);
    }
    if (seed % 3 == 0)
        memcpy(data, "GET / HTTP/1.0\r\n\r\n", bytes < 18 ? bytes : 18);
    ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
    (void)sent;
    free(data);
    close(fd);
}

TEST_PAIR(garbage_on_the_port_hurts_nobody, ZMQ, 1, listener, connector)
{
    for (unsigned i = 0; i < 2000;
         i++) /* Some of it passes for ZMTP 1, which libzmq once fell for. */
        send_garbage(bound, i, 1 + (i % 60) * (i % 60) * 20);
    send_text(client, 0, "fine", pattern(70000));
    struct received received = receive(server);
    check_header(&received, "fine");
    check_pattern(received.payload, 70000);
    frame_release(received.payload);
}

/* Messages that ZeroMQ takes and we do not. */
TEST_PLAIN(malformed_messages_are_reported_as_such_and_dropped)
{
    char bound[ADDRESS_MAX], url[ADDRESS_MAX + 16], big[5000] = {1};
    open_transport(0);
    struct endpoint *server = listener(bound);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    int linger = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    snprintf(url, sizeof url, "tcp://%s", bound);
    ck_assert_int_eq(zmq_connect(socket, url), 0);
    zmq_send(socket, "", 0, 0); /* An empty header. */
    zmq_send(socket, big, sizeof big, 0);
    zmq_send(socket, "h", 1, ZMQ_SNDMORE);
    zmq_send(socket, "pppp", 4, ZMQ_SNDMORE);
    zmq_send(socket, "one too many", 12, 0);
    for (int i = 0; i < 3; i++) {
        struct received received = receive(server);
        ck_assert_uint_eq(received.header_bytes, 0);
        ck_assert_ptr_null(received.payload);
    }
    zmq_send(socket, "good", 4, 0);
    struct received received = receive(server);
    check_header(&received, "good");
    zmq_close(socket);

    socket = zmq_socket(context, ZMQ_DEALER); /* A peer that names itself. */
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, "worker", 6);
    ck_assert_int_eq(zmq_connect(socket, url), 0);
    zmq_send(socket, "hello", 5, 0);
    received = receive(server);
    ck_assert_uint_eq(received.header_bytes, 0);
    zmq_close(socket);
    zmq_ctx_term(context);
    t->close(&server, 0);
}

/* --- shared memory ------------------------------------------------------------------------- */

static const struct share small_share = {
    .shard_bytes = 4096, .slots = 2, .messages = 64, .published = 2, .peers_max = 2};

/* A listener with a small share. */
static struct endpoint *small_listener(char bound[ADDRESS_MAX])
{
    struct endpoint *endpoint = plain_listener("127.0.0.1:0", bound);
    start_sharing(endpoint, &small_share);
    return endpoint;
}

static void check_answered(struct endpoint *server, struct endpoint *client, const char *text)
{
    send_text(client, 0, text, NULL);
    struct received question = receive(server);
    check_header(&question, text);
    send_text(server, question.peer, "yes", NULL);
    struct received answer = receive(client);
    check_header(&answer, "yes");
    ck_assert_uint_eq(answer.peer, 0);
}

TEST_TIMES(who_finds_no_room_keeps_the_way_it_came, 2)
{
    char bound[ADDRESS_MAX];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *clients[4];
    for (int i = 0; i < 4; i++) {
        clients[i] = plain_connector(bound);
        ck_assert(try_attach(clients[i]) == (i < 2));
    }
    for (int i = 0; i < 4; i++)
        check_answered(server, clients[i], i == 0 ? "a" : i == 1 ? "b" : i == 2 ? "c" : "d");
    t->close(&clients[0], 0); /* Makes room for one. */
    for (int i = 0; i < 3; i++)
        t->wait(transport, &server, 1, NULL, 0, 20);
    struct received nothing;
    ck_assert_int_eq(t->receive(server, &nothing), STATUS_AGAIN);
    ck_assert(try_attach(clients[2]));
    ck_assert(!try_attach(clients[3]));
    for (int i = 1; i < 4; i++)
        check_answered(server, clients[i], "again");
    for (int i = 1; i < 4; i++)
        t->close(&clients[i], 0);
    t->close(&server, 0);
}

TEST_PAIR(nobody_of_that_name_is_not_found_and_a_second_time_is_once_too_many, SHM_OVER_MEMORY, 2,
          small_listener, plain_connector)
{
    ck_assert(!t->attached(client));
    ck_assert(!t->attached(server));
    ck_assert_int_eq(t->attach(client, sharing_name + 1), STATUS_NOT_FOUND);
    check_answered(server, client, "as before");
    ck_assert(try_attach(client));
    ck_assert_int_eq(t->attach(client, sharing_name), STATUS_EXISTS);
    ck_assert(!t->attached(server));
    check_answered(server, client, "and now");
}

TEST_PLAIN(a_name_that_is_taken_leaves_the_old_way)
{
    char bound[ADDRESS_MAX], other_bound[ADDRESS_MAX];
    struct error error;
    open_transport(SHM_OVER_MEMORY);
    struct endpoint *server = small_listener(bound);
    struct endpoint *other = plain_listener("127.0.0.1:0", other_bound);
    struct share share = small_share;
    share.name = sharing_name;
    ck_assert_int_eq(t->share(other, &share, &error), STATUS_EXISTS);
    struct endpoint *client = plain_connector(other_bound);
    check_answered(other, client, "hello");
    t->close(&client, 0);
    t->close(&other, 0);
    t->close(&server, 0);
}

TEST_TIMES(memory_is_lent_where_it_is_shared, 2)
{
    char bound[ADDRESS_MAX];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = plain_listener("127.0.0.1:0", bound);
    struct endpoint *clients[2] = {plain_connector(bound), plain_connector(bound)};
    ck_assert_ptr_null(t->lend(server, 0, 64));
    ck_assert_ptr_null(t->lend(clients[0], 0, 64));
    start_sharing(server, &small_share);
    ck_assert_ptr_null(t->lend(clients[0], 0, 64));
    ck_assert(try_attach(clients[0]) && try_attach(clients[1]));
    ck_assert_ptr_null(t->lend(server, 2 * 4096, 64));
    ck_assert_ptr_null(t->lend(server, UINT64_MAX, 64));
    ck_assert_ptr_null(t->lend(clients[0], 2 * 4096 - 32, 64));

    /* A gradient that the worker writes late; the values that both workers see at once. */
    struct frame *gradient = t->lend(clients[1], 4096, 4096), *values = t->lend(server, 4096, 4096);
    uint64_t peers[2];
    for (int i = 0; i < 2; i++) {
        send_text(clients[i], 0, "who", i == 1 ? frame_retain(gradient) : NULL);
        struct received received = receive(server);
        peers[i] = received.peer;
        ((char *)gradient->data)[4095] = 9;
        if (i == 1)
            ck_assert_int_eq(((char *)received.payload->data)[4095], 9);
        frame_release(received.payload);
    }
    ck_assert_uint_ne(peers[0], peers[1]);
    for (int i = 0; i < 2; i++)
        send_text(server, peers[i], "values", frame_retain(values));
    ck_assert(frame_is_unique(values));
    ((char *)values->data)[0] = 5;
    for (int i = 0; i < 2; i++) {
        struct received received = receive(clients[i]);
        ck_assert_int_eq(((char *)received.payload->data)[0], 5);
        ck_assert(received.payload->stays);
        frame_release(received.payload);
    }
    frame_release(gradient);
    frame_release(values);
    t->close(&clients[0], 0);
    t->close(&clients[1], 0);
    t->close(&server, 0);
}

TEST_PAIR(what_has_no_place_in_memory_goes_the_old_way, SHM_OVER_MEMORY, 2, small_listener,
          connector)
{
    const uint64_t places[] = {2 * 4096, 4096 + 64, 1, UINT64_MAX};
    send_text(client, 0, "x", NULL);
    uint64_t guest = receive(server).peer;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct frame *payload = pattern(4096);
        uint64_t began_us = clock_now_us();
        enum status status;
        do
            status = t->send(client, 0, "y", 1, frame_retain(payload), places[i]);
        while (status == STATUS_AGAIN && clock_now_us() - began_us < PATIENCE_US);
        ck_assert_int_eq(status, STATUS_OK);
        struct received received = receive(server);
        check_header(&received, "y");
        check_pattern(received.payload, 4096);
        ck_assert(!received.payload->stays);
        ck_assert_uint_ne(received.peer, guest);
        frame_release(received.payload);
        /* Whoever speaks from there is answered there. */
        send_text(server, received.peer, "z", payload);
        received = receive(client);
        check_pattern(received.payload, 4096);
        frame_release(received.payload);
    }
    ck_assert_int_eq(t->send(server, guest, "w", 1, pattern(64), 4096), STATUS_NOT_FOUND);
}

TEST_PAIR(both_ways_may_be_used_at_the_same_time, SHM_OVER_MEMORY, 2, small_listener,
          plain_connector)
{
    char text[8];
    send_text(client, 0, "old", pattern(100));
    struct received old = receive(server);
    check_pattern(old.payload, 100);
    frame_release(old.payload);
    send_text(client, 0, "late", NULL); /* Still on its way when the new way opens. */
    ck_assert(try_attach(client));
    send_text(client, 0, "new", NULL);
    uint64_t new_peer = old.peer;
    for (int i = 0; i < 2; i++) {
        struct received received = receive(server);
        if (received.peer == old.peer) {
            check_header(&received, "late");
        } else {
            check_header(&received, "new");
            new_peer = received.peer;
        }
    }
    ck_assert_uint_ne(new_peer, old.peer);
    int count[2] = {0, 0}; /* Each way keeps its order. */
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "%c%d", i % 3 == 0 ? 'o' : 'n', i);
        send_text(server, i % 3 == 0 ? old.peer : new_peer, text, NULL);
    }
    for (int i = 0; i < 20; i++) {
        struct received received = receive(client);
        received.header[received.header_bytes] = '\0';
        int way = received.header[0] == 'o' ? 0 : 1;
        while (way != (count[way] % 3 == 0 ? 0 : 1))
            count[way]++;
        ck_assert_int_eq(atoi((char *)received.header + 1), count[way]++);
    }
}

TEST_TIMES(the_last_words_of_a_peer_arrive, 2)
{
    char bound[ADDRESS_MAX], text[16];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *client = connector(bound);
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "word %d", i);
        enum status status = t->send(client, 0, text, strlen(text), pattern(64), (uint64_t)i * 64);
        ck_assert_int_eq(status, STATUS_OK);
    }
    t->close(&client, 0);
    struct frame *kept = NULL;
    uint64_t peer = 0;
    for (int i = 0; i < 10; i++) {
        t->wait(transport, &server, 1, NULL, 0, 10); /* It knows from the first one on. */
        struct received received = receive(server);
        snprintf(text, sizeof text, "word %d", i);
        check_header(&received, text);
        peer = received.peer;
        frame_release(kept);
        kept = received.payload;
    }
    ck_assert_int_eq(t->send(server, peer, "x", 1, NULL, 0), STATUS_UNREACHABLE);
    t->close(&server, 0);
    close_transport();
    check_pattern(kept, 64);
    frame_release(kept);
}

TEST_TIMES(the_last_words_of_a_listener_arrive_and_another_may_take_its_place, 2)
{
    char bound[ADDRESS_MAX], again[ADDRESS_MAX];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *client = connector(bound);
    for (int round = 0; round < 3; round++) {
        send_text(client, 0, "question", NULL);
        struct received received = receive(server);
        send_text(server, received.peer, "last", pattern(640));
        send_text(server, received.peer, "words", NULL);
        t->close(&server, 0);
        sharing = NULL;
        t->wait(transport, &client, 1, NULL, 0, 0); /* Takes note of its end. */
        received = receive(client);
        check_header(&received, "last");
        check_pattern(received.payload, 640);
        frame_release(received.payload);
        received = receive(client);
        check_header(&received, "words");
        ck_assert_int_eq(t->receive(client, &received), STATUS_AGAIN);
        ck_assert(!t->attached(client));
        ck_assert_int_eq(t->attach(client, sharing_name), STATUS_NOT_FOUND);

        uint64_t began_us = clock_now_us();
        struct error error;
        while (t->listen(transport, bound, PAYLOAD_MAX, again, &server, &error) != STATUS_OK) {
            ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
            usleep(1000); /* ZeroMQ gives a port back on a thread of its own. */
        }
        start_sharing(server, &small_share);
        if (round == 1) { /* Without memory first. The connection to the one before may not have */
            do            /* ended yet: what is said there is lost. */
                send_text(client, 0, "hello", NULL);
            while (!receive_within(server, &received, PATIENCE_US / 10));
            check_header(&received, "hello");
        }
        ck_assert(try_attach(client));
    }
    t->close(&client, 0);
    t->close(&server, 0);
}

/* How many of the two others are heard among 30 messages of the chatty one, who has always 40 under way. */
static int heard_beside(struct endpoint *server, struct endpoint *const all[3], int chatty,
                        uint32_t pause_us)
{
    struct received received;
    int heard = 0, left = 40 + 2;
    for (int i = 0; i < 40; i++)
        send_text(all[chatty], 0, "blah", NULL);
    for (int i = 0; i < 3; i++)
        if (i != chatty)
            send_text(all[i], 0, "!", NULL);
    usleep(pause_us); /* For TCP to bring it. */
    for (int tries = 0; heard < 2 && tries < 30; tries++) {
        ck_assert(receive_within(server, &received, PATIENCE_US));
        heard += received.header[0] == '!';
        send_text(all[chatty], 0, "blah", NULL);
    }
    for (; left > 0; left--)
        receive(server);
    ck_assert_int_eq(t->receive(server, &received), STATUS_AGAIN);
    return heard;
}

/* Who is never short of something to say does not keep others from being heard. What TCP has not brought
 * yet, on a busy machine, cannot be: then again, with more time. */
TEST_TIMES(nobody_drowns_anybody_else, 2)
{
    char bound[ADDRESS_MAX];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound);
    struct endpoint *guests[2] = {connector(bound), connector(bound)};
    struct endpoint *outside = plain_connector(bound);
    struct endpoint *all[] = {guests[0], guests[1], outside};
    for (int chatty = 0; chatty < 3; chatty++) {
        uint32_t pause_us = 20000;
        while (heard_beside(server, all, chatty, pause_us) < 2) {
            pause_us *= 2;
            ck_assert_msg(pause_us < 1000000, "who is beside chatty %d is not heard", chatty);
        }
    }
    for (int i = 0; i < 3; i++)
        t->close(&all[i], 0);
    t->close(&server, 0);
}

TEST_PAIR(a_full_ring_is_tried_again_and_nothing_is_lost, SHM_OVER_MEMORY, 2, small_listener,
          connector)
{
    uint32_t sent = 0, seen = 0;
    for (int round = 0; round < 3; round++) {
        struct frame *payload = pattern(64);
        enum status status;
        while ((status = t->send(client, 0, &sent, sizeof sent, frame_retain(payload), 0)) ==
               STATUS_OK)
            sent++;
        ck_assert_int_eq(status, STATUS_AGAIN);
        ck_assert(frame_is_unique(payload));
        frame_release(payload);
        for (; seen < sent; seen++) {
            struct received received = receive(server);
            ck_assert_uint_eq(received.header_bytes, sizeof seen);
            ck_assert(memcmp(received.header, &seen, sizeof seen) == 0);
            frame_release(received.payload);
        }
    }
    ck_assert_uint_gt(sent, 300);
}

/* --- waking up --- */

struct errand {
    void (*run)(struct errand *errand);
    struct endpoint *from;
    uint64_t peer;
    int bell;
};

static void errand_send(struct errand *errand)
{
    struct frame *none = NULL;
    uint64_t began_us = clock_now_us();
    while (t->send(errand->from, errand->peer, "wake", 4, none, 0) == STATUS_AGAIN &&
           clock_now_us() - began_us < PATIENCE_US)
        usleep(1000);
}

static void errand_ring(struct errand *errand)
{
    eventfd_write(errand->bell, 1);
}

static void errand_attach(struct errand *errand)
{
    (void)t->attach(errand->from, sharing_name);
}

static void errand_close(struct errand *errand)
{
    t->close(&errand->from, 0);
}

static void *errand_thread(void *argument)
{
    struct errand *errand = argument;
    usleep(30000); /* So that the other one sleeps; if it does not, the test says less. */
    errand->run(errand);
    return NULL;
}

#define wakes(...) wakes_at(__LINE__, __VA_ARGS__)

/* The wait ends because of the errand and not for its time. */
static void wakes_at(int line, struct endpoint *sleeper, struct errand *errand, bool with_bell)
{
    pthread_t thread;
    uint64_t began_us = clock_now_us();
    struct received nothing;
    while (clock_now_us() - began_us < 20000) { /* Until nothing is left of what was before. */
        ck_assert_int_eq(t->receive(sleeper, &nothing), STATUS_AGAIN);
        t->wait(transport, &sleeper, 1, NULL, 0, 20);
    }
    ck_assert_int_eq(t->receive(sleeper, &nothing), STATUS_AGAIN);
    began_us = clock_now_us();
    ck_assert_int_eq(pthread_create(&thread, NULL, errand_thread, errand), 0);
    t->wait(transport, &sleeper, 1, with_bell ? &errand->bell : NULL, with_bell ? 1 : 0,
            PATIENCE_US / 1000);
    ck_assert_msg(clock_now_us() - began_us < PATIENCE_US / 2, "line %d", line);
    pthread_join(thread, NULL);
    t->wait(transport, &sleeper, 1, NULL, 0, 1); /* Once more, had something else woken it. */
}

TEST_TIMES(a_wait_ends_for_whatever_there_is_to_wait_for, 2)
{
    char bound[ADDRESS_MAX];
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *guest = plain_connector(bound);
    struct errand errand = {.bell = eventfd(0, EFD_NONBLOCK)};
    struct received received;

    send_text(guest, 0, "x", NULL);
    uint64_t old = receive(server).peer;
    errand.from = guest, errand.run = errand_attach; /* A visitor. */
    wakes(server, &errand, false);
    uint64_t began_us = clock_now_us();
    for (int i = 0; i < 3 && !t->attached(guest); i++) /* What it is offered. */
        t->wait(transport, &guest, 1, NULL, 0, PATIENCE_US / 1000);
    ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US / 2);
    ck_assert(t->attached(guest));
    errand.from = guest, errand.run = errand_send; /* A ring. */
    wakes(server, &errand, false);
    received = receive(server);
    errand.from = server, errand.peer = received.peer;
    wakes(guest, &errand, true);
    receive(guest);
    errand.peer = old; /* The inner transport. */
    wakes(guest, &errand, false);
    receive(guest);
    struct endpoint *outside = plain_connector(bound);
    errand.from = outside, errand.peer = 0;
    wakes(server, &errand, true);
    receive(server);
    errand.run = errand_ring;
    wakes(server, &errand, true);
    wakes(guest, &errand, true);
    eventfd_t ignored;
    eventfd_read(errand.bell, &ignored);
    errand.from = guest, errand.run = errand_close; /* A peer that goes. */
    wakes(server, &errand, false);
    ck_assert_int_eq(t->receive(server, &received), STATUS_AGAIN);
    ck_assert(try_attach(outside));
    errand.from = server, errand.run = errand_close; /* A listener that goes. */
    wakes(outside, &errand, true);
    ck_assert_int_eq(t->receive(outside, &received), STATUS_AGAIN);
    ck_assert(!t->attached(outside));
    t->close(&outside, 0);
    close(errand.bell);
}

/* --- left-overs and enemies --- */

TEST_PLAIN(no_descriptor_stays_open_whoever_goes_first)
{
    size_t before = suite_descriptors();
    for (int round = 0; round < 6; round++) {
        char bound[ADDRESS_MAX];
        open_transport(SHM_OVER_MEMORY);
        struct endpoint *server = small_listener(bound);
        struct endpoint *clients[3] = {connector(bound), connector(bound), plain_connector(bound)};
        size_t running = suite_descriptors();
        for (int i = 0; i < 4; i++) { /* Turned away, every time. */
            ck_assert(!try_attach(clients[2]));
            ck_assert_uint_eq(suite_descriptors(), running);
        }
        struct frame *payloads[2];
        for (int i = 0; i < 2; i++) {
            send_text(clients[i], 0, "x", pattern(4096));
            struct received received = receive(server);
            payloads[i] = received.payload;
            send_text(server, received.peer, "unread", pattern(64));
        }
        if (round % 2 == 0)
            (void)t->attach(clients[2], sharing_name); /* Nobody looks at it any more. */
        if (round % 3 == 0)
            t->close(&server, 0);
        for (int i = 0; i < 3; i++) {
            t->close(&clients[i], 0);
            if (round % 3 == 1 && i == 1)
                t->close(&server, 0);
        }
        t->close(&server, 0);
        close_transport();
        ck_assert_uint_gt(suite_descriptors(), before); /* Memory lives as long as payloads do. */
        frame_release(payloads[0]);
        frame_release(payloads[1]);
        ck_assert_uint_eq(suite_descriptors(), before);
    }
}

/* Somebody who comes to the rendezvous and does not keep to the rules afterwards. */
static void unknown_peer_comes(struct endpoint *server, struct window *window, int *raw)
{
    struct error error;
    uint64_t began_us = clock_now_us();
    enum status status;
    ck_assert_int_eq(rendezvous_connect(sharing_name, raw), STATUS_OK);
    do {
        t->wait(transport, &server, 1, NULL, 0, 1);
        status = window_open(window, *raw, &error);
    } while (status == STATUS_AGAIN && clock_now_us() - began_us < PATIENCE_US);
    ck_assert_int_eq(status, STATUS_OK);
}

static void unknown_peer_is_dropped(struct endpoint *server, struct window *window)
{
    struct received received;
    char bytes[64];
    ssize_t got = -1;
    uint64_t began_us = clock_now_us();
    while (got != 0 && clock_now_us() - began_us < PATIENCE_US) {
        t->wait(transport, &server, 1, NULL, 0, 1);
        ck_assert_int_eq(t->receive(server, &received), STATUS_AGAIN);
        got = recv(window->connection, bytes, sizeof bytes, MSG_DONTWAIT);
    }
    ck_assert_int_eq(got, 0);
    window_close(window);
}

TEST_TIMES(who_breaks_the_rules_is_dropped_and_nobody_else, 2)
{
    char bound[ADDRESS_MAX], garbage[100] = "garbage";
    struct window window;
    int raw;
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *good = connector(bound);
    unknown_peer_comes(server, &window, &raw); /* Something that is no message. */
    ck_assert_int_eq(ring_put(&window.out, garbage, 3, NULL, 0), STATUS_OK);
    unknown_peer_is_dropped(server, &window);
    check_answered(server, good, "a");
    unknown_peer_comes(server, &window, &raw); /* A position outside the ring. */
    memset((char *)window.out.shared + 64, 0xff, 8);
    unknown_peer_is_dropped(server, &window);
    check_answered(server, good, "b");
    unknown_peer_comes(server, &window, &raw); /* Talk where nobody talks. */
    ck_assert_int_eq(send(raw, garbage, sizeof garbage, MSG_NOSIGNAL), sizeof garbage);
    unknown_peer_is_dropped(server, &window);
    check_answered(server, good, "c");
    unknown_peer_comes(server, &window, &raw); /* It says that it has read the future. */
    ck_assert_int_eq(window_send(&window, "hello", 5, NULL, 0), STATUS_OK);
    struct received received = receive(server);
    memset((char *)window.in.shared, 0xff, 8);
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 100000; i++)
        status = t->send(server, received.peer, garbage, sizeof garbage, NULL, 0);
    ck_assert_int_eq(status, STATUS_INVALID);
    ck_assert_int_eq(t->send(server, received.peer, "x", 1, NULL, 0), STATUS_UNREACHABLE);
    struct received nothing;
    ck_assert_int_eq(t->receive(server, &nothing), STATUS_AGAIN);
    window_close(&window);
    check_answered(server, good, "d");
    t->close(&good, 0);
    t->close(&server, 0);
}

/* Nothing that was said is lost without its hearer's knowing: it is told by its connection's end,
 * and goes on the way it came. */
TEST_TIMES(a_worker_that_does_not_read_loses_the_memory, 2)
{
    char bound[ADDRESS_MAX], text[100] = "text";
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = small_listener(bound), *good = connector(bound),
                    *deaf = connector(bound);
    send_text(deaf, 0, "hello", NULL);
    uint64_t peer = receive(server).peer;
    enum status status = STATUS_OK;
    uint32_t said = 0, heard = 0;
    for (; status == STATUS_OK && said < 100000; said++)
        status = t->send(server, peer, text, sizeof text, NULL, 0);
    ck_assert_int_eq(status, STATUS_UNREACHABLE);
    check_answered(server, good, "good");
    struct received received;
    uint64_t began_us = clock_now_us();
    while (t->attached(deaf) && clock_now_us() - began_us < PATIENCE_US) {
        t->wait(transport, &deaf, 1, NULL, 0, 20);
        heard += t->receive(deaf, &received) == STATUS_OK;
    }
    ck_assert(!t->attached(deaf));
    ck_assert_uint_eq(heard, said - 1); /* But the one that had no room. */
    check_answered(server, deaf, "no longer deaf");
    ck_assert(try_attach(deaf)); /* It may come again. */
    check_answered(server, deaf, "shares again");
    t->close(&good, 0);
    t->close(&deaf, 0);
    t->close(&server, 0);
}

/* For a while: then the door is open again. */
TEST_PLAIN(visitors_wait_while_there_are_no_descriptors)
{
    char bound[ADDRESS_MAX];
    struct rlimit was, few;
    int raw;
    open_transport(SHM_OVER_MEMORY);
    struct endpoint *server = small_listener(bound), *first = plain_connector(bound);
    ck_assert_int_eq(rendezvous_connect(sharing_name, &raw), STATUS_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){(rlim_t)raw + 1, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    uint64_t began_us = clock_now_us();
    for (int i = 0; i < 10; i++)
        t->wait(transport, &server, 1, NULL, 0, 20);
    /* It sleeps, rather than being woken by somebody whom it cannot let in. */
    ck_assert_uint_ge(clock_now_us() - began_us, 100000);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_int_eq(t->attach(first, sharing_name), STATUS_OK);
    while (!t->attached(first) && clock_now_us() - began_us < PATIENCE_US) {
        t->wait(transport, &server, 1, NULL, 0, 1);
        t->wait(transport, &first, 1, NULL, 0, 20);
    }
    ck_assert(t->attached(first));
    check_answered(server, first, "in");
    close(raw);
    t->close(&first, 0);
    t->close(&server, 0);
}

/* An impostor under the server's name. */
TEST_TIMES(an_offer_that_makes_no_sense_leaves_the_old_way, 2)
{
    char bound[ADDRESS_MAX];
    struct error error;
    int visitors, connection;
    open_transport(SHM_OVER_MEMORY + _i);
    struct endpoint *server = plain_listener("127.0.0.1:0", bound),
                    *client = plain_connector(bound);
    uint64_t name = hash_random_u64();
    ck_assert_int_eq(rendezvous_listen(name, &visitors, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(t->attach(client, name), STATUS_OK);
        ck_assert_int_eq(rendezvous_accept(visitors, &connection), STATUS_OK);
        if (i > 0)
            ck_assert_int_eq(rendezvous_send(connection, "offer", 5, &visitors, i - 1), STATUS_OK);
        close(connection);
        t->wait(transport, &client, 1, NULL, 0, PATIENCE_US / 1000);
        ck_assert(!t->attached(client));
        check_answered(server, client, "still here");
    }
    close(visitors);
    t->close(&client, 0);
    t->close(&server, 0);
}

static void add(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, NULL, close_transport); /* Whatever a test has opened. */
}

int main(void)
{
    return suite_run("transport", add);
}
