/* The transport with keys, over real sockets: who gets in, who does not, and what they are told. */
/* promises: allow-list */
/* test: tsan */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "common/address/greeting.h"
#include "common/base/clock.h"
#include "common/keys/keys.h"
#include "common/transport/transport.h"
#include "common/transport/zmq/transport_zmq_guard.h"
#include "common/transport/zmq/transport_zmq_monitor.h"
#include "common/wire/message.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { PAYLOAD_MAX = 1 << 20, PATIENCE_US = 20000000, SILENCE_US = 400000 };

/* One process of a job: its keys and its transport. */
struct party {
    struct keys keys;
    struct transport *transport;
    const struct transport_operations *t;
    struct endpoint *endpoint;
};

static char bound[ADDRESS_MAX]; /* Where the latest server listens. */

/* --- keys ------------------------------------------------------------------------------------ */

static struct certificate new_certificate(void)
{
    struct certificate certificate = {.has_secret = true};
    ck_assert_int_eq(transport_keypair(certificate.public_key, certificate.secret_key), STATUS_OK);
    return certificate;
}

/* In FOLDER of the scratch directory; role and index may be NULL. */
static struct certificate make(const char *folder, const char *name, const char *role,
                               const char *index)
{
    char path[DISK_PATH_MAX], file[2 * DISK_PATH_MAX];
    struct error error;
    struct certificate certificate = new_certificate();
    scratch_path(path, folder);
    disk_posix.make_directory(disk_posix.context, path, &error);
    if (role != NULL)
        certificate_add(&certificate, "role", role);
    if (index != NULL)
        certificate_add(&certificate, "index", index);
    snprintf(file, sizeof file, "%s/%s", path, name);
    ck_assert_msg(certificate_write(file, &certificate, &error) == STATUS_OK, "%s", error.text);
    return certificate;
}

static void make_all(const char *folder)
{
    make(folder, "servers", "ps", NULL);
    make(folder, "worker-0", "worker", "0");
    make(folder, "worker-1", NULL, NULL);
}

static void drop(const char *folder, const char *file)
{
    char path[DISK_PATH_MAX], name[200];
    snprintf(name, sizeof name, "%s/%s", folder, file);
    scratch_path(path, name);
    ck_assert_int_eq(unlink(path), 0);
}

/* --- parties --------------------------------------------------------------------------------- */

static struct party open_party(const char *folder, enum role role, uint32_t index)
{
    struct party party = {0};
    struct error error;
    char path[DISK_PATH_MAX];
    scratch_path(path, folder);
    ck_assert_msg(keys_open(&party.keys, path, NULL, role, index, &error) == STATUS_OK, "%s",
                  error.text);
    return party;
}

static void listen_at(struct party *party, const char *address)
{
    struct error error;
    ck_assert_msg(party->t->listen(party->transport, address, PAYLOAD_MAX, bound, &party->endpoint,
                                   &error) == STATUS_OK,
                  "%s", error.text);
}

static void start_server(struct party *party, const char *folder)
{
    struct error error;
    *party = open_party(folder, ROLE_PS, 0);
    ck_assert_msg(transport_curve_create(&party->transport, &party->keys, true, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    party->t = party->transport->operations;
    listen_at(party, "127.0.0.1:0");
}

static void start_plain(struct party *party)
{
    struct error error;
    memset(party, 0, sizeof *party);
    ck_assert_int_eq(transport_zmq_create(&party->transport, &error), STATUS_OK);
    party->t = party->transport->operations;
}

static void connect_party(struct party *party)
{
    struct error error;
    ck_assert_int_eq(
        party->t->connect(party->transport, bound, PAYLOAD_MAX, &party->endpoint, &error),
        STATUS_OK);
}

static void start_worker(struct party *party, const char *folder, uint32_t index)
{
    struct error error;
    *party = open_party(folder, ROLE_WORKER, index);
    ck_assert_msg(transport_curve_create(&party->transport, &party->keys, false, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    party->t = party->transport->operations;
    connect_party(party);
}

static void stop(struct party *party)
{
    party->t->close(&party->endpoint, 0);
    party->t->destroy(&party->transport);
    keys_close(&party->keys);
}

/* --- talking --------------------------------------------------------------------------------- */

static bool try_receive(struct party *party, struct received *received, uint64_t limit_us)
{
    uint64_t began_us = clock_now_us();
    while (party->t->receive(party->endpoint, received) != STATUS_OK) {
        if (clock_now_us() - began_us > limit_us)
            return false;
        party->t->wait(party->transport, &party->endpoint, 1, NULL, 0, 20);
    }
    return true;
}

/* Takes the payload over. */
static bool try_send(struct party *party, uint64_t peer, const char *text, struct frame *payload,
                     uint64_t limit_us)
{
    uint64_t began_us = clock_now_us();
    enum status status;
    do {
        if (payload != NULL)
            frame_retain(payload);
        status = party->t->send(party->endpoint, peer, text, strlen(text), payload, 0);
        if (status == STATUS_AGAIN)
            usleep(2000);
    } while (status == STATUS_AGAIN && clock_now_us() - began_us < limit_us);
    frame_release(payload);
    return status == STATUS_OK;
}

/* Nothing that the worker says reaches the server. */
static void check_is_kept_out(struct party *server, struct party *worker)
{
    struct received received;
    for (uint64_t began_us = clock_now_us(); clock_now_us() - began_us < SILENCE_US;) {
        (void)try_send(worker, 0, "let me in", NULL, 20000);
        ck_assert(!try_receive(server, &received, 20000));
    }
}

/* The worker learns that it will never get in; the server must go on waiting meanwhile. */
static void check_is_told(struct party *server, struct party *worker, const char *why)
{
    char text[400] = "";
    struct received received;
    uint64_t began_us = clock_now_us();
    while (worker->t->refusal(worker->endpoint, text, sizeof text) != STATUS_REFUSED) {
        ck_assert_msg(clock_now_us() - began_us < PATIENCE_US, "not refused");
        (void)worker->t->send(worker->endpoint, 0, "x", 1, NULL, 0);
        if (server != NULL)
            ck_assert(!try_receive(server, &received, 10000));
        else
            usleep(10000);
    }
    ck_assert_msg(strstr(text, why) != NULL, "says: %s", text);
}

/* --- tests ----------------------------------------------------------------------------------- */

TEST_PLAIN(the_right_key_is_let_in_and_known_by_every_message)
{
    struct party server, worker;
    struct received received;
    char text[400];
    make_all("keys");
    start_server(&server, "keys");
    start_worker(&worker, "keys", 0);
    struct frame *payload = frame_create(PAYLOAD_MAX); /* Encryption makes it larger. */
    memset(payload->data, 7, payload->bytes);
    for (int i = 0; i < 3; i++) {
        ck_assert(try_send(&worker, 0, "up", frame_retain(payload), PATIENCE_US));
        ck_assert(try_receive(&server, &received, PATIENCE_US));
        ck_assert(received.header_bytes == 2 && memcmp(received.header, "up", 2) == 0);
        ck_assert(key_equal(received.sender.key, worker.keys.own.public_key));
        ck_assert_uint_eq(received.sender.role, ROLE_WORKER);
        ck_assert(received.sender.has_index && received.sender.index == 0);
        ck_assert_uint_eq(received.payload->bytes, payload->bytes);
        ck_assert(memcmp(received.payload->data, payload->data, payload->bytes) == 0);
        ck_assert(try_send(&server, received.peer, "down", received.payload, PATIENCE_US));
        ck_assert(try_receive(&worker, &received, PATIENCE_US));
        ck_assert(key_is_none(received.sender.key)); /* Its other side is known anyway. */
        ck_assert_uint_eq(received.payload->bytes, payload->bytes);
        frame_release(received.payload);
    }
    ck_assert_int_eq(worker.t->refusal(worker.endpoint, text, sizeof text), STATUS_OK);
    ck_assert_str_eq(text, "");
    frame_release(payload);
    stop(&worker);
    stop(&server);
}

TEST_PLAIN(a_certificate_without_a_role_may_be_anything)
{
    struct party server, worker;
    struct received received;
    make_all("keys");
    start_server(&server, "keys");
    start_worker(&worker, "keys", 1);
    ck_assert(try_send(&worker, 0, "up", NULL, PATIENCE_US));
    ck_assert(try_receive(&server, &received, PATIENCE_US));
    ck_assert(key_equal(received.sender.key, worker.keys.own.public_key));
    ck_assert_uint_eq(received.sender.role, ROLE_NONE);
    stop(&worker);
    stop(&server);
}

TEST_PLAIN(a_server_is_known_to_the_others_by_its_own_key)
{
    struct party server, other;
    struct received received;
    struct error error;
    make_all("keys");
    drop("keys", "servers.key");
    start_server(&server, "keys");
    other = open_party("keys", ROLE_PS, 1);
    ck_assert_int_eq(transport_curve_create(&other.transport, &other.keys, true, &error),
                     STATUS_OK);
    other.t = other.transport->operations;
    connect_party(&other);
    ck_assert(try_send(&other, 0, "up", NULL, PATIENCE_US));
    ck_assert(try_receive(&server, &received, PATIENCE_US));
    ck_assert_uint_eq(received.sender.role, ROLE_PS);
    stop(&other);
    stop(&server);
}

TEST_PLAIN(an_unknown_key_is_refused_and_told_so)
{
    struct party server, worker;
    make_all("keys");
    start_server(&server, "keys");
    drop("keys", "worker-1.key");
    start_worker(&worker, "keys", 1);
    check_is_told(&server, &worker, "not authorised");
    check_is_kept_out(&server, &worker);
    stop(&worker);
    stop(&server);
}

TEST_PLAIN(keys_can_be_added_while_a_server_runs)
{
    struct party server, unknown_peer, worker;
    struct received received;
    make_all("keys");
    start_server(&server, "keys");
    make("elsewhere", "worker-5", NULL, NULL);
    char from[DISK_PATH_MAX], to[DISK_PATH_MAX];
    scratch_path(from, "keys/servers.key");
    scratch_path(to, "elsewhere/servers.key");
    ck_assert_int_eq(link(from, to), 0);
    start_worker(&unknown_peer, "elsewhere", 5);
    check_is_told(&server, &unknown_peer, "not authorised");
    stop(&unknown_peer);
    scratch_path(from, "elsewhere/worker-5.key");
    scratch_path(to, "keys/worker-5.key");
    ck_assert_int_eq(link(from, to), 0);
    start_worker(&worker, "elsewhere", 5);
    ck_assert(try_send(&worker, 0, "up", NULL, PATIENCE_US));
    ck_assert(try_receive(&server, &received, PATIENCE_US));
    stop(&worker);
    stop(&server);
}

/* Such a server hangs up without a word; its greeting tells what it is. */
TEST_PLAIN(a_server_with_another_key_is_not_talked_to)
{
    struct party server, worker;
    make_all("theirs");
    make_all("ours");
    start_server(&server, "theirs");
    start_worker(&worker, "ours", 0);
    check_is_told(&server, &worker, "wrong key");
    check_is_kept_out(&server, &worker);
    stop(&worker);
    stop(&server);
}

TEST_PLAIN(a_worker_without_keys_is_refused_by_a_server_with_keys)
{
    struct party server, worker;
    make_all("keys");
    start_server(&server, "keys");
    start_plain(&worker);
    connect_party(&worker);
    check_is_told(&server, &worker, "wants keys");
    check_is_kept_out(&server, &worker);
    stop(&worker);
    stop(&server);
}

TEST_PLAIN(a_worker_with_keys_does_not_talk_to_a_server_without)
{
    struct party server, worker;
    make_all("keys");
    start_plain(&server);
    listen_at(&server, "127.0.0.1:0");
    start_worker(&worker, "keys", 0);
    check_is_told(&server, &worker, "has no keys");
    check_is_kept_out(&server, &worker);
    stop(&worker);
    stop(&server);
}

/* A plain TCP connection to the latest server. */
static int connect_tcp(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)atoi(strrchr(bound, ':') + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)(void *)&to, sizeof to), 0);
    return fd;
}

#define SOMEBODYS_KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

/* ZMTP 3.0 by hand: a greeting, a READY with a User-Id among its properties, a message "x". */
static int connect_as_somebody(void)
{
    static const uint8_t greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                         1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    static const char ready[] = "\5READY"
                                "\13Socket-Type\0\0\0\6DEALER"
                                "\7User-Id\0\0\0\50" SOMEBODYS_KEY;
    const uint8_t command[] = {4, sizeof ready - 1}, message[] = {0, 1, 'x'};
    int fd = connect_tcp();
    ck_assert_int_eq(send(fd, greeting, sizeof greeting, MSG_NOSIGNAL), sizeof greeting);
    ck_assert_int_eq(send(fd, command, sizeof command, MSG_NOSIGNAL), sizeof command);
    ck_assert_int_eq(send(fd, ready, sizeof ready - 1, MSG_NOSIGNAL), sizeof ready - 1);
    /* Its greeting and the beginning of its READY: from here on it takes messages. */
    uint8_t theirs[64 + 2];
    ck_assert_int_eq(recv(fd, theirs, sizeof theirs, MSG_WAITALL), sizeof theirs);
    ck_assert_int_eq(send(fd, message, sizeof message, MSG_NOSIGNAL), sizeof message);
    return fd;
}

/* A peer may send what properties it likes in its handshake, User-Id among them. */
TEST_PLAIN(without_keys_nobody_is_believed_to_have_one)
{
    struct party server;
    struct received received;
    start_plain(&server);
    listen_at(&server, "127.0.0.1:0");
    int fd = connect_as_somebody();
    ck_assert(try_receive(&server, &received, PATIENCE_US));
    ck_assert(received.header_bytes == 1 && received.header[0] == 'x');
    ck_assert(key_is_none(received.sender.key));
    close(fd);
    stop(&server);
}

/* A listening socket as the transport makes it, whose guard can be taken away. */
struct guarded {
    void *context, *socket;
    struct guard *guard;
    struct monitor monitor;
    struct keys keys;
};

static void open_guarded(struct guarded *g, const char *folder)
{
    struct error error;
    char last[ADDRESS_MAX + 16];
    size_t size = sizeof last;
    memset(g, 0, sizeof *g);
    g->keys = open_party(folder, ROLE_PS, 0).keys;
    g->context = zmq_ctx_new();
    ck_assert_int_eq(guard_start(&g->guard, g->context, &g->keys, &error), STATUS_OK);
    g->socket = zmq_socket(g->context, ZMQ_ROUTER);
    int64_t max_message = 1 << 20;
    ck_assert_int_eq(guard_arm(g->socket, true, &g->keys), STATUS_OK);
    zmq_setsockopt(g->socket, ZMQ_MAXMSGSIZE, &max_message, sizeof max_message);
    ck_assert_int_eq(monitor_open(&g->monitor, g->context, g->socket, 1), STATUS_OK);
    ck_assert_int_eq(zmq_bind(g->socket, "tcp://127.0.0.1:*"), 0);
    ck_assert_int_eq(zmq_getsockopt(g->socket, ZMQ_LAST_ENDPOINT, last, &size), 0);
    snprintf(bound, sizeof bound, "%s", last + strlen("tcp://"));
}

static void close_guarded(struct guarded *g)
{
    guard_stop(&g->guard);
    monitor_close(&g->monitor, g->socket);
    zmq_close(g->socket);
    zmq_ctx_term(g->context);
}

static bool guarded_hears(struct guarded *g, int limit_ms)
{
    char frame[64];
    zmq_pollitem_t item = {g->socket, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, limit_ms) <= 0)
        return false;
    while (zmq_recv(g->socket, frame, sizeof frame, ZMQ_DONTWAIT) >= 0)
        continue;
    return true;
}

#define TEST_GUARDED(name)                                                                         \
    SUITE_TEST(name, struct guarded, server, make_all("keys");                                     \
               open_guarded(server, "keys"), close_guarded(server))

TEST_GUARDED(when_nobody_is_there_to_check_keys_nobody_is_let_in)
{
    struct party worker, late;
    start_worker(&worker, "keys", 0);
    ck_assert(try_send(&worker, 0, "up", NULL, PATIENCE_US));
    ck_assert(guarded_hears(server, PATIENCE_US / 1000)); /* It would let it in. */

    guard_stop(&server->guard);
    start_worker(&late, "keys", 0);
    uint64_t began_us = clock_now_us();
    while (server->monitor.counts.unguarded == 0 || clock_now_us() - began_us < SILENCE_US) {
        ck_assert(clock_now_us() - began_us < PATIENCE_US);
        ck_assert(!try_send(&late, 0, "late", NULL, 10000));
        ck_assert(!guarded_hears(server, 10));
        monitor_look(&server->monitor, clock_now_us());
    }
    ck_assert_uint_eq(server->monitor.counts.succeeded, 1);

    ck_assert(try_send(&worker, 0, "up", NULL, PATIENCE_US)); /* Who was in stays in. */
    ck_assert(guarded_hears(server, PATIENCE_US / 1000));
    stop(&worker);
    stop(&late);
}

/* It takes questions, and that is all. */
TEST_GUARDED(a_checker_of_keys_that_answers_nothing_lets_nobody_in_and_waiting_says_so)
{
    struct party late;
    char why[400] = "";
    guard_stop(&server->guard);
    void *mute = zmq_socket(server->context, ZMQ_ROUTER);
    uint64_t began_us = clock_now_us(); /* The other one's socket is closed behind our back. */
    while (zmq_bind(mute, "inproc://zeromq.zap.01") != 0)
        ck_assert(clock_now_us() - began_us < PATIENCE_US);
    start_worker(&late, "keys", 0);
    for (began_us = clock_now_us(); strstr(why, "does not answer the handshake") == NULL;) {
        ck_assert_msg(clock_now_us() - began_us < PATIENCE_US, "%s", why);
        ck_assert(!try_send(&late, 0, "late", NULL, 10000));
        ck_assert_int_eq(late.t->refusal(late.endpoint, why, sizeof why), STATUS_OK);
        late.t->silence(late.endpoint, why, sizeof why);
    }
    ck_assert_ptr_eq(strstr(why, "127.0.0.1:"), why); /* Where. */
    monitor_look(&server->monitor, clock_now_us());
    ck_assert_uint_eq(server->monitor.counts.succeeded, 0);
    stop(&late);
    zmq_close(mute);
}

TEST_GUARDED(refusals_are_counted_by_what_they_were_for)
{
    struct party worker, plain, unknown_peer;
    make_all("others");
    drop("keys", "worker-1.key");
    start_worker(&worker, "keys", 1);
    check_is_told(NULL, &worker, "not authorised");
    start_plain(&plain);
    connect_party(&plain);
    check_is_told(NULL, &plain, "wants keys");
    start_worker(&unknown_peer, "others", 0);
    check_is_told(NULL, &unknown_peer, "wrong key");
    monitor_look(&server->monitor, clock_now_us());
    const struct handshakes *counts = &server->monitor.counts;
    ck_assert_uint_eq(counts->succeeded, 0);
    ck_assert_uint_eq(counts->unauthorized, 1);
    ck_assert_uint_ge(counts->mismatched + counts->cut, 1); /* Whoever is first hangs up. */
    ck_assert_uint_ge(counts->garbled, 3);
    stop(&worker);
    stop(&plain);
    stop(&unknown_peer);
}

/* What no ZeroMQ says. */
static void send_garbage(unsigned seed, size_t bytes)
{
    /* A true greeting of CURVE begins some of them, so that they get to the handshake itself. */
    static const uint8_t greeting[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,  1,
                                         0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    uint8_t *data = malloc(bytes);
    int fd = connect_tcp();
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1103515245u + 12345u;
        data[i] = (uint8_t)(seed >> 16);
    }
    if (seed % 3 == 0)
        memcpy(data, "GET / HTTP/1.0\r\n\r\n", bytes < 18 ? bytes : 18);
    bool greets = seed % 2; /* The server may hang up while we speak. */
    if (greets && send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) < 0)
        bytes = 0;
    if (send(fd, data, bytes, MSG_NOSIGNAL) < 0)
        bytes = 0;
    free(data);
    close(fd);
}

TEST_GUARDED(garbage_is_refused_and_counted_and_hurts_nobody)
{
    struct party worker;
    for (unsigned i = 0; i < 500; i++)
        send_garbage(i, 1 + (i % 60) * (i % 60) * 20);
    start_worker(&worker, "keys", 0);
    ck_assert(try_send(&worker, 0, "up", NULL, PATIENCE_US));
    ck_assert(guarded_hears(server, PATIENCE_US / 1000));
    ck_assert(!guarded_hears(server, 0));
    /* Whatever was garbage has had the time that a handshake has. */
    uint64_t now_us = clock_now_us();
    for (int i = 1; i <= 3; i++)
        monitor_look(&server->monitor, now_us + 2 * i * (uint64_t)MONITOR_PATIENCE_US);
    const struct handshakes *counts = &server->monitor.counts;
    ck_assert_uint_eq(counts->succeeded, 1);
    ck_assert_uint_ge(counts->garbled, 50);
    ck_assert_uint_ge(counts->foreign, 50);
    ck_assert_uint_eq(
        counts->garbled + counts->mismatched + counts->foreign + counts->cut + counts->late, 500);
    ck_assert_uint_eq(server->monitor.open, 1); /* However the others ended. */
    stop(&worker);
}

TEST_PLAIN(a_handshake_under_way_is_not_foreign_when_a_look_comes_with_an_older_time)
{
    struct monitor monitor = {.accepted = 1};
    monitor_look(&monitor, 10000000);
    monitor_look(&monitor, 9999999);
    monitor_look(&monitor, 9999998);
    ck_assert_uint_eq(monitor.counts.foreign, 0);
    monitor_look(&monitor, 10000000 + MONITOR_PATIENCE_US);
    ck_assert_uint_eq(monitor.counts.foreign, 1);
}

TEST_PLAIN(a_greeting_tells_what_listens)
{
    struct party server;
    make_all("keys");
    start_server(&server, "keys");
    ck_assert_int_eq(greeting_ask(bound, 2000), GREETING_CURVE);
    stop(&server);
    ck_assert_int_eq(greeting_ask(bound, 2000), GREETING_NONE);
    start_plain(&server);
    listen_at(&server, "127.0.0.1:0");
    ck_assert_int_eq(greeting_ask(bound, 2000), GREETING_PLAIN);
    stop(&server);
    ck_assert_int_eq(greeting_ask("nowhere.invalid:1", 100), GREETING_NONE);
    ck_assert_int_eq(greeting_ask("no address", 100), GREETING_NONE);

    int mute = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(mute, (struct sockaddr *)(void *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(mute, 1), 0);
    ck_assert_int_eq(getsockname(mute, (struct sockaddr *)(void *)&at, &size), 0);
    snprintf(bound, sizeof bound, "127.0.0.1:%u", ntohs(at.sin_port));
    ck_assert_int_eq(greeting_ask(bound, 50), GREETING_NONE);
    close(mute);
}

TEST_PLAIN(a_key_pair_must_belong_together)
{
    struct party worker;
    struct transport *transport = NULL;
    struct error error;
    make_all("keys");
    worker = open_party("keys", ROLE_WORKER, 0);
    worker.keys.own.public_key[3] ^= 1;
    ck_assert_int_eq(transport_curve_create(&transport, &worker.keys, false, &error),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "does not belong"));
    ck_assert_ptr_null(transport);
}

TEST_PLAIN(a_server_does_not_start_with_a_list_that_cannot_be_read)
{
    struct party server;
    struct transport *transport = NULL;
    struct error error;
    char path[DISK_PATH_MAX];
    make_all("keys");
    scratch_path(path, "keys/broken.key");
    scratch_write(path, "curve\n", 6);
    server = open_party("keys", ROLE_PS, 0);
    ck_assert_int_eq(transport_curve_create(&transport, &server.keys, true, &error),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "broken.key"));
    ck_assert_ptr_null(transport);
}

int main(void)
{
    return suite_run("transport_curve", scratch_add);
}
