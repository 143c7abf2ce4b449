/* transport_zmq_dialer.c - asks route.h for the next place, and has libzmq connect there; an
 * inquiry asks about the name meanwhile, on a thread of its own.
 *
 *     no place --an answer--> connecting --ZMQ_POLLOUT--> connected: stays, whatever the name
 *                              ^      |  ^                  |         stands for by now
 *               the next place |      |  '------lost--------'
 *                              '------'         the name is asked about again
 *         refused, silent for too long, or shunned: disconnect */

#include "common/transport/zmq/transport_zmq_dialer.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "common/address/address.h"
#include "common/address/inquiry.h"
#include "common/base/clock.h"
#include "common/process/log.h"

/* The kernel's buffer of a connection from this host to itself (it doubles the figure). By
 * itself it would let several megabytes wait, which have left the caches when they are read; and
 * bbr, finding no link to measure, paces by them. Much below 64 KiB, acknowledgements come late.
 * Between hosts the kernel goes on choosing, by the distance. */
#define LOOPBACK_SEND_BYTES (192 << 10)
#define KERNEL_CHOOSES      (-1)

#define INQUIRY_MS     5   /* Between looks for an answer, without which there is no connection. */
#define UNCONNECTED_MS 100 /* Between looks while a connection is being made. */

void dialer_suit(void *socket, bool loopback)
{
    int bytes = loopback ? LOOPBACK_SEND_BYTES : KERNEL_CHOOSES;
    /* Without it things are slower. */
    (void)zmq_setsockopt(socket, ZMQ_SNDBUF, &bytes, sizeof bytes);
}

static void write_url(const char *place, char url[MONITOR_URL_BYTES])
{
    snprintf(url, MONITOR_URL_BYTES, "tcp://%s", place);
}

static void connect_to_place(struct dialer *dialer, const char *before, struct monitor *monitor)
{
    char url[MONITOR_URL_BYTES];
    const struct place *place = route_place(&dialer->route);
    if (before[0] != '\0') {
        write_url(before, url);
        zmq_disconnect(dialer->socket, url);
    }
    write_url(dialer->route.at, url);
    dialer_suit(dialer->socket, place != NULL && place->loopback);
    monitor_follow(monitor, url);
    if (zmq_connect(dialer->socket, url) != 0) /* Its turn will pass. */
        log_debug("cannot connect to %s: %s", dialer->route.at, zmq_strerror(zmq_errno()));
}

/* There is a pipe, and with ZMQ_IMMEDIATE that means a connection. If this was false, and there
 * was no send since, an attempt can be given up without loss. */
static bool is_connected(const struct dialer *dialer)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(dialer->socket, ZMQ_EVENTS, &events, &size) == 0 &&
           (events & ZMQ_POLLOUT) != 0;
}

static void note_connection(struct dialer *dialer)
{
    if (strcmp(dialer->last, dialer->route.at) == 0)
        return;
    if (dialer->last[0] != '\0')
        log_info("connected to %s at %s now, which was at %s", dialer->address, dialer->route.at,
                 dialer->last);
    memcpy(dialer->last, dialer->route.at, PLACE_BYTES);
}

static void ask(struct dialer *dialer, uint64_t now_us)
{
    struct places places;
    bool probe = false;
    if (dialer->inquiry != NULL) {
        inquiry_answer(dialer->inquiry, 0, &places);
        if (places.status == STATUS_AGAIN)
            return;
        inquiry_drop(&dialer->inquiry);
        route_answer(&dialer->route, &places, now_us);
    }
    if (!route_asks(&dialer->route, now_us, &probe))
        return;
    dialer->inquiry = inquiry_begin(dialer->address, probe);
    if (dialer->inquiry != NULL)
        return;
    places = (struct places){.status = STATUS_AGAIN}; /* Not now: later. */
    route_answer(&dialer->route, &places, now_us);
}

void dialer_look(struct dialer *dialer, struct monitor *monitor, bool stay, uint64_t now_us)
{
    char before[PLACE_BYTES];
    struct route *route = &dialer->route;
    if (dialer->socket == NULL || stay)
        return;
    struct route_news news = {.connected = is_connected(dialer),
                              .failed = monitor->failed > 0,
                              .reached = monitor->reached > 0};
    monitor->failed = monitor->reached = 0;
    memcpy(before, route->at, sizeof before);
    ask(dialer, now_us);
    if (route_moves(route, &news, now_us))
        connect_to_place(dialer, before, monitor);
    if (news.connected)
        note_connection(dialer);
}

void dialer_shun(struct dialer *dialer, const char *who, uint64_t now_us)
{
    char url[MONITOR_URL_BYTES];
    if (dialer->route.shunned)
        return;
    write_url(dialer->route.at, url);
    zmq_disconnect(dialer->socket, url);
    dialer->last[0] = '\0'; /* It was nowhere. */
    route_shun(&dialer->route, who, now_us);
}

enum status dialer_start(struct dialer *dialer, void *socket, const char *address,
                         struct monitor *monitor, struct error *error)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    struct places places;
    uint64_t now_us = clock_now_us();
    if (!address_split(address, host, &port) || address_is_any(host) || port == 0)
        return error_set(error, STATUS_INVALID, "%s is not host:port", address);
    dialer->socket = socket;
    snprintf(dialer->address, sizeof dialer->address, "%s", address_plain(address));
    route_init(&dialer->route, now_us);
    if (resolver_read(dialer->address, &places))
        route_answer(&dialer->route, &places, now_us);
    dialer_look(dialer, monitor, false, now_us);
    return STATUS_OK;
}

void dialer_stop(struct dialer *dialer)
{
    inquiry_drop(&dialer->inquiry);
    dialer->socket = NULL;
}

int dialer_patience_ms(const struct dialer *dialer)
{
    if (dialer->socket == NULL || dialer->route.connected)
        return 0;
    return dialer->route.at[0] == '\0' ? INQUIRY_MS : UNCONNECTED_MS;
}
