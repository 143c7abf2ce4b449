/* transport_zmq.c - ROUTER and DEALER sockets; rules Z1-Z19 are in proto/CONTRACT.md section 8.
 * Keys are checked in transport_zmq_guard.c; transport_zmq_monitor.c counts refusals and open
 * connections. */

#include "common/transport/transport.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "common/address/greeting.h"
#include "common/address/silence.h"
#include "common/base/clock.h"
#include "common/process/file_limit.h"
#include "common/process/headroom.h"
#include "common/process/log.h"
#include "common/transport/zmq/transport_zmq_bind.h"
#include "common/transport/zmq/transport_zmq_dialer.h"
#include "common/transport/zmq/transport_zmq_guard.h"
#include "common/transport/zmq/transport_zmq_monitor.h"
#include "common/wire/message.h"

#define ROUTING_ID_BYTES 5 /* libzmq's own ids: a zero byte and 32 bits. */

/* Descriptors that libzmq may want before there is anything to send: for its two threads and the
 * guard's; and memory for its sockets and first connections. */
#define LIBRARY_THREADS 3
#define LIBRARY_BYTES   (8 << 20)

#define CURVE_BYTES     33     /* What CURVE adds to a frame on the wire. */
#define LOOK_US         100000 /* Between looks at what became of handshakes. */
#define ANSWER_US       200    /* After a message to a server, its answer may come at any moment. */
#define ANSWER_BYTES    131072 /* Larger payloads travel longer than that. */
#define BACKLOG         1024   /* All workers may come at once. */
#define CUTS_SUSPICIOUS 3      /* Handshakes cut in a row; one may be a server that just died. */
#define GREETING_MS     400    /* A process that waits ends in time, also during one such look. */
#define FAILURES_A_LINE 1000

/* A server may receive a whole declaration at once, in 8192 pages. libzmq stops at half the mark
 * when the other side is slow to confirm, so twice that, and as much again. More for one peer is
 * STATUS_AGAIN, which a listening endpoint's user takes for lost. */
#define SEND_HWM (4 * (JOB_BYTES_MAX / JOB_PAGE_BYTES))

struct zmq_transport {
    struct transport base;
    void *context;
    const struct keys *keys; /* NULL: none. */
    struct guard *guard;     /* Of transports with keys that may listen. */
    atomic_uint monitors;    /* Made so far. */
};

struct endpoint {
    void *socket;
    bool listening;
    const struct keys *keys;
    struct dialer dialer; /* Connecting. */
    struct monitor monitor;
    struct handshakes known; /* As of the last look, or question. */
    enum greeting greeting;  /* Connecting: the greeting at the last question. */
    uint64_t looked_us;
    uint64_t said_us; /* Connecting: time of the last send; 0: it was large. */
    bool drained;     /* There was no message, and libzmq was not called since. */
};

static enum status set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0 ? STATUS_OK : STATUS_IO;
}

/* Options act on later binds and connects only, so all are set first (Z8). */
static enum status configure(struct endpoint *endpoint, size_t max_payload)
{
    int64_t max_message = (int64_t)max_payload;
    if (max_message < 4096)
        max_message = 4096;
    if (endpoint->keys != NULL)
        max_message += CURVE_BYTES;
    enum status status = STATUS_OK;
    if (zmq_setsockopt(endpoint->socket, ZMQ_MAXMSGSIZE, &max_message, sizeof max_message) != 0)
        status = STATUS_IO; /* Z11: the declared size is allocated on sight. */
    const int options[][2] = {
        {ZMQ_LINGER, 0},
        {ZMQ_BACKLOG, BACKLOG},
        /* No mark for receiving: libzmq 4.3.4 counts whole messages with it, and fails an
         * assertion when a connection ends that it has stopped reading (in_event_internal, then
         * out_event, of stream_engine_base.cpp; issues 3937, 4364 and 4767). Any peer could end
         * this process so. */
        {ZMQ_RCVHWM, 0},
        {ZMQ_SNDHWM, endpoint->listening ? (int)SEND_HWM : 0},
        /* Z9. The kernel asks whether the other side is still there, and gives up what it has
         * sent when it stays unacknowledged for so long. A listening socket is the more patient:
         * a worker that was stopped for some seconds keeps its connection. Heartbeats of
         * libzmq's own are off, as they are by default: their timer fails an assertion
         * (out_event of stream_engine_base.cpp) on a connection that has ended while its socket
         * was closing. Any peer could end this process so. */
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, endpoint->listening ? 10 : 1},
        {ZMQ_TCP_KEEPALIVE_INTVL, endpoint->listening ? 5 : 1},
        {ZMQ_TCP_KEEPALIVE_CNT, 4},
        {ZMQ_TCP_MAXRT, endpoint->listening ? 30000 : 5000},
        {ZMQ_HANDSHAKE_IVL, endpoint->listening ? MONITOR_HANDSHAKE_MS : MONITOR_OWN_MS},
        {ZMQ_RECONNECT_IVL, 100},
        {ZMQ_RECONNECT_IVL_MAX, 2000}, /* Z10 */
        {ZMQ_IPV6, 1},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (set_int(endpoint->socket, options[i][0], options[i][1]) != STATUS_OK)
            status = STATUS_IO;
    /* libzmq 4.3 still speaks ZMTP 1 and 2 to a peer that opens with them. There a connection
     * that ends at the wrong moment fails an assertion of its own (zmtp_engine.cpp, routing
     * ids): any peer's bytes could end this process. It refuses both as soon as an
     * authentication domain is named. Without keys no handler answers for the domain, which is
     * no reason to refuse ZMTP 3. */
    static const char domain[] = "syncopate";
    if (endpoint->listening &&
        zmq_setsockopt(endpoint->socket, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1) != 0)
        status = STATUS_IO;
    if (endpoint->listening)
        /* Z3: an unroutable message is an error, not silence. */
        return set_int(endpoint->socket, ZMQ_ROUTER_MANDATORY, 1) == STATUS_OK ? status : STATUS_IO;
    /* Z6, Z7: nothing is queued for a later listener at this address. */
    return set_int(endpoint->socket, ZMQ_IMMEDIATE, 1) == STATUS_OK ? status : STATUS_IO;
}

static void endpoint_free(struct endpoint *endpoint)
{
    dialer_stop(&endpoint->dialer);
    if (endpoint->monitor.socket != NULL)
        monitor_close(&endpoint->monitor, endpoint->socket);
    if (endpoint->socket != NULL)
        zmq_close(endpoint->socket);
    free(endpoint);
}

static enum status endpoint_open(struct zmq_transport *transport, int type, size_t max_payload,
                                 struct endpoint **endpoint)
{
    struct endpoint *e = calloc(1, sizeof *e);
    if (e == NULL)
        return STATUS_MEMORY;
    e->listening = type == ZMQ_ROUTER;
    e->keys = transport->keys;
    e->socket = zmq_socket(transport->context, type);
    enum status status = e->socket != NULL ? configure(e, max_payload) : STATUS_IO;
    if (status == STATUS_OK && e->keys != NULL)
        status = guard_arm(e->socket, e->listening, e->keys);
    if (status == STATUS_OK)
        status = monitor_open(&e->monitor, transport->context, e->socket,
                              atomic_fetch_add(&transport->monitors, 1));
    if (status == STATUS_OK)
        *endpoint = e;
    else
        endpoint_free(e);
    return status;
}

static void zmq_endpoint_close(struct endpoint **endpoint, int linger_ms)
{
    if (*endpoint == NULL)
        return;
    set_int((*endpoint)->socket, ZMQ_LINGER, linger_ms);
    endpoint_free(*endpoint);
    *endpoint = NULL;
}

/* --- listening ----------------------------------------------------------------------------- */

static enum status zmq_listen(struct transport *transport, const char *address, size_t max_payload,
                              char bound[ADDRESS_MAX], struct endpoint **endpoint,
                              struct error *error)
{
    struct error fault = {STATUS_OK, ""};
    enum status status =
        endpoint_open((struct zmq_transport *)transport, ZMQ_ROUTER, max_payload, endpoint);
    if (status != STATUS_OK)
        return error_set(error, status, "cannot make a socket: %s", zmq_strerror(zmq_errno()));
    (*endpoint)->monitor.open_max = file_limit_connections();
    status = bind_list((*endpoint)->socket, address, bound, &fault);
    if (status == STATUS_OK)
        return STATUS_OK;
    zmq_endpoint_close(endpoint, 0);
    return error_set(error, status, "%s", fault.text);
}

/* --- connecting ---------------------------------------------------------------------------- */

static enum status zmq_connect_to(struct transport *transport, const char *address,
                                  size_t max_payload, struct endpoint **endpoint,
                                  struct error *error)
{
    enum status status =
        endpoint_open((struct zmq_transport *)transport, ZMQ_DEALER, max_payload, endpoint);
    if (status != STATUS_OK)
        return error_set(error, status, "cannot make a socket: %s", zmq_strerror(zmq_errno()));
    status = dialer_start(&(*endpoint)->dialer, (*endpoint)->socket, address, &(*endpoint)->monitor,
                          error);
    if (status != STATUS_OK)
        zmq_endpoint_close(endpoint, 0);
    return status;
}

/* --- messages ------------------------------------------------------------------------------ */

static void payload_sent(void *data, void *hint)
{
    (void)data;
    frame_release(hint); /* On libzmq's thread, at its own time (Z14). */
}

static enum status send_payload(void *socket, struct frame *payload)
{
    zmq_msg_t part;
    if (zmq_msg_init_data(&part, payload->data, payload->bytes, payload_sent, payload) != 0) {
        frame_release(payload);
        zmq_send(socket, "", 0, ZMQ_DONTWAIT); /* Or the next message would be a part of this. */
        return STATUS_MEMORY;
    }
    if (zmq_msg_send(&part, socket, ZMQ_DONTWAIT) >= 0)
        return STATUS_OK;
    zmq_msg_close(&part); /* Drops the reference through payload_sent. */
    return STATUS_UNREACHABLE;
}

static enum status send_error(void)
{
    switch (zmq_errno()) {
    case EAGAIN:
        return STATUS_AGAIN;
    case EHOSTUNREACH:
        return STATUS_UNREACHABLE;
    default:
        return STATUS_IO;
    }
}

static enum status zmq_endpoint_send(struct endpoint *endpoint, uint64_t peer, const void *header,
                                     size_t header_bytes, struct frame *payload, uint64_t place)
{
    (void)place;
    endpoint->drained = false;
    int more = payload != NULL ? ZMQ_SNDMORE : 0;
    enum status status = STATUS_OK;
    if (endpoint->listening) {
        uint8_t id[ROUTING_ID_BYTES] = {0};
        for (int i = 0; i < 4; i++)
            id[1 + i] = (uint8_t)(peer >> (8 * i));
        if (zmq_send(endpoint->socket, id, sizeof id, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
            status = send_error();
    }
    if (status == STATUS_OK &&
        zmq_send(endpoint->socket, header, header_bytes, ZMQ_DONTWAIT | more) < 0)
        status = send_error();
    if (!endpoint->listening)
        endpoint->said_us = payload == NULL || payload->bytes < ANSWER_BYTES ? clock_now_us() : 0;
    if (payload == NULL)
        return status;
    if (status == STATUS_OK)
        return send_payload(endpoint->socket, payload);
    frame_release(payload);
    return status;
}

/* libzmq receives small messages side by side into a buffer of its own, and fills that anew when
 * the last of them was closed, by any thread: ordered by a count that ThreadSanitizer cannot see
 * (tests/tsan.supp), and so announced here. */
#ifdef __SANITIZE_THREAD__
static char part_buffers;
static void part_closes(void)
{
    __tsan_release(&part_buffers);
}
static void part_came(void)
{
    __tsan_acquire(&part_buffers);
}
#else
static void part_closes(void)
{
}
static void part_came(void)
{
}
#endif

static void part_release(void *context)
{
    part_closes();
    zmq_msg_close(context);
    free(context);
}

/* Hand a received part on without a copy. Only small ones, which libzmq delivers inside its
 * receive buffer at any address (Z12), are copied to where floats may be. */
static struct frame *frame_from_part(zmq_msg_t *part)
{
    if ((uintptr_t)zmq_msg_data(part) % sizeof(float) != 0) {
        struct frame *copy = frame_create(zmq_msg_size(part));
        if (copy != NULL)
            memcpy(copy->data, zmq_msg_data(part), zmq_msg_size(part));
        return copy;
    }
    zmq_msg_t *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return NULL;
    zmq_msg_init(kept);
    zmq_msg_move(kept, part);
    struct frame *frame =
        frame_wrap(zmq_msg_data(kept), zmq_msg_size(kept), true, part_release, kept);
    if (frame == NULL)
        part_release(kept);
    return frame;
}

/* The identity that the guard accepted on this connection. Without a guard a peer could claim
 * one: zmq_msg_gets finds the properties of a ZMTP handshake, too. */
static bool take_sender(const struct endpoint *endpoint, zmq_msg_t *part, struct identity *sender)
{
    if (!endpoint->listening || endpoint->keys == NULL)
        return true;
    const char *user = zmq_msg_gets(part, "User-Id");
    return user != NULL && identity_parse(user, sender);
}

/* Read the parts of one message; only a well-formed one is given on. Anything else is read to
 * its end and dropped, here as malformed (header_bytes 0). */
static enum status receive_parts(struct endpoint *endpoint, struct received *received)
{
    bool bad = false;
    int index = endpoint->listening ? 0 : 1; /* 0: routing id, 1: header, 2: payload. */
    for (bool more = true; more; index++) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, endpoint->socket, ZMQ_DONTWAIT) < 0) {
            int reason = zmq_errno();
            zmq_msg_close(&part);
            endpoint->drained = reason == EAGAIN;
            return reason == EAGAIN || reason == EINTR ? STATUS_AGAIN : STATUS_IO;
        }
        part_came();
        more = zmq_msg_more(&part);
        size_t bytes = zmq_msg_size(&part);
        const uint8_t *data = zmq_msg_data(&part);
        if (index == 0 && bytes == ROUTING_ID_BYTES &&
            data[0] == 0) { /* Never one that a peer chose. */
            for (int i = 0; i < 4; i++)
                received->peer |= (uint64_t)data[1 + i] << (8 * i);
        } else if (index == 1 && bytes > 0 && bytes <= sizeof received->header) {
            memcpy(received->header, data, bytes);
            received->header_bytes = bytes;
            bad = bad || !take_sender(endpoint, &part, &received->sender);
        } else if (index == 2) {
            received->payload = frame_from_part(&part);
            bad = bad || received->payload == NULL;
        } else {
            bad = true;
        }
        part_closes();
        zmq_msg_close(&part);
    }
    if (bad || index < 2) {
        frame_release(received->payload);
        received->payload = NULL;
        received->header_bytes = 0;
    }
    return STATUS_OK;
}

/* --- handshakes that came to nothing ------------------------------------------------------- */

/* One line when it first happens, and one a thousand after that. */
static void say_failures(uint64_t before, uint64_t now, const char *what)
{
    if (now > 0 && (before == 0 || before / FAILURES_A_LINE != now / FAILURES_A_LINE))
        log_warning("refused connections count=%llu: %s", (unsigned long long)now, what);
}

/* The guard names those whose key is not on its list; of all others no more is known than this. */
static void say_unknown(const struct handshakes *before, const struct handshakes *now)
{
    say_failures(before->mismatched, now->mismatched, "a peer without keys");
    say_failures(before->garbled, now->garbled,
                 "a peer that does not know this server's key, or speaks another protocol");
    say_failures(before->foreign, now->foreign, "a peer that does not speak ZeroMQ");
    say_failures(before->unguarded, now->unguarded, "no guard is there to check keys");
    /* One alone means nothing: our own processes do so, too, when they dial anew while this one
     * starts. */
    if (now->cut >= FAILURES_A_LINE)
        say_failures(before->cut, now->cut, "peers that hung up before they had shown a key");
}

/* Without keys no peer is refused, but when there are too many. */
static void say_refused(struct endpoint *endpoint)
{
    const struct handshakes *before = &endpoint->known, *now = &endpoint->monitor.counts;
    say_failures(before->surplus, now->surplus,
                 "half of the files that this process may open (ulimit -n) are connections");
    if (endpoint->keys != NULL)
        say_unknown(before, now);
    endpoint->known = *now;
}

/* A refusal is final when no other place is left to be tried. */
static bool is_refused(const struct endpoint *endpoint)
{
    const struct handshakes *counts = &endpoint->monitor.counts;
    return route_is_exhausted(&endpoint->dialer.route) &&
           (counts->mismatched > 0 || counts->unauthorized > 0);
}

static void look(struct endpoint *endpoint)
{
    endpoint->drained = false;
    endpoint->looked_us = clock_now_us();
    monitor_look(&endpoint->monitor, endpoint->looked_us);
    if (endpoint->listening)
        say_refused(endpoint);
    else
        dialer_look(&endpoint->dialer, &endpoint->monitor, is_refused(endpoint),
                    endpoint->looked_us);
}

static void look_when_due(struct endpoint *endpoint, uint64_t now_us)
{
    uint64_t patience_us = 1000 * (uint64_t)dialer_patience_ms(&endpoint->dialer);
    uint64_t due_us = patience_us > 0 && patience_us < LOOK_US ? patience_us : LOOK_US;
    if (endpoint->monitor.socket != NULL && now_us - endpoint->looked_us >= due_us)
        look(endpoint);
}

static enum status zmq_endpoint_receive(struct endpoint *endpoint, struct received *received)
{
    if (endpoint->listening) /* There may be no wait for long. */
        look_when_due(endpoint, clock_now_us());
    received->peer = 0;
    received->header_bytes = 0;
    received->payload = NULL;
    received->sender = (struct identity){0};
    endpoint->drained = false;
    return receive_parts(endpoint, received);
}

static enum status explain_mismatch(const struct endpoint *endpoint, char *text, size_t size)
{
    snprintf(text, size, "%s",
             endpoint->keys != NULL ? "it has no keys (--keys), and this process has"
                                    : "it wants keys, and this process has none (--keys)");
    return STATUS_REFUSED;
}

static enum status explain_unauthorized(const struct endpoint *endpoint, char *text, size_t size)
{
    char key[KEY_TEXT];
    key_format(endpoint->keys->own.public_key, key);
    snprintf(text, size, "not authorised: it has no certificate with this process's key, %s", key);
    return STATUS_REFUSED;
}

/* A server without the expected key hangs up without a word. So may a server with keys when we
 * have none, or the other way round: its greeting tells them from others that hang up. */
static enum status explain_cuts(struct endpoint *endpoint, char *text, size_t size)
{
    const struct handshakes *now = &endpoint->monitor.counts;
    if (now->cut_in_a_row > endpoint->known.cut_in_a_row && now->cut_in_a_row >= CUTS_SUSPICIOUS)
        endpoint->greeting = greeting_ask(endpoint->dialer.route.at, GREETING_MS);
    endpoint->known = *now;
    bool keys = endpoint->keys != NULL;
    if (now->cut_in_a_row < CUTS_SUSPICIOUS || endpoint->greeting == GREETING_NONE)
        return STATUS_OK;
    if (keys != (endpoint->greeting == GREETING_CURVE))
        return explain_mismatch(endpoint, text, size);
    if (!keys)
        return STATUS_OK;
    if (key_equal(endpoint->keys->server, endpoint->keys->own.public_key))
        snprintf(text, size, "wrong key: it does not have the one that all servers share");
    else
        snprintf(text, size,
                 "wrong key: it is not the server of %.200s/servers.key, or can check no keys now",
                 endpoint->keys->directory);
    return STATUS_REFUSED;
}

static enum status zmq_refusal(struct endpoint *endpoint, char *text, size_t size)
{
    const struct handshakes *counts = &endpoint->monitor.counts;
    text[0] = '\0';
    look(endpoint);
    if (endpoint->listening || !route_is_exhausted(&endpoint->dialer.route))
        return STATUS_OK;
    if (counts->mismatched > 0)
        return explain_mismatch(endpoint, text, size);
    if (endpoint->keys != NULL && counts->unauthorized > 0)
        return explain_unauthorized(endpoint, text, size);
    return explain_cuts(endpoint, text, size);
}

static void zmq_shun(struct endpoint *endpoint, const char *who)
{
    endpoint->drained = false;
    dialer_shun(&endpoint->dialer, who, clock_now_us());
}

static void zmq_silence(struct endpoint *endpoint, char *text, size_t size)
{
    const struct handshakes *counts = &endpoint->monitor.counts;
    const struct dialer *dialer = &endpoint->dialer;
    char name[ADDRESS_MAX + PLACE_BYTES];
    look(endpoint);
    silence_name(dialer->address, dialer->route.at, name, sizeof name);
    bool known = strcmp(dialer->route.who_at, dialer->route.at) == 0; /* As another process. */
    if (dialer->route.connected && !known)
        snprintf(text, size, "%s is connected, but says nothing", name);
    else if (counts->succeeded == 0 && counts->late > 0)
        snprintf(text, size, "%s accepts connections, but does not answer the handshake", name);
    else
        silence_describe(dialer->address, &dialer->route, text, size);
}

/* --- waiting and the end ------------------------------------------------------------------- */

static int left_of(int timeout_ms, uint64_t since_us)
{
    uint64_t past_ms = (clock_now_us() - since_us) / 1000;
    if (timeout_ms < 0)
        return timeout_ms;
    return past_ms < (uint64_t)timeout_ms ? timeout_ms - (int)past_ms : 0;
}

/* The descriptor by which libzmq reports news of a socket: readable until it is asked. */
static int descriptor_of(void *socket)
{
    int fd = -1;
    size_t size = sizeof fd;
    return zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}

/* Or a fault, which receiving will report. */
static bool has_message(void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 || (events & ZMQ_POLLIN) != 0;
}

/* Whether any has a message. A call of libzmq may take what the descriptor would say, so a socket
 * is asked unless it is drained. */
static bool any_has_message(struct endpoint *const *endpoints, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        endpoints[i]->drained = endpoints[i]->drained || !has_message(endpoints[i]->socket);
        any = any || !endpoints[i]->drained;
    }
    return any;
}

/* zmq_poll would ask each socket twice, with system calls of its own each time. A wake-up takes as
 * long as a short answer: after a small message this polls for a while, and yields the processor to
 * other threads. */
static void zmq_wait(struct transport *transport, struct endpoint *const *endpoints, size_t count,
                     const int *doorbells, size_t doorbell_count, int timeout_ms)
{
    (void)transport;
    struct pollfd items[2 * (JOB_SERVERS_MAX + 1) + TRANSPORT_DOORBELLS_MAX]; /* Or of shm_wait. */
    uint64_t now_us = clock_now_us(), said_us = 0;
    assert(count + doorbell_count <= sizeof items / sizeof *items);
    for (size_t i = 0; i < count; i++) {
        look_when_due(endpoints[i], now_us);
        int patience_ms = dialer_patience_ms(&endpoints[i]->dialer);
        if (patience_ms > 0 && (timeout_ms < 0 || timeout_ms > patience_ms))
            timeout_ms = patience_ms; /* The caller will look again. */
        said_us = endpoints[i]->said_us > said_us ? endpoints[i]->said_us : said_us;
        items[i] = (struct pollfd){descriptor_of(endpoints[i]->socket), POLLIN, 0};
    }
    for (size_t i = 0; i < doorbell_count; i++)
        items[count + i] = (struct pollfd){doorbells[i], POLLIN, 0};
    timeout_ms = clock_patience_ms(timeout_ms);
    for (bool over = false; !over && !any_has_message(endpoints, count);) {
        bool asks = timeout_ms != 0 && clock_now_us() - said_us < ANSWER_US;
        int left_ms = left_of(timeout_ms, now_us);
        int ready = poll(items, count + doorbell_count, asks ? 0 : left_ms);
        over = !asks && (ready <= 0 || left_ms == 0);
        for (size_t i = 0; i < count && ready > 0; i++)
            endpoints[i]->drained = endpoints[i]->drained && items[i].revents == 0;
        for (size_t i = count; i < count + doorbell_count && ready > 0; i++)
            over = over || items[i].revents != 0;
        if (asks && ready <= 0)
            sched_yield();
    }
}

static void zmq_destroy(struct transport **transport)
{
    struct zmq_transport *t = (struct zmq_transport *)*transport;
    if (t == NULL)
        return;
    guard_stop(&t->guard);
    zmq_ctx_term(t->context);
    free(t);
    *transport = NULL;
}

static const struct transport_operations operations = {
    .listen = zmq_listen,
    .connect = zmq_connect_to,
    .send = zmq_endpoint_send,
    .receive = zmq_endpoint_receive,
    .wait = zmq_wait,
    .close = zmq_endpoint_close,
    .destroy = zmq_destroy,
    .refusal = zmq_refusal,
    .shun = zmq_shun,
    .silence = zmq_silence,
};

static enum status check_library(bool curve, struct error *error)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    if (major * 10000 + minor * 100 + patch < 40303) /* Z16: older ones have known holes. */
        return error_set(error, STATUS_INVALID, "libzmq %d.%d.%d is too old; 4.3.3 is needed",
                         major, minor, patch);
    if (curve && !zmq_has("curve"))
        return error_set(error, STATUS_INVALID,
                         "this libzmq was built without CURVE, which keys need");
    return STATUS_OK;
}

enum status transport_zmq_create(struct transport **transport, struct error *error)
{
    enum status status = check_library(false, error);
    if (status != STATUS_OK)
        return status;
    status = headroom_check(LIBRARY_THREADS, LIBRARY_BYTES, error);
    if (status != STATUS_OK)
        return status;
    struct zmq_transport *t = calloc(1, sizeof *t);
    if (t == NULL || (t->context = zmq_ctx_new()) == NULL) {
        free(t);
        return error_set(error, STATUS_MEMORY, "no memory for a ZeroMQ context");
    }
    /* A socket, and the two of its monitor. */
    zmq_ctx_set(t->context, ZMQ_MAX_SOCKETS, 3 * (JOB_SERVERS_MAX + 16));
    zmq_close(zmq_socket(t->context, ZMQ_PAIR)); /* The first starts the threads: now. */
    t->base.operations = &operations;
    *transport = &t->base;
    return STATUS_OK;
}

static bool is_pair(const struct certificate *certificate)
{
    uint8_t public_key[KEY_BYTES];
    return transport_public_key(certificate->secret_key, public_key) == STATUS_OK &&
           key_equal(public_key, certificate->public_key);
}

enum status transport_curve_create(struct transport **transport, const struct keys *keys,
                                   bool listens, struct error *error)
{
    enum status status = check_library(true, error);
    if (status != STATUS_OK)
        return status;
    if (!is_pair(&keys->own))
        return error_set(error, STATUS_INVALID,
                         "the public-key of this process's certificate does not belong to its "
                         "secret-key");
    status = transport_zmq_create(transport, error);
    if (status != STATUS_OK)
        return status;
    struct zmq_transport *t = (struct zmq_transport *)*transport;
    t->keys = keys;
    if (listens) /* Before there is any socket that it guards. */
        status = guard_start(&t->guard, t->context, keys, error);
    if (status != STATUS_OK)
        zmq_destroy(transport);
    return status;
}

/* --- key pairs ----------------------------------------------------------------------------- */

enum status transport_keypair(uint8_t public_key[KEY_BYTES], uint8_t secret_key[KEY_BYTES])
{
    char public_text[KEY_TEXT], secret_text[KEY_TEXT];
    bool made = zmq_curve_keypair(public_text, secret_text) == 0 &&
                key_parse(public_text, public_key) && key_parse(secret_text, secret_key);
    explicit_bzero(secret_text, sizeof secret_text);
    return made ? STATUS_OK : STATUS_IO;
}

enum status transport_public_key(const uint8_t secret_key[KEY_BYTES], uint8_t public_key[KEY_BYTES])
{
    char public_text[KEY_TEXT], secret_text[KEY_TEXT];
    key_format(secret_key, secret_text);
    bool found =
        zmq_curve_public(public_text, secret_text) == 0 && key_parse(public_text, public_key);
    explicit_bzero(secret_text, sizeof secret_text);
    return found ? STATUS_OK : STATUS_IO;
}
