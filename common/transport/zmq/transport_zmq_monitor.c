/* transport_zmq_monitor.c - reads the events of libzmq's monitor, counts them, and closes
 * connections that are too many. */

#include "common/transport/zmq/transport_zmq_monitor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

#define EVENTS                                                                                     \
    (ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_ACCEPTED |                        \
     ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |                                      \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                  \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

enum status monitor_open(struct monitor *monitor, void *context, void *watched, unsigned number)
{
    char url[64];
    int unlimited = 0;
    snprintf(url, sizeof url, "inproc://monitor-%u", number);
    memset(monitor, 0, sizeof *monitor);
    if (zmq_socket_monitor(watched, url, EVENTS) != 0)
        return STATUS_IO;
    monitor->socket = zmq_socket(context, ZMQ_PAIR);
    /* A limit would have libzmq's own thread wait for us. */
    if (monitor->socket != NULL &&
        zmq_setsockopt(monitor->socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited) == 0 &&
        zmq_connect(monitor->socket, url) == 0)
        return STATUS_OK;
    monitor_close(monitor, watched);
    return STATUS_IO;
}

void monitor_close(struct monitor *monitor, void *watched)
{
    zmq_socket_monitor(watched, NULL, 0);
    if (monitor->socket != NULL)
        zmq_close(monitor->socket);
    monitor->socket = NULL;
}

/* Without keys the mechanism cannot be wrong, so this is for sockets with and without. */
static void count_failure(struct handshakes *counts, uint32_t code)
{
    if (code == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        counts->mismatched++;
    else
        counts->garbled++;
}

/* A handshake that ran out of time was not refused: the other side may be slow, or stopped. */
static void count_end(struct handshakes *counts, uint32_t number)
{
    if (number == EFAULT) {
        counts->unguarded++;
    } else if (number == EPIPE || number == ECONNRESET) {
        counts->cut++;
        counts->cut_in_a_row++;
    } else {
        counts->late++;
    }
}

/* libzmq takes it for one that the other side has ended. If the descriptor is another
 * connection's by now, that one has to be made again. */
static void accepted(struct monitor *monitor, int fd)
{
    monitor->accepted++;
    monitor->open++;
    if (monitor->open_max > 0 && monitor->open > monitor->open_max && shutdown(fd, SHUT_RDWR) == 0)
        monitor->counts.surplus++;
}

static void count(struct monitor *monitor, uint16_t event, uint32_t value, const char *url)
{
    struct handshakes *counts = &monitor->counts;
    bool followed = strcmp(url, monitor->followed) == 0;
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        monitor->reached += followed;
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:
        monitor->failed += followed;
        break;
    case ZMQ_EVENT_ACCEPTED:
        accepted(monitor, (int)value);
        break;
    case ZMQ_EVENT_DISCONNECTED:
        monitor->open -= monitor->open > 0; /* Of a connecting socket there was no ACCEPTED. */
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        counts->succeeded++;
        counts->cut_in_a_row = 0;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        counts->unauthorized++;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        count_failure(counts, value);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        count_end(counts, value);
        break;
    default:
        break;
    }
}

/* Connections without any event; a failure that is reported twice only makes them fewer. */
static void count_foreign(struct monitor *monitor, uint64_t now_us)
{
    struct handshakes *counts = &monitor->counts;
    uint64_t reported = counts->succeeded + counts->unauthorized + counts->mismatched +
                        counts->garbled + counts->unguarded + counts->cut + counts->late;
    if (now_us < monitor->turned_us + MONITOR_PATIENCE_US) /* Looks may come with an older time. */
        return;
    if (monitor->accepted_before > reported + counts->foreign)
        counts->foreign = monitor->accepted_before - reported;
    monitor->accepted_before = monitor->accepted;
    monitor->turned_us = now_us;
}

void monitor_follow(struct monitor *monitor, const char *url)
{
    snprintf(monitor->followed, sizeof monitor->followed, "%s", url);
    monitor->failed = monitor->reached = 0;
    monitor->counts.unauthorized = monitor->counts.mismatched = 0;
}

void monitor_look(struct monitor *monitor, uint64_t now_us)
{
    uint8_t frame[6]; /* u16 event, u32 value; then a frame with the URL. */
    char url[MONITOR_URL_BYTES];
    while (monitor->socket != NULL &&
           zmq_recv(monitor->socket, frame, sizeof frame, ZMQ_DONTWAIT) >= 0) {
        uint16_t event;
        uint32_t value;
        memcpy(&event, frame, sizeof event);
        memcpy(&value, frame + sizeof event, sizeof value);
        int bytes = zmq_recv(monitor->socket, url, sizeof url - 1, ZMQ_DONTWAIT);
        url[bytes < 0 ? 0 : bytes < (int)sizeof url ? bytes : (int)sizeof url - 1] = '\0';
        count(monitor, event, value, url);
    }
    count_foreign(monitor, now_us);
}
