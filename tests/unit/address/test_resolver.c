/* test_resolver.c - names and what they stand for: addresses as text, names that are looked up,
 * places that answer or do not. */
/* test: tsan */
/* wraps: getaddrinfo */

#include "common/address/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/address/inquiry.h"
#include "common/base/clock.h"
#include "common/transport/transport.h"
#include "tests/lib/suite.h"

#define PATIENCE_US 20000000u
#define PAYLOAD_MAX 4096

/* --- a name server ------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *places[4]; /* Of the name "alpha"; NULL after the last. */
    bool hangs;
    unsigned asked;
} names = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, false, 0};

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found)
{
    struct addrinfo numeric = *hints, **last = found;
    const char *places[4];
    if (strcasecmp(host, "localhost") == 0)
        return EAI_NONAME; /* As without /etc/hosts. */
    if (strcmp(host, "alpha") != 0 || (hints->ai_flags & AI_NUMERICHOST))
        return __real_getaddrinfo(host, service, hints, found);
    pthread_mutex_lock(&names.lock);
    names.asked++;
    while (names.hangs)
        pthread_cond_wait(&names.changed, &names.lock);
    memcpy(places, names.places, sizeof places);
    pthread_mutex_unlock(&names.lock);
    numeric.ai_flags |= AI_NUMERICHOST;
    for (size_t i = 0; i < 4 && places[i] != NULL; i++) {
        if (__real_getaddrinfo(places[i], service, &numeric, last) != 0)
            return EAI_FAIL;
        last = &(*last)->ai_next;
    }
    return last == found ? EAI_NONAME : 0;
}

/* What alpha stands for from now on. */
static void alpha_is(const char *first, const char *second)
{
    pthread_mutex_lock(&names.lock);
    names.places[0] = first;
    names.places[1] = second;
    names.places[2] = NULL;
    names.hangs = false;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.lock);
}

static void let_alpha_hang(void)
{
    pthread_mutex_lock(&names.lock);
    names.hangs = true;
    pthread_mutex_unlock(&names.lock);
}

/* --- the resolver -------------------------------------------------------------------------- */

TEST_PLAIN(a_name_is_all_its_places_and_none_twice)
{
    struct places places;
    alpha_is("127.0.0.2", "fd00::5");
    names.places[2] = "127.0.0.2";
    resolver_find("alpha:7000", &places);
    ck_assert_int_eq(places.status, STATUS_OK);
    ck_assert_uint_eq(places.count, 2);
    ck_assert_str_eq(places.at[0].address, "127.0.0.2:7000");
    ck_assert_str_eq(places.at[1].address, "[fd00::5]:7000");
    ck_assert(places.at[0].loopback && !places.at[1].loopback);
    ck_assert_int_eq(places.at[0].reason, PLACE_UNKNOWN);
}

TEST_PLAIN(what_is_no_place_says_why)
{
    struct places places;
    alpha_is(NULL, NULL);
    resolver_find("alpha:7000", &places);
    ck_assert_int_eq(places.status, STATUS_NOT_FOUND);
    ck_assert_uint_eq(places.count, 0);
    ck_assert_str_eq(places.why, "Name or service not known");
    static const char *const wrong[] = {"alpha", "alpha:x", ":7000", "*:7000", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        resolver_find(wrong[i], &places);
        ck_assert_msg(places.status == STATUS_INVALID, "%s", wrong[i]);
    }
}

TEST_PLAIN(numbers_are_read_without_asking_anybody)
{
    struct places places;
    names.asked = 0;
    ck_assert(resolver_read("10.0.0.5:7000", &places));
    ck_assert_str_eq(places.at[0].address, "10.0.0.5:7000");
    ck_assert(resolver_read("tcp://[0:0::1]:7000", &places));
    ck_assert_str_eq(places.at[0].address, "[::1]:7000");
    ck_assert(places.at[0].loopback);
    ck_assert(!resolver_read("alpha:7000", &places));
    ck_assert_uint_eq(names.asked, 0);
}

TEST_PLAIN(localhost_is_this_host_without_asking_anybody)
{
    static const char *const names_of_it[] = {"localhost:7000", "LocalHost:7000"};
    struct places places;
    for (size_t i = 0; i < 2; i++) {
        resolver_find(names_of_it[i], &places);
        ck_assert_int_eq(places.status, STATUS_OK);
        ck_assert_uint_eq(places.count, 2);
        ck_assert_str_eq(places.at[0].address, "127.0.0.1:7000");
        ck_assert_str_eq(places.at[1].address, "[::1]:7000");
        ck_assert(places.at[0].loopback && places.at[1].loopback);
    }
    ck_assert(!resolver_read("localhost:7000", &places));
}

/* Bound, and not listening: connections are refused, and no other process gets the port. */
static int bind_somewhere(char place[PLACE_BYTES], const char *host)
{
    struct sockaddr_storage address;
    socklen_t size;
    const int shared = 1;
    char service[NI_MAXSERV], any[PLACE_BYTES];
    snprintf(any, sizeof any, "%s:0", host);
    ck_assert(resolver_socket_address(any, &address, &size));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(getnameinfo((struct sockaddr *)&address, size, NULL, 0, service,
                                 sizeof service, NI_NUMERICSERV),
                     0);
    snprintf(place, PLACE_BYTES, "%s:%s", host, service);
    return fd;
}

TEST_PLAIN(a_probe_says_who_listens)
{
    char place[PLACE_BYTES], address[PLACE_BYTES];
    struct places places;
    int fd = bind_somewhere(place, "127.0.0.3");
    ck_assert_int_eq(listen(fd, 1), 0);
    alpha_is("127.0.0.2", "127.0.0.3");
    snprintf(address, sizeof address, "alpha%s", strchr(place, ':'));
    resolver_find(address, &places);
    resolver_probe(&places, 5000);
    ck_assert_int_eq(places.at[0].reason, ECONNREFUSED);
    ck_assert_int_eq(places.at[1].reason, 0);
    close(fd);
}

/* --- inquiries ----------------------------------------------------------------------------- */

TEST_PLAIN(an_inquiry_waits_for_nobody)
{
    struct places places;
    let_alpha_hang();
    uint64_t began_us = clock_now_us();
    struct inquiry *inquiry = inquiry_begin("alpha:7000", false);
    ck_assert_ptr_nonnull(inquiry);
    inquiry_answer(inquiry, 0, &places);
    ck_assert_int_eq(places.status, STATUS_AGAIN);
    inquiry_answer(inquiry, 50, &places);
    ck_assert_int_eq(places.status, STATUS_AGAIN);
    ck_assert_uint_ge(clock_now_us() - began_us, 50000);
    alpha_is("127.0.0.2", NULL);
    inquiry_answer(inquiry, 20000, &places);
    ck_assert_int_eq(places.status, STATUS_OK);
    ck_assert_str_eq(places.at[0].address, "127.0.0.2:7000");
    inquiry_drop(&inquiry);
    ck_assert_ptr_null(inquiry);
    inquiry_drop(&inquiry);

    let_alpha_hang(); /* One that is dropped before it ends takes its memory with it. */
    inquiry = inquiry_begin("alpha:7000", true);
    inquiry_drop(&inquiry);
    alpha_is(NULL, NULL);
}

/* --- connections --------------------------------------------------------------------------- */

static struct transport *transport;
static const struct transport_operations *t;

static void open_transport(void)
{
    struct error error;
    ck_assert_int_eq(transport_zmq_create(&transport, &error), STATUS_OK);
    t = transport->operations;
}

static struct endpoint *listen_at(const char *list, char bound[ADDRESS_MAX])
{
    struct endpoint *endpoint;
    struct error error;
    uint64_t began_us = clock_now_us();
    /* ZeroMQ gives a port back on a thread of its own. */
    while (t->listen(transport, list, PAYLOAD_MAX, bound, &endpoint, &error) != STATUS_OK) {
        ck_assert_msg(clock_now_us() - began_us < PATIENCE_US, "%s", error.text);
        usleep(1000);
    }
    return endpoint;
}

static struct endpoint *connect_to(const char *address)
{
    struct endpoint *endpoint;
    struct error error;
    ck_assert_msg(t->connect(transport, address, PAYLOAD_MAX, &endpoint, &error) == STATUS_OK, "%s",
                  error.text);
    return endpoint;
}

static void send_number(struct endpoint *endpoint, uint32_t number)
{
    uint64_t began_us = clock_now_us();
    while (t->send(endpoint, 0, &number, sizeof number, NULL, 0) != STATUS_OK) {
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
        t->wait(transport, &endpoint, 1, NULL, 0, 2);
    }
}

static bool receive_number(struct endpoint *endpoint, uint32_t *number, uint64_t limit_us)
{
    struct received received;
    uint64_t began_us = clock_now_us();
    while (t->receive(endpoint, &received) != STATUS_OK) {
        if (clock_now_us() - began_us >= limit_us)
            return false;
        t->wait(transport, &endpoint, 1, NULL, 0, 2);
    }
    ck_assert_uint_eq(received.header_bytes, sizeof *number);
    memcpy(number, received.header, sizeof *number);
    return true;
}

static void expect_number(struct endpoint *endpoint, uint32_t expected)
{
    uint32_t number;
    ck_assert(receive_number(endpoint, &number, PATIENCE_US));
    ck_assert_uint_eq(number, expected);
}

/* "alpha:PORT" of where it listens. */
static void name_of(const char *bound, char address[ADDRESS_MAX])
{
    snprintf(address, ADDRESS_MAX, "alpha%s", strrchr(bound, ':'));
}

TEST_PLAIN(every_place_of_a_name_is_tried_until_one_answers)
{
    char bound[ADDRESS_MAX], address[ADDRESS_MAX];
    open_transport();
    struct endpoint *server = listen_at("127.0.0.3:0", bound);
    name_of(bound, address);
    alpha_is("127.0.0.2", "127.0.0.3");
    struct endpoint *client = connect_to(address);
    send_number(client, 7);
    expect_number(server, 7);
    t->close(&client, 0);
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(a_name_that_is_not_known_yet_is_asked_about_until_it_is)
{
    char bound[ADDRESS_MAX], address[ADDRESS_MAX], text[400];
    open_transport();
    struct endpoint *server = listen_at("127.0.0.3:0", bound);
    name_of(bound, address);
    alpha_is(NULL, NULL);
    struct endpoint *client = connect_to(address);
    uint64_t began_us = clock_now_us();
    do {
        t->wait(transport, &client, 1, NULL, 0, 10);
        t->silence(client, text, sizeof text);
        ck_assert_uint_lt(clock_now_us() - began_us, PATIENCE_US);
    } while (strstr(text, "host name does not resolve") == NULL);
    ck_assert_int_eq(t->send(client, 0, "x", 1, NULL, 0), STATUS_AGAIN);
    alpha_is("127.0.0.3", NULL);
    send_number(client, 8);
    expect_number(server, 8);
    t->close(&client, 0);
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(a_server_that_moved_is_found_at_its_new_place)
{
    char bound[ADDRESS_MAX], address[ADDRESS_MAX], there[ADDRESS_MAX];
    uint32_t number;
    open_transport();
    struct endpoint *server = listen_at("127.0.0.2:0", bound);
    name_of(bound, address);
    alpha_is("127.0.0.2", NULL);
    struct endpoint *client = connect_to(address);
    send_number(client, 1);
    expect_number(server, 1);
    t->close(&server, 0);
    alpha_is("127.0.0.3", NULL);
    snprintf(there, sizeof there, "127.0.0.3%s", strrchr(bound, ':'));
    server = listen_at(there, bound);
    /* What the old one has taken and not read is lost with it: say it until it is heard. */
    do
        send_number(client, 2);
    while (!receive_number(server, &number, 20000));
    ck_assert_uint_eq(number, 2);
    t->close(&client, 0);
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(a_connection_under_way_stays_where_it_is_and_loses_nothing)
{
    enum { COUNT = 2000 };
    char bound[ADDRESS_MAX], address[ADDRESS_MAX], other_bound[ADDRESS_MAX], first[ADDRESS_MAX];
    uint32_t number;
    open_transport();
    struct endpoint *server = listen_at("127.0.0.3:0", bound);
    name_of(bound, address);
    alpha_is("127.0.0.2", "127.0.0.3");
    struct endpoint *client = connect_to(address);
    send_number(client, 0);
    expect_number(server, 0);
    /* From now on somebody answers at the first place, too, and the name even forgets the other. */
    snprintf(first, sizeof first, "127.0.0.2%s", strrchr(bound, ':'));
    struct endpoint *other = listen_at(first, other_bound);
    alpha_is("127.0.0.2", NULL);
    for (uint32_t i = 1; i < COUNT; i++) {
        send_number(client, i);
        t->wait(transport, &client, 1, NULL, 0, 1);
        expect_number(server, i);
    }
    ck_assert(!receive_number(server, &number, 100000));
    ck_assert(!receive_number(other, &number, 100000));
    t->close(&client, 0);
    t->close(&server, 0);
    t->close(&other, 0);
    t->destroy(&transport);
}

TEST_PLAIN(whoever_is_shunned_is_left_for_another_place_and_asked_again_when_alone)
{
    char bound[ADDRESS_MAX], address[ADDRESS_MAX], other_bound[ADDRESS_MAX], first[ADDRESS_MAX];
    char text[400];
    uint32_t number;
    open_transport();
    struct endpoint *server = listen_at("127.0.0.3:0", bound);
    name_of(bound, address);
    snprintf(first, sizeof first, "127.0.0.2%s", strrchr(bound, ':'));
    struct endpoint *other = listen_at(first, other_bound);
    alpha_is("127.0.0.2", "127.0.0.3");
    struct endpoint *client = connect_to(address);
    send_number(client, 1);
    expect_number(other, 1);
    t->shun(client, "ps/1, not ps/0");
    while (t->send(client, 0, "two", 4, NULL, 0) == STATUS_OK) /* Until the connection has ended. */
        t->wait(transport, &client, 1, NULL, 0, 1);
    send_number(client, 3);
    expect_number(server, 3);
    t->close(&client, 0);

    alpha_is("127.0.0.2", NULL);
    client = connect_to(address);
    for (uint32_t i = 0; i < 3; i++) { /* It may be somebody else by now. */
        do
            send_number(client, 10 + i);
        while (!receive_number(other, &number, 1000000) || number != 10 + i);
        t->shun(client, "ps/1, not ps/0");
        t->silence(client, text, sizeof text);
        ck_assert_msg(strstr(text, " (127.0.0.2:") != NULL &&
                          strstr(text, " is ps/1, not ps/0: alpha is a") != NULL,
                      "%s", text);
    }
    t->close(&client, 0);
    t->close(&server, 0);
    t->close(&other, 0);
    t->destroy(&transport);
}

TEST_PLAIN(a_name_server_that_hangs_holds_nobody_up)
{
    char text[400];
    struct endpoint *clients[8];
    uint64_t began_us = clock_now_us();
    let_alpha_hang();
    open_transport();
    for (int i = 0; i < 8; i++)
        clients[i] = connect_to("alpha:7000");
    t->wait(transport, clients, 8, NULL, 0, 20);
    t->silence(clients[0], text, sizeof text);
    ck_assert_str_eq(text, "alpha:7000: no name server has said yet what address that is");
    for (int i = 0; i < 8; i++)
        t->close(&clients[i], 2000);
    t->destroy(&transport);
    ck_assert_uint_lt(clock_now_us() - began_us, 5000000);
    alpha_is(NULL, NULL);
}

/* Until the silence of a server is explained by words that begin so. */
static void await_silence(struct endpoint *client, const char *address, const char *expected)
{
    char text[400];
    uint64_t began_us = clock_now_us();
    do {
        t->wait(transport, &client, 1, NULL, 0, 10);
        transport_explain_silence(transport, client, address, text, sizeof text);
        ck_assert_msg(clock_now_us() - began_us < PATIENCE_US, "%s", text);
    } while (strncmp(text, expected, strlen(expected)) != 0);
}

TEST_PLAIN(why_nobody_answers_is_said)
{
    char bound[ADDRESS_MAX], address[ADDRESS_MAX], expected[400];
    open_transport();
    int fd = bind_somewhere(bound, "127.0.0.2");
    name_of(bound, address);
    alpha_is("127.0.0.2", NULL);
    struct endpoint *client = connect_to(address);
    snprintf(expected, sizeof expected, "connection refused by %s (127.0.0.2%s): alpha is a loop",
             address, strrchr(bound, ':'));
    await_silence(client, address, expected);
    struct endpoint *server = listen_at(bound, bound);
    close(fd);
    send_number(client, 1);
    snprintf(expected, sizeof expected, "%s (%s) is connected, but says nothing", address, bound);
    await_silence(client, address, expected);
    t->close(&client, 0);
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(an_address_to_connect_to_must_be_one)
{
    static const char *const wrong[] = {"alpha", ":7000", "*:7000", "alpha:0", ""};
    struct endpoint *endpoint = NULL;
    struct error error;
    open_transport();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(t->connect(transport, wrong[i], PAYLOAD_MAX, &endpoint, &error) ==
                          STATUS_INVALID,
                      "%s", wrong[i]);
    t->destroy(&transport);
}

/* --- listening ----------------------------------------------------------------------------- */

TEST_PLAIN(a_server_listens_on_every_address_of_a_list)
{
    char bound[ADDRESS_MAX], expected[ADDRESS_MAX];
    open_transport();
    /* 198.51.100.0/24 is nobody's (RFC 5737). */
    struct endpoint *server = listen_at("127.0.0.2:0,198.51.100.1:0,127.0.0.3:0", bound);
    const char *port = strrchr(bound, ':');
    snprintf(expected, sizeof expected, "127.0.0.2%s, 127.0.0.3%s", port, port);
    ck_assert_str_eq(bound, expected);
    for (uint32_t i = 2; i <= 3; i++) {
        char place[ADDRESS_MAX];
        snprintf(place, sizeof place, "127.0.0.%u%s", i, port);
        struct endpoint *client = connect_to(place);
        send_number(client, i);
        expect_number(server, i);
        t->close(&client, 0);
    }
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(an_address_in_use_is_named_though_another_is_free)
{
    char bound[ADDRESS_MAX], list[ADDRESS_MAX * 2], place[ADDRESS_MAX], again[ADDRESS_MAX];
    struct endpoint *other = NULL;
    struct error error;
    open_transport();
    struct endpoint *server = listen_at("127.0.0.3:0", bound);
    snprintf(place, sizeof place, "127.0.0.2%s", strrchr(bound, ':'));
    snprintf(list, sizeof list, "%s,%s", place, bound);
    ck_assert_int_eq(t->listen(transport, list, PAYLOAD_MAX, again, &other, &error), STATUS_EXISTS);
    ck_assert_ptr_null(other);
    ck_assert_ptr_nonnull(strstr(error.text, bound));
    ck_assert_ptr_nonnull(strstr(error.text, "in use"));
    t->close(&server, 0);
    server = listen_at(place, again); /* And that one is free again. */
    t->close(&server, 0);
    t->destroy(&transport);
}

TEST_PLAIN(a_list_of_which_nothing_is_here_is_an_error)
{
    static const struct {
        const char *list;
        enum status status;
        const char *words;
    } cases[] = {
        {"198.51.100.1:2000", STATUS_IO, "198.51.100.1:2000: no such address on this host"},
        {"198.51.100.1:2000,198.51.100.2:2000", STATUS_IO, "no such address on this host"},
        {"alpha:2000", STATUS_INVALID, "not a numeric"}, /* Names are the caller's. */
        {"127.0.0.1:0,alpha", STATUS_INVALID, "not a numeric"},
        {"without a port", STATUS_INVALID, "not a numeric"},
        {"", STATUS_INVALID, "not a numeric"},
    };
    char bound[ADDRESS_MAX];
    struct endpoint *endpoint = NULL;
    struct error error;
    open_transport();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(t->listen(transport, cases[i].list, PAYLOAD_MAX, bound, &endpoint, &error),
                         cases[i].status);
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "%s", error.text);
        ck_assert_ptr_null(endpoint);
    }
    t->destroy(&transport);
}

int main(void)
{
    return suite_run("resolver", NULL);
}
