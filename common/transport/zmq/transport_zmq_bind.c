/* transport_zmq_bind.c - bind on each numeric address; port 0 of a later address becomes the
 * first one's port. */

#include "common/transport/zmq/transport_zmq_bind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "common/address/address.h"
#include "common/address/resolver.h"
#include "common/process/log.h"
#include "common/transport/zmq/transport_zmq_dialer.h"

/* The URL for libzmq: port 0 of a second address is the first one's. False for a name. */
static bool bind_url(const char *address, uint16_t first_port, char url[ADDRESS_MAX + 16],
                     bool *loopback)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    struct places places;
    bool numeric = resolver_read(address, &places);
    if (!address_split(numeric ? places.at[0].address : address, host, &port) ||
        (!numeric && !address_is_any(host)))
        return false;
    *loopback = numeric && places.at[0].loopback;
    port = port != 0 ? port : first_port;
    if (!numeric)
        snprintf(url, ADDRESS_MAX + 16, "tcp://*:%u", port);
    else
        snprintf(url, ADDRESS_MAX + 16, strchr(host, ':') != NULL ? "tcp://[%s]:%u" : "tcp://%s:%u",
                 host, port);
    return true;
}

/* The host as it was asked for, which libzmq would give as IPv6, and the final port. */
static void note_bound(const char *url, const char *last, char bound[ADDRESS_MAX])
{
    const char *host = address_plain(strchr(url, '*') != NULL ? last : url);
    const char *end = strrchr(host, ':'), *port = strrchr(last, ':');
    snprintf(bound, ADDRESS_MAX, "%.*s%s", (int)(end - host), host, port);
}

/* Listen on one more address; bound gets it. STATUS_NOT_FOUND, and no error yet, when it is not
 * one of this host. */
static enum status bind_one(void *socket, const char *address, uint16_t first_port,
                            char bound[ADDRESS_MAX], struct error *error)
{
    char url[ADDRESS_MAX + 16], last[ADDRESS_MAX + 16];
    size_t size = sizeof last;
    bool loopback;
    if (!bind_url(address, first_port, url, &loopback))
        return error_set(error, STATUS_INVALID, "%s is not a numeric host:port", address);
    dialer_suit(socket, loopback);
    if (zmq_bind(socket, url) == 0 && zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, last, &size) == 0) {
        note_bound(url, last, bound);
        return STATUS_OK;
    }
    int reason = zmq_errno();
    if (reason == ENODEV || reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT || reason == EINVAL)
        return STATUS_NOT_FOUND;
    return error_set(error, reason == EADDRINUSE ? STATUS_EXISTS : STATUS_IO,
                     "cannot listen on %s: %s%s", address, zmq_strerror(reason),
                     reason == EADDRINUSE ? "; name another port, or see with ss -tlnp what has it"
                                          : "");
}

enum status bind_list(void *socket, const char *list, char bound[ADDRESS_MAX], struct error *error)
{
    bool several = strchr(list, ',') != NULL;
    size_t used = 0;
    uint16_t port = 0;
    for (const char *next = list; next != NULL;) {
        char address[ADDRESS_MAX], where[ADDRESS_MAX], host[ADDRESS_MAX];
        size_t length = strcspn(next, ",");
        snprintf(address, sizeof address, "%.*s", (int)length, next);
        next = next[length] == ',' ? next + length + 1 : NULL;
        enum status status = bind_one(socket, address, port, where, error);
        if (status == STATUS_NOT_FOUND && several)
            log_info("not listening on %s: no such address on this host", address);
        else if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return status;
        if (status != STATUS_OK || !address_split(where, host, &port))
            continue;
        if (used < ADDRESS_MAX)
            used += (size_t)snprintf(bound + used, ADDRESS_MAX - used, "%s%s", used > 0 ? ", " : "",
                                     where);
    }
    return used > 0 ? STATUS_OK
                    : error_set(error, STATUS_IO,
                                "cannot listen on %s: no such address on this host", list);
}
