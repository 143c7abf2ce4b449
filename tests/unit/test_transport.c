#include "common/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "common/clock.h"
#include "tests/lib/suite.h"

enum { PAYLOAD_MAX = 8 << 20, PATIENCE_US = 10000000 };

/* Both transports pass the same tests; what is about TCP alone comes after them. */
static const char *const names[] = {"zmq", "memory"};
static struct transport *transport;
static const struct transport_operations *t;

static void open_transport(int which)
{
    struct error error;
    enum status status =
        which == 0 ? transport_zmq_create(&transport, &error) : transport_memory_create(&transport);
    ck_assert_msg(status == STATUS_OK, "%s", names[which]);
    t = transport->operations;
}

static void close_transport(void)
{
    t->destroy(&transport);
    ck_assert_ptr_null(transport);
}

static struct endpoint *listener(char bound[ADDRESS_MAX])
{
    struct endpoint *endpoint;
    struct error error;
    ck_assert_msg(t->listen(transport, "127.0.0.1:0", PAYLOAD_MAX, bound, &endpoint, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    return endpoint;
}

static struct endpoint *connector(const char *address)
{
    struct endpoint *endpoint;
    struct error error;
    ck_assert_msg(t->connect(transport, address, PAYLOAD_MAX, &endpoint, &error) == STATUS_OK, "%s",
                  error.text);
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

/* --- both transports ---------------------------------------------------------------------------
 */

START_TEST(a_question_is_answered_to_whoever_asked)
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
    close_transport();
}
END_TEST

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

START_TEST(who_connects_before_anybody_listens_is_told_to_try_again_and_gets_through)
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
    close_transport();
}
END_TEST

START_TEST(payloads_of_every_size_arrive_as_they_were)
{
    static const size_t sizes[] = {0,     1,     2,       3,       4,       5,          63,
                                   64,    4096,  8100,    8191,    8192,    8193,       16384,
                                   65536, 65537, 1 << 20, 3000001, 5 << 20, PAYLOAD_MAX};
    char bound[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
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
    t->close(&client, 0);
    t->close(&server, 0);
    close_transport();
}
END_TEST

START_TEST(messages_keep_their_order_and_headers_may_be_large)
{
    char bound[ADDRESS_MAX], header[4096];
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
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
    t->close(&client, 0);
    t->close(&server, 0);
    close_transport();
}
END_TEST

START_TEST(a_payload_is_given_back_when_it_has_been_sent)
{
    char bound[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
    struct frame *frame = pattern(100000);
    send_text(client, 0, "x", frame_retain(frame));
    struct received received = receive(server);
    frame_release(received.payload);
    uint64_t began_us = clock_now_us();
    while (!frame_is_unique(frame) && clock_now_us() - began_us < PATIENCE_US)
        usleep(1000);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
    t->close(&client, 0);
    t->close(&server, 0);
    close_transport();
}
END_TEST

START_TEST(an_address_in_use_is_an_error_that_names_it)
{
    char bound[ADDRESS_MAX], again[ADDRESS_MAX];
    struct error error;
    open_transport(_i);
    struct endpoint *server = listener(bound), *other = NULL;
    ck_assert_int_eq(t->listen(transport, bound, PAYLOAD_MAX, again, &other, &error), STATUS_IO);
    ck_assert_ptr_null(other);
    ck_assert_ptr_nonnull(strstr(error.text, bound));
    ck_assert_ptr_nonnull(strstr(error.text, "in use"));
    t->close(&server, 0);
    close_transport();
}
END_TEST

START_TEST(port_0_picks_another_one_each_time)
{
    char a[ADDRESS_MAX], b[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *one = listener(a), *other = listener(b);
    ck_assert_str_ne(a, b);
    ck_assert(strncmp(a, "127.0.0.1:", 10) == 0);
    ck_assert_int_gt(atoi(a + 10), 0);
    t->close(&one, 0);
    t->close(&other, 0);
    close_transport();
}
END_TEST

START_TEST(a_peer_that_has_gone_is_unreachable)
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
END_TEST

START_TEST(waiting_ends_with_its_time_a_message_or_the_bell)
{
    char bound[ADDRESS_MAX];
    open_transport(_i);
    struct endpoint *server = listener(bound), *client = connector(bound);
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
    t->close(&client, 0);
    t->close(&server, 0);
    close_transport();
}
END_TEST

START_TEST(what_nobody_received_is_given_back_at_the_end)
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
END_TEST

/* --- over TCP ------------------------------------------------------------------------------------
 */

START_TEST(names_that_do_not_resolve_are_an_error)
{
    char bound[ADDRESS_MAX], numeric[ADDRESS_MAX];
    struct endpoint *endpoint = NULL;
    struct error error;
    open_transport(0);
    const char *address = "no-such-host.invalid:2000";
    ck_assert_int_eq(t->listen(transport, address, PAYLOAD_MAX, bound, &endpoint, &error),
                     STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "no-such-host.invalid"));
    ck_assert_int_eq(transport_resolve(address, numeric, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(t->listen(transport, "without a port", 64, bound, &endpoint, &error),
                     STATUS_INVALID);
    /* An address of somebody else's: 192.0.2.0/24 is nobody's (RFC 5737). */
    ck_assert_int_eq(t->listen(transport, "192.0.2.1:2000", 64, bound, &endpoint, &error),
                     STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "no such address on this host"));
    ck_assert_ptr_null(endpoint);
    close_transport();
}
END_TEST

START_TEST(addresses_are_resolved_and_told_apart)
{
    char numeric[ADDRESS_MAX];
    struct error error;
    ck_assert_int_eq(transport_resolve(":80", numeric, &error), STATUS_OK);
    ck_assert_str_eq(numeric, "*:80");
    ck_assert_int_eq(transport_resolve("127.0.0.1:80", numeric, &error), STATUS_OK);
    ck_assert_str_eq(numeric, "127.0.0.1:80");
    ck_assert_int_eq(transport_resolve("[::1]:80", numeric, &error), STATUS_OK);
    ck_assert_str_eq(numeric, "[::1]:80");
    ck_assert(transport_is_loopback("127.0.0.1:80"));
    ck_assert(transport_is_loopback("[::1]:80"));
    ck_assert(!transport_is_loopback("192.0.2.1:80"));
    ck_assert(!transport_is_loopback("*:80"));
    ck_assert(!transport_is_loopback(":80"));
    ck_assert(!transport_is_loopback("0.0.0.0:80"));
}
END_TEST

START_TEST(why_nobody_answers_is_said)
{
    char bound[ADDRESS_MAX], text[128];
    open_transport(0);
    struct endpoint *server = listener(bound);
    transport_diagnose(bound, 1000, text, sizeof text);
    ck_assert_str_eq(text, "connected, no answer yet");
    t->close(&server, 0);
    close_transport();
    transport_diagnose(bound, 1000, text, sizeof text);
    ck_assert_str_eq(text, "connection refused");
    transport_diagnose("no-such-host.invalid:1", 1000, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "does not resolve"));
    transport_diagnose("nothing", 1000, text, sizeof text);
    ck_assert_str_eq(text, "not an address");
}
END_TEST

START_TEST(a_payload_above_the_limit_closes_its_connection_and_no_other)
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
    close_transport();
}
END_TEST

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

START_TEST(garbage_on_the_port_hurts_nobody)
{
    char bound[ADDRESS_MAX];
    open_transport(0);
    struct endpoint *server = listener(bound), *client = connector(bound);
    for (unsigned i = 0; i < 2000;
         i++) /* Some of it passes for ZMTP 1, which libzmq once fell for. */
        send_garbage(bound, i, 1 + (i % 60) * (i % 60) * 20);
    send_text(client, 0, "fine", pattern(70000));
    struct received received = receive(server);
    check_header(&received, "fine");
    check_pattern(received.payload, 70000);
    frame_release(received.payload);
    t->close(&client, 0);
    t->close(&server, 0);
    close_transport();
}
END_TEST

/* Messages that ZeroMQ takes and we do not. */
START_TEST(malformed_messages_are_reported_as_such_and_dropped)
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
    close_transport();
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_loop_test(tcase, a_question_is_answered_to_whoever_asked, 0, 2);
    tcase_add_loop_test(
        tcase, who_connects_before_anybody_listens_is_told_to_try_again_and_gets_through, 0, 2);
    tcase_add_loop_test(tcase, payloads_of_every_size_arrive_as_they_were, 0, 2);
    tcase_add_loop_test(tcase, messages_keep_their_order_and_headers_may_be_large, 0, 2);
    tcase_add_loop_test(tcase, a_payload_is_given_back_when_it_has_been_sent, 0, 2);
    tcase_add_loop_test(tcase, an_address_in_use_is_an_error_that_names_it, 0, 2);
    tcase_add_loop_test(tcase, port_0_picks_another_one_each_time, 0, 2);
    tcase_add_loop_test(tcase, a_peer_that_has_gone_is_unreachable, 0, 2);
    tcase_add_loop_test(tcase, waiting_ends_with_its_time_a_message_or_the_bell, 0, 2);
    tcase_add_loop_test(tcase, what_nobody_received_is_given_back_at_the_end, 0, 2);
    tcase_add_test(tcase, names_that_do_not_resolve_are_an_error);
    tcase_add_test(tcase, addresses_are_resolved_and_told_apart);
    tcase_add_test(tcase, why_nobody_answers_is_said);
    tcase_add_test(tcase, a_payload_above_the_limit_closes_its_connection_and_no_other);
    tcase_add_test(tcase, garbage_on_the_port_hurts_nobody);
    tcase_add_test(tcase, malformed_messages_are_reported_as_such_and_dropped);
}

int main(void)
{
    return suite_run("transport", add);
}
