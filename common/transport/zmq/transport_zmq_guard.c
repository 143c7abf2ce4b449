/* transport_zmq_guard.c - one thread on the ZAP socket, for as long as the context has listening
 * sockets with keys. */

#include "common/transport/zmq/transport_zmq_guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "common/keys/allow_list.h"
#include "common/keys/refused.h"
#include "common/process/log.h"

/* zmq.h of 4.3 has it among drafts only; the library has always had it. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

#define ADDRESS         "inproc://zeromq.zap.01"
#define DOMAIN          "syncopate"
#define PARTS           7 /* Version, id, domain, address, routing id, mechanism, key. */
#define PART_BYTES_MAX  255
#define RELOAD_US       1000000u
#define REFUSALS_A_LINE 1000 /* Once no more lines about single peers are written. */

struct guard {
    const struct keys *keys;
    void *socket; /* The thread's from guard_start on. */
    int stop;     /* eventfd: end. */
    pthread_t thread;
    struct allow_list list;
    struct timespec changed; /* The folder, as of the last loading. */
    uint64_t loaded_us;
    char log_once[sizeof(((struct error *)0)->text)]; /* The latest line about a file. */
    struct refused refused;
};

/* --- the list ------------------------------------------------------------------------------ */

static struct timespec changed_at(const char *directory)
{
    struct stat state;
    if (stat(directory, &state) != 0)
        return (struct timespec){0};
    return state.st_mtim;
}

static enum status load(struct guard *guard, struct error *error)
{
    /* Looked at first: later changes are found next time. */
    guard->changed = changed_at(guard->keys->directory);
    guard->loaded_us = clock_now_us();
    return allow_list_load(&guard->list, guard->keys->directory, error);
}

/* Unknown peers can cause it, so not for each of them. */
static void load_when_due(struct guard *guard)
{
    struct error error;
    struct timespec changed = changed_at(guard->keys->directory);
    if (clock_now_us() - guard->loaded_us < RELOAD_US && changed.tv_sec == guard->changed.tv_sec &&
        changed.tv_nsec == guard->changed.tv_nsec)
        return;
    if (load(guard, &error) == STATUS_OK)
        error.text[0] = '\0';
    if (strcmp(error.text, guard->log_once) == 0)
        return;
    memcpy(guard->log_once, error.text, sizeof guard->log_once);
    if (error.text[0] != '\0')
        log_warning("keys: %s: its key is refused", error.text);
}

/* --- requests ------------------------------------------------------------------------------ */

struct part {
    size_t bytes;
    uint8_t data[PART_BYTES_MAX + 1]; /* And a zero. */
};

struct request {
    unsigned part_count;
    struct part parts[PARTS];
};

/* False when there is none. libzmq follows RFC 27, but nothing here depends on that. */
static bool receive(void *socket, struct request *request)
{
    int more = 1;
    size_t size = sizeof more;
    request->part_count = 0;
    while (more) {
        struct part surplus,
            *part = request->part_count < PARTS ? &request->parts[request->part_count] : &surplus;
        int bytes = zmq_recv(socket, part->data, PART_BYTES_MAX, ZMQ_DONTWAIT);
        if (bytes < 0)
            return false;
        part->bytes = bytes > PART_BYTES_MAX ? PART_BYTES_MAX : (size_t)bytes;
        part->data[part->bytes] = '\0';
        request->part_count++;
        if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
    }
    return true;
}

static bool part_is(const struct part *part, const char *text)
{
    return part->bytes == strlen(text) && memcmp(part->data, text, part->bytes) == 0;
}

static bool is_ours(const struct request *request)
{
    return request->part_count == PARTS && part_is(&request->parts[0], "1.0") &&
           part_is(&request->parts[2], DOMAIN) && part_is(&request->parts[5], "CURVE") &&
           request->parts[6].bytes == KEY_BYTES;
}

static void answer(void *socket, const struct request *request, const char *status,
                   const char *text, const char *user)
{
    const struct part *id = &request->parts[1];
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(socket, id->data, request->part_count > 1 ? id->bytes : 0, ZMQ_SNDMORE);
    zmq_send(socket, status, 3, ZMQ_SNDMORE);
    zmq_send(socket, text, strlen(text), ZMQ_SNDMORE);
    zmq_send(socket, user, strlen(user), ZMQ_SNDMORE);
    zmq_send(socket, "", 0, 0);
}

static void note_refusal(struct guard *guard, const uint8_t *key, const char *address)
{
    char text[KEY_TEXT];
    key_format(key, text);
    if (strncmp(address, "::ffff:", 7) == 0 && strchr(address, '.') != NULL)
        address += 7; /* IPv4 by a socket that does both. */
    if (refused_note(&guard->refused, key, address))
        log_warning("refused a peer address=%s key=%s: not authorised, no certificate in %s has "
                    "this key",
                    address, text, guard->keys->directory);
    else if (guard->refused.count % REFUSALS_A_LINE == 0)
        log_warning("refused peers count=%llu: not authorised",
                    (unsigned long long)guard->refused.count);
}

static const struct identity *find(struct guard *guard, const uint8_t *key)
{
    /* The servers know each other by their one key. */
    if (key_equal(key, guard->keys->identity.key))
        return &guard->keys->identity;
    load_when_due(guard);
    return allow_list_find(&guard->list, key);
}

static void handle(struct guard *guard, const struct request *request)
{
    char user[IDENTITY_TEXT];
    if (!is_ours(request)) {
        answer(guard->socket, request, "500", "not a request that this guard knows", "");
        return;
    }
    const uint8_t *key = request->parts[6].data;
    const struct identity *identity = find(guard, key);
    if (identity == NULL) {
        note_refusal(guard, key, (const char *)request->parts[3].data);
        answer(guard->socket, request, "400", "not authorised", "");
        return;
    }
    identity_format(identity, user);
    answer(guard->socket, request, "200", "welcome", user);
}

/* --- the thread ---------------------------------------------------------------------------- */

static void *run(void *argument)
{
    struct guard *guard = argument;
    struct request request;
    zmq_pollitem_t items[] = {{guard->socket, 0, ZMQ_POLLIN, 0},
                              {NULL, guard->stop, ZMQ_POLLIN, 0}};
    while (zmq_poll(items, 2, -1) >= 0 && (items[1].revents & ZMQ_POLLIN) == 0)
        while (receive(guard->socket, &request))
            handle(guard, &request);
    zmq_close(guard->socket);
    return NULL;
}

static void destroy(struct guard *guard)
{
    allow_list_free(&guard->list);
    if (guard->stop >= 0)
        close(guard->stop);
    free(guard);
}

enum status guard_start(struct guard **guard, void *context, const struct keys *keys,
                        struct error *error)
{
    struct guard *g = calloc(1, sizeof *g);
    int linger = 0;
    if (g == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    g->keys = keys;
    g->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum status status = load(g, error);
    if (status == STATUS_OK) {
        g->socket = zmq_socket(context, ZMQ_REP);
        status = STATUS_IO;
        if (g->stop < 0 || g->socket == NULL ||
            zmq_setsockopt(g->socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
            zmq_bind(g->socket, ADDRESS) != 0 || pthread_create(&g->thread, NULL, run, g) != 0)
            error_set(error, status, "cannot start the thread that checks keys");
        else
            status = STATUS_OK;
        if (status != STATUS_OK && g->socket != NULL)
            zmq_close(g->socket);
    }
    if (status == STATUS_OK)
        *guard = g;
    else
        destroy(g);
    return status;
}

void guard_stop(struct guard **guard)
{
    if (*guard == NULL)
        return;
    eventfd_write((*guard)->stop, 1);
    pthread_join((*guard)->thread, NULL);
    destroy(*guard);
    *guard = NULL;
}

/* --- sockets ------------------------------------------------------------------------------- */

static bool set(void *socket, int option, const void *value, size_t bytes)
{
    return zmq_setsockopt(socket, option, value, bytes) == 0;
}

enum status guard_arm(void *socket, bool listening, const struct keys *keys)
{
    const int yes = 1;
    const struct certificate *own = &keys->own;
    bool armed = set(socket, ZMQ_CURVE_SECRETKEY, own->secret_key, KEY_BYTES);
    if (listening)
        armed = armed && set(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes) &&
                set(socket, ZMQ_ZAP_DOMAIN, DOMAIN, strlen(DOMAIN)) &&
                set(socket, ZMQ_ZAP_ENFORCE_DOMAIN, &yes, sizeof yes);
    else
        armed = armed && set(socket, ZMQ_CURVE_PUBLICKEY, own->public_key, KEY_BYTES) &&
                set(socket, ZMQ_CURVE_SERVERKEY, keys->server, KEY_BYTES);
    return armed ? STATUS_OK : STATUS_IO;
}
