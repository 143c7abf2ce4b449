/* transport_memory.c - endpoints within one process: a locked queue each and an eventfd to wait on.
 *
 * The same threads that run over ZeroMQ run over this under ThreadSanitizer, which cannot see into
 * an uninstrumented libzmq. Connections are made when the listener is there, and retried by receive
 * and send until then, so any start order works here too. */

#include "tests/lib/transport_memory.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct letter {
    struct letter *next;
    struct received received;
};

struct endpoint {
    struct memory_transport *transport;
    char address[ADDRESS_MAX]; /* Listening: its own; connecting: the listener's. */
    bool listening;
    size_t max_payload;
    int event;
    uint64_t name; /* What a listener calls this connecting endpoint. */
    struct letter *first, **last;
    struct endpoint *next; /* In transport->endpoints. */
};

struct memory_transport {
    struct transport base;
    pthread_mutex_t lock; /* Guards everything; speed is not what this transport is for. */
    struct endpoint *endpoints;
    uint64_t names;
    unsigned ports;
};

static struct endpoint *find(struct memory_transport *transport, const char *address)
{
    for (struct endpoint *e = transport->endpoints; e != NULL; e = e->next)
        if (e->listening && strcmp(e->address, address) == 0)
            return e;
    return NULL;
}

static struct endpoint *find_name(struct memory_transport *transport, uint64_t name)
{
    for (struct endpoint *e = transport->endpoints; e != NULL; e = e->next)
        if (!e->listening && e->name == name)
            return e;
    return NULL;
}

static enum status endpoint_new(struct memory_transport *transport, bool listening,
                                size_t max_payload, struct endpoint **endpoint)
{
    struct endpoint *e = calloc(1, sizeof *e);
    if (e == NULL)
        return STATUS_MEMORY;
    e->transport = transport;
    e->listening = listening;
    e->max_payload = max_payload;
    e->last = &e->first;
    e->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (e->event < 0) {
        free(e);
        return STATUS_IO;
    }
    *endpoint = e;
    return STATUS_OK;
}

static void endpoint_register(struct endpoint *endpoint)
{
    struct memory_transport *transport = endpoint->transport;
    endpoint->name = ++transport->names;
    endpoint->next = transport->endpoints;
    transport->endpoints = endpoint;
}

static enum status memory_listen(struct transport *transport, const char *address,
                                 size_t max_payload, char bound[ADDRESS_MAX],
                                 struct endpoint **endpoint, struct error *error)
{
    struct memory_transport *t = (struct memory_transport *)transport;
    enum status status = endpoint_new(t, true, max_payload, endpoint);
    if (status != STATUS_OK)
        return error_set(error, status, "cannot make an endpoint");
    pthread_mutex_lock(&t->lock);
    const char *colon = strrchr(address, ':');
    if (colon != NULL && strcmp(colon, ":0") == 0)
        snprintf((*endpoint)->address, ADDRESS_MAX, "%.*s:%u", (int)(colon - address), address,
                 ++t->ports);
    else
        snprintf((*endpoint)->address, ADDRESS_MAX, "%s", address);
    bool taken = find(t, (*endpoint)->address) != NULL;
    if (!taken)
        endpoint_register(*endpoint);
    pthread_mutex_unlock(&t->lock);
    snprintf(bound, ADDRESS_MAX, "%s", (*endpoint)->address);
    if (!taken)
        return STATUS_OK;
    close((*endpoint)->event);
    free(*endpoint);
    *endpoint = NULL;
    return error_set(error, STATUS_EXISTS, "cannot listen on %s: Address already in use", address);
}

static enum status memory_connect(struct transport *transport, const char *address,
                                  size_t max_payload, struct endpoint **endpoint,
                                  struct error *error)
{
    struct memory_transport *t = (struct memory_transport *)transport;
    enum status status = endpoint_new(t, false, max_payload, endpoint);
    if (status != STATUS_OK)
        return error_set(error, status, "cannot make an endpoint");
    snprintf((*endpoint)->address, ADDRESS_MAX, "%s", address);
    pthread_mutex_lock(&t->lock);
    endpoint_register(*endpoint);
    pthread_mutex_unlock(&t->lock);
    return STATUS_OK;
}

static enum status memory_send(struct endpoint *endpoint, uint64_t peer, const void *header,
                               size_t header_bytes, struct frame *payload, uint64_t place)
{
    (void)place;
    struct memory_transport *t = endpoint->transport;
    struct letter *letter = malloc(sizeof *letter);
    assert(header_bytes <= sizeof letter->received.header);
    if (letter == NULL) {
        frame_release(payload);
        return STATUS_MEMORY;
    }
    letter->next = NULL;
    letter->received.sender = (struct identity){0};
    letter->received.header_bytes = header_bytes;
    memcpy(letter->received.header, header, header_bytes);
    letter->received.payload = payload;
    letter->received.peer = endpoint->listening ? 0 : endpoint->name;

    pthread_mutex_lock(&t->lock);
    struct endpoint *to = endpoint->listening ? find_name(t, peer) : find(t, endpoint->address);
    if (to != NULL && payload != NULL && payload->bytes > to->max_payload)
        to = NULL; /* As good as gone: the other transport closes the connection. */
    if (to != NULL) {
        *to->last = letter;
        to->last = &letter->next;
        eventfd_write(to->event, 1);
    }
    pthread_mutex_unlock(&t->lock);
    if (to != NULL)
        return STATUS_OK;
    frame_release(payload);
    free(letter);
    return endpoint->listening ? STATUS_UNREACHABLE : STATUS_AGAIN;
}

static enum status memory_receive(struct endpoint *endpoint, struct received *received)
{
    eventfd_t ignored;
    pthread_mutex_lock(&endpoint->transport->lock);
    struct letter *letter = endpoint->first;
    if (letter == NULL) {
        eventfd_read(endpoint->event, &ignored);
    } else {
        endpoint->first = letter->next;
        if (endpoint->first == NULL)
            endpoint->last = &endpoint->first;
    }
    pthread_mutex_unlock(&endpoint->transport->lock);
    if (letter == NULL)
        return STATUS_AGAIN;
    *received = letter->received;
    free(letter);
    return STATUS_OK;
}

static void memory_wait(struct transport *transport, struct endpoint *const *endpoints,
                        size_t count, const int *doorbells, size_t doorbell_count, int timeout_ms)
{
    (void)transport;
    struct pollfd fds[2 * (JOB_SERVERS_MAX + 1) + TRANSPORT_DOORBELLS_MAX];
    assert(count + doorbell_count <= sizeof fds / sizeof *fds);
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){endpoints[i]->event, POLLIN, 0};
    for (size_t i = 0; i < doorbell_count; i++)
        fds[count + i] = (struct pollfd){doorbells[i], POLLIN, 0};
    poll(fds, count + doorbell_count, timeout_ms);
}

static void memory_close(struct endpoint **endpoint, int linger_ms)
{
    (void)linger_ms; /* What was sent is already with the other side. */
    struct endpoint *e = *endpoint;
    if (e == NULL)
        return;
    pthread_mutex_lock(&e->transport->lock);
    for (struct endpoint **at = &e->transport->endpoints; *at != NULL; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    pthread_mutex_unlock(&e->transport->lock);
    while (e->first != NULL) {
        struct letter *letter = e->first;
        e->first = letter->next;
        frame_release(letter->received.payload);
        free(letter);
    }
    close(e->event);
    free(e);
    *endpoint = NULL;
}

static void memory_destroy(struct transport **transport)
{
    struct memory_transport *t = (struct memory_transport *)*transport;
    if (t == NULL)
        return;
    assert(t->endpoints == NULL);
    pthread_mutex_destroy(&t->lock);
    free(t);
    *transport = NULL;
}

static const struct transport_operations operations = {
    .listen = memory_listen,
    .connect = memory_connect,
    .send = memory_send,
    .receive = memory_receive,
    .wait = memory_wait,
    .close = memory_close,
    .destroy = memory_destroy,
};

enum status transport_memory_create(struct transport **transport)
{
    struct memory_transport *t = calloc(1, sizeof *t);
    if (t == NULL)
        return STATUS_MEMORY;
    pthread_mutex_init(&t->lock, NULL);
    t->base.operations = &operations;
    *transport = &t->base;
    return STATUS_OK;
}
