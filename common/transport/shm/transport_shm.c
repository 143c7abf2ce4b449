/* transport_shm.c - shared memory between a server and the workers on its host, and ZeroMQ for
 * the begin and for all others.
 *
 * A listening endpoint is found under its name (rendezvous.h) and makes a window (window.h) for
 * each peer that comes. In its numbering these guests are peers of their own, beside the one
 * that the same worker is over the inner transport. Both stay usable: an answer goes where the
 * peer spoke last. One epoll descriptor an endpoint watches all that is no socket of the inner
 * transport, whose wait takes it for a doorbell. */

#include "common/transport/transport.h"

#include <assert.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/process/log.h"
#include "common/transport/shm/rendezvous.h"
#include "common/transport/shm/window.h"

#define SCRIPTED_CLIENT_FIRST                                                                      \
    (1ull << 40)         /* Numbers of guests; the inner transport's are smaller. */
#define INNER_TURN     8 /* Every so many receives the inner transport comes first. */
#define BELLS_TURN     4 /* Every so many looks at the windows one is for all else. */
#define BELLS_MAX      (JOB_SERVERS_MAX + 1 + TRANSPORT_DOORBELLS_MAX)
#define EVENTS_A_LOOK  16
#define LOOK_ON_US     400 /* Longer than most answers take, far shorter than a TICK. */
#define WATCH_BELL     0   /* Waking up is all it is for. */
#define WATCH_VISITORS 1
#define CLOSED_US      1000000u /* For new connections, when there are no descriptors left. */
#define DEAF_A_LINE    100

struct guest {
    uint64_t name; /* The peer's number. */
    struct window window;
    bool gone; /* Its connection is closed: the ring has its last messages. */
};

struct endpoint {
    const struct transport_operations *operations; /* The inner transport's. */
    struct endpoint *inner;
    bool listening;
    int epoll;

    int visitors;             /* Listening: the rendezvous, -1 before share. */
    uint64_t closed_until_us; /* Connections wait until then; 0: they are accepted. */
    uint64_t deaf;            /* Guests that did not read. */
    struct share share;
    struct shared_memory *published;
    uint64_t guests_made;
    uint32_t next, turn;
    bool busy;          /* The last wait ended with a message in a window. */
    uint64_t waited_us; /* The last wait's time. */

    int connection; /* Connecting: waits for the offer; -1 else. */

    /* Listening: [share.peers_max]; connecting: one, the server. */
    struct guest *guests;
    uint32_t guest_count;
};

struct shm_transport {
    struct transport base;
    struct transport *inner;
};

/* --- life ---------------------------------------------------------------------------------- */

static void watch(struct endpoint *endpoint, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};
    /* Without it the fd is looked at when another wakes us. */
    (void)epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, fd, &event);
}

static enum status endpoint_make(struct shm_transport *transport, bool listening,
                                 struct endpoint **endpoint, struct error *error)
{
    struct endpoint *e = calloc(1, sizeof *e);
    if (e == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    e->operations = transport->inner->operations;
    e->listening = listening;
    e->visitors = e->connection = -1;
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (e->epoll < 0) {
        free(e);
        return error_set(error, STATUS_IO, "no descriptors left");
    }
    *endpoint = e;
    return STATUS_OK;
}

static void guest_drop(struct endpoint *endpoint, uint32_t index)
{
    assert(index < endpoint->guest_count && endpoint->guests != NULL);
    struct window *window = &endpoint->guests[index].window;
    /* Closing would not: the other process has the bell, too. */
    (void)epoll_ctl(endpoint->epoll, EPOLL_CTL_DEL, window->mine, NULL);
    window_close(window);
    endpoint->guests[index] = endpoint->guests[--endpoint->guest_count];
}

static void shm_close(struct endpoint **endpoint, int linger_ms)
{
    struct endpoint *e = *endpoint;
    if (e == NULL)
        return;
    while (e->guest_count > 0)
        guest_drop(e, e->guest_count - 1);
    free(e->guests);
    shared_memory_release(e->published);
    if (e->visitors >= 0)
        close(e->visitors);
    if (e->connection >= 0)
        close(e->connection);
    close(e->epoll);
    e->operations->close(&e->inner, linger_ms);
    free(e);
    *endpoint = NULL;
}

static enum status shm_listen(struct transport *transport, const char *address, size_t max_payload,
                              char bound[ADDRESS_MAX], struct endpoint **endpoint,
                              struct error *error)
{
    struct shm_transport *t = (struct shm_transport *)transport;
    enum status status = endpoint_make(t, true, endpoint, error);
    if (status != STATUS_OK)
        return status;
    status = t->inner->operations->listen(t->inner, address, max_payload, bound,
                                          &(*endpoint)->inner, error);
    if (status != STATUS_OK)
        shm_close(endpoint, 0);
    return status;
}

static enum status shm_connect(struct transport *transport, const char *address, size_t max_payload,
                               struct endpoint **endpoint, struct error *error)
{
    struct shm_transport *t = (struct shm_transport *)transport;
    enum status status = endpoint_make(t, false, endpoint, error);
    if (status != STATUS_OK)
        return status;
    (*endpoint)->guests = calloc(1, sizeof *(*endpoint)->guests);
    status = (*endpoint)->guests == NULL
                 ? error_set(error, STATUS_MEMORY, "out of memory")
                 : t->inner->operations->connect(t->inner, address, max_payload,
                                                 &(*endpoint)->inner, error);
    if (status != STATUS_OK)
        shm_close(endpoint, 0);
    return status;
}

/* --- coming together ----------------------------------------------------------------------- */

static enum status shm_share(struct endpoint *endpoint, const struct share *share,
                             struct error *error)
{
    assert(endpoint->listening && endpoint->visitors < 0);
    endpoint->share = *share;
    endpoint->guests = calloc(share->peers_max, sizeof *endpoint->guests);
    if (endpoint->guests == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    if (share->published > 0)
        status = shared_memory_create(share->published * share->shard_bytes, true,
                                      &endpoint->published, error);
    if (status == STATUS_OK)
        status = rendezvous_listen(share->name, &endpoint->visitors, error);
    if (status == STATUS_OK)
        watch(endpoint, endpoint->visitors, EPOLLIN, WATCH_VISITORS);
    return status;
}

static enum status shm_attach(struct endpoint *endpoint, uint64_t name)
{
    assert(!endpoint->listening);
    if (endpoint->connection >= 0 || endpoint->guest_count > 0)
        return STATUS_EXISTS;
    enum status status = rendezvous_connect(name, &endpoint->connection);
    if (status == STATUS_OK)
        watch(endpoint, endpoint->connection, EPOLLIN | EPOLLRDHUP, SCRIPTED_CLIENT_FIRST);
    return status;
}

static bool shm_attached(const struct endpoint *endpoint)
{
    return !endpoint->listening && endpoint->guest_count > 0;
}

static struct frame *shm_lend(struct endpoint *endpoint, uint64_t place, uint64_t bytes)
{
    if (!endpoint->listening)
        return endpoint->guest_count > 0 ? window_lend(&endpoint->guests[0].window, place, bytes)
                                         : NULL;
    if (endpoint->published == NULL || !shared_memory_covers(endpoint->published, place, bytes))
        return NULL;
    return shared_memory_frame(endpoint->published, place, bytes);
}

/* Make a window for each new connection; a peer without one stays with the inner transport. */
static void welcome(struct endpoint *endpoint)
{
    struct error error;
    int connection;
    enum status status;
    while ((status = rendezvous_accept(endpoint->visitors, &connection)) == STATUS_OK) {
        if (endpoint->guest_count == endpoint->share.peers_max) {
            close(connection);
            continue;
        }
        struct guest *guest = &endpoint->guests[endpoint->guest_count];
        if (window_make(&guest->window, connection, &endpoint->share, endpoint->published,
                        &error) != STATUS_OK)
            continue;
        guest->name = SCRIPTED_CLIENT_FIRST + endpoint->guests_made++;
        guest->gone = false;
        endpoint->guest_count++;
        watch(endpoint, connection, EPOLLIN | EPOLLRDHUP, guest->name);
        watch(endpoint, guest->window.mine, EPOLLIN | EPOLLET, WATCH_BELL);
    }
    if (status == STATUS_AGAIN)
        return;
    /* No descriptors left: it would wake us without end. Connections wait, and use the inner
     * transport meanwhile. */
    (void)epoll_ctl(endpoint->epoll, EPOLL_CTL_DEL, endpoint->visitors, NULL);
    endpoint->closed_until_us = clock_now_us() + CLOSED_US;
}

static void reopen_when_due(struct endpoint *endpoint)
{
    if (endpoint->closed_until_us == 0 || clock_now_us() < endpoint->closed_until_us)
        return;
    endpoint->closed_until_us = 0;
    watch(endpoint, endpoint->visitors, EPOLLIN, WATCH_VISITORS);
}

/* The server's answer to attach, or its end. */
static void take_offer(struct endpoint *endpoint)
{
    struct error error;
    struct guest *server = &endpoint->guests[0];
    enum status status = window_open(&server->window, endpoint->connection, &error);
    if (status == STATUS_AGAIN)
        return;
    endpoint->connection = -1; /* The window's, or closed. */
    if (status != STATUS_OK)
        return;
    server->name = SCRIPTED_CLIENT_FIRST;
    server->gone = false;
    endpoint->guest_count = 1;
    watch(endpoint, server->window.mine, EPOLLIN | EPOLLET, WATCH_BELL);
}

static struct guest *guest_find(struct endpoint *endpoint, uint64_t name)
{
    for (uint32_t i = 0; i < endpoint->guest_count; i++)
        if (endpoint->guests[i].name == name)
            return &endpoint->guests[i];
    return NULL;
}

/* The connection carries nothing once the window is there: readable means closed. */
static void look(struct endpoint *endpoint)
{
    struct epoll_event events[EVENTS_A_LOOK];
    int count = epoll_wait(endpoint->epoll, events, EVENTS_A_LOOK, 0);
    for (int i = 0; i < count; i++) {
        uint64_t what = events[i].data.u64;
        struct guest *guest = what >= SCRIPTED_CLIENT_FIRST ? guest_find(endpoint, what) : NULL;
        if (what == WATCH_VISITORS)
            welcome(endpoint);
        else if (guest != NULL)
            guest->gone = true;
        else if (endpoint->connection >= 0)
            take_offer(endpoint);
    }
}

/* --- sending, receiving, waiting ----------------------------------------------------------- */

static enum status send_to_guest(struct endpoint *endpoint, uint64_t peer, const void *header,
                                 size_t header_bytes, struct frame *payload, uint64_t place)
{
    struct guest *guest = guest_find(endpoint, peer);
    if (guest == NULL || guest->gone) {
        frame_release(payload);
        return STATUS_UNREACHABLE;
    }
    enum status status = window_send(&guest->window, header, header_bytes, payload, place);
    if (status == STATUS_INVALID)
        guest->gone = true;
    if (status != STATUS_AGAIN || !endpoint->listening)
        return status;
    /* The ring has room for all that an honest guest has asked for. The sender would not repeat
     * it while the guest trusts memory to lose nothing. So the guest loses the memory, and asks
     * again over the inner transport. */
    if (endpoint->deaf++ % DEAF_A_LINE == 0)
        log_warning("shared memory taken from workers that do not read count=%llu",
                    (unsigned long long)endpoint->deaf);
    guest_drop(endpoint, (uint32_t)(guest - endpoint->guests));
    return STATUS_UNREACHABLE;
}

static enum status shm_send(struct endpoint *endpoint, uint64_t peer, const void *header,
                            size_t header_bytes, struct frame *payload, uint64_t place)
{
    const struct transport_operations *inner = endpoint->operations;
    if (endpoint->listening && peer >= SCRIPTED_CLIENT_FIRST)
        return send_to_guest(endpoint, peer, header, header_bytes, payload, place);
    if (endpoint->listening || endpoint->guest_count == 0 || place == TRANSPORT_PLACE_NOWHERE)
        return inner->send(endpoint->inner, peer, header, header_bytes, payload, place);
    if (payload != NULL)
        frame_retain(payload);
    enum status status =
        send_to_guest(endpoint, SCRIPTED_CLIENT_FIRST, header, header_bytes, payload, place);
    if (status == STATUS_NOT_FOUND) /* The payload has no place in the window. */
        return inner->send(endpoint->inner, peer, header, header_bytes, payload, place);
    frame_release(payload);
    return status;
}

static enum status receive_from_guests(struct endpoint *endpoint, struct received *received)
{
    for (uint32_t tries = endpoint->guest_count; tries > 0 && endpoint->guest_count > 0; tries--) {
        uint32_t index = endpoint->next++ % endpoint->guest_count;
        struct guest *guest = &endpoint->guests[index];
        enum status status = window_receive(&guest->window, received);
        if (status == STATUS_OK) {
            received->peer = endpoint->listening ? guest->name : 0;
            return STATUS_OK;
        }
        if (status == STATUS_INVALID || guest->gone)
            guest_drop(endpoint, index);
    }
    return STATUS_AGAIN;
}

/* The inner transport is asked with a system call: seldom while windows have messages. */
static enum status shm_receive(struct endpoint *endpoint, struct received *received)
{
    bool inner_first = ++endpoint->turn % INNER_TURN == 0;
    enum status status = STATUS_AGAIN;
    if (inner_first)
        status = endpoint->operations->receive(endpoint->inner, received);
    if (status != STATUS_OK)
        status = receive_from_guests(endpoint, received);
    if (status != STATUS_OK && !inner_first && !endpoint->busy)
        status = endpoint->operations->receive(endpoint->inner, received);
    return status;
}

static bool all_sleep(struct endpoint *endpoint)
{
    bool sleep = true;
    for (uint32_t i = 0; i < endpoint->guest_count; i++)
        sleep = window_sleep(&endpoint->guests[i].window) && sleep;
    return sleep;
}

static void all_awake(struct endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->guest_count; i++)
        window_awake(&endpoint->guests[i].window);
}

static bool has_some(const struct endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->guest_count; i++)
        if (window_has_some(&endpoint->guests[i].window))
            return true;
    return false;
}

/* Waking an idle processor takes longer than most answers: a step of the reference job is a
 * tenth to a third faster when both sides poll for a moment before they sleep. Other threads run
 * meanwhile, so that where no processor is free it costs next to nothing. */
static bool look_on(struct endpoint *const *endpoints, size_t count, const int *bells,
                    size_t bell_count)
{
    bool windows = false;
    struct pollfd fds[BELLS_MAX];
    for (size_t i = 0; i < bell_count; i++)
        fds[i] = (struct pollfd){bells[i], POLLIN, 0};
    for (size_t i = 0; i < count; i++)
        windows = windows || endpoints[i]->guest_count > 0;
    uint64_t until_us = clock_now_us() + LOOK_ON_US;
    for (uint32_t round = 1; windows && clock_now_us() < until_us; round++) {
        for (size_t i = 0; i < count; i++)
            if (has_some(endpoints[i]))
                return true;
        if (round % BELLS_TURN == 0 && poll(fds, bell_count, 0) > 0)
            return true; /* An owner's answer, say: it must not wait for our patience. */
        sched_yield();
    }
    return false;
}

static void shm_wait(struct transport *transport, struct endpoint *const *endpoints, size_t count,
                     const int *doorbells, size_t doorbell_count, int timeout_ms)
{
    struct shm_transport *t = (struct shm_transport *)transport;
    struct endpoint *inner[JOB_SERVERS_MAX + 1] = {NULL};
    int bells[BELLS_MAX];
    assert(count > 0 && count <= JOB_SERVERS_MAX + 1 && doorbell_count <= TRANSPORT_DOORBELLS_MAX);
    if (doorbell_count > 0) /* doorbells may be NULL. */
        memcpy(bells, doorbells, doorbell_count * sizeof *bells);
    for (size_t i = 0; i < count; i++) {
        reopen_when_due(endpoints[i]);
        inner[i] = endpoints[i]->inner;
        bells[doorbell_count + i] = endpoints[i]->epoll;
    }
    /* A wait is as long as the one before it, mostly: a long one is not worth looking on for. */
    uint64_t began_us = clock_now_us();
    bool sleep = timeout_ms != 0 && !(endpoints[0]->waited_us < LOOK_ON_US &&
                                      look_on(endpoints, count, bells, doorbell_count + count));
    for (size_t i = 0; i < count; i++)
        sleep = sleep && all_sleep(endpoints[i]);
    if (sleep)
        t->inner->operations->wait(t->inner, inner, count, bells, doorbell_count + count,
                                   timeout_ms);
    for (size_t i = 0; i < count; i++) {
        all_awake(endpoints[i]);
        look(endpoints[i]);
        endpoints[i]->busy = has_some(endpoints[i]);
    }
    endpoints[0]->waited_us = clock_now_us() - began_us;
}

static void shm_destroy(struct transport **transport)
{
    struct shm_transport *t = (struct shm_transport *)*transport;
    if (t == NULL)
        return;
    t->inner->operations->destroy(&t->inner);
    free(t);
    *transport = NULL;
}

static enum status shm_refusal(struct endpoint *endpoint, char *text, size_t size)
{
    text[0] = '\0';
    return endpoint->operations->refusal != NULL
               ? endpoint->operations->refusal(endpoint->inner, text, size)
               : STATUS_OK;
}

static void shm_shun(struct endpoint *endpoint, const char *who)
{
    if (endpoint->operations->shun != NULL)
        endpoint->operations->shun(endpoint->inner, who);
}

static void shm_silence(struct endpoint *endpoint, char *text, size_t size)
{
    text[0] = '\0';
    if (endpoint->operations->silence != NULL)
        endpoint->operations->silence(endpoint->inner, text, size);
}

static const struct transport_operations operations = {
    .listen = shm_listen,
    .connect = shm_connect,
    .send = shm_send,
    .receive = shm_receive,
    .wait = shm_wait,
    .close = shm_close,
    .destroy = shm_destroy,
    .refusal = shm_refusal,
    .shun = shm_shun,
    .silence = shm_silence,
    .share = shm_share,
    .attach = shm_attach,
    .attached = shm_attached,
    .lend = shm_lend,
};

enum status transport_create(struct transport **transport, bool share, struct error *error)
{
    struct transport *zmq = NULL;
    enum status status = transport_zmq_create(&zmq, error);
    if (status == STATUS_OK && share)
        status = transport_shm_create(transport, zmq, error);
    else if (status == STATUS_OK)
        *transport = zmq;
    if (status != STATUS_OK && zmq != NULL)
        zmq->operations->destroy(&zmq);
    return status;
}

enum status transport_shm_create(struct transport **transport, struct transport *inner,
                                 struct error *error)
{
    struct shm_transport *t = calloc(1, sizeof *t);
    if (t == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    t->inner = inner;
    t->base.operations = &operations;
    *transport = &t->base;
    return STATUS_OK;
}
