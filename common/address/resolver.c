/* resolver.c - getaddrinfo with its answers written as numbers, and a TCP connection to each place
 * at once to see who accepts one. */

#include "common/address/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/clock.h"

/* --- names --------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static bool is_there(const struct places *places, const char *address)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (strcmp(places->at[i].address, address) == 0)
            return true;
    return false;
}

static void add(struct places *places, const struct addrinfo *found, uint16_t port)
{
    char host[PLACE_BYTES - 8];
    struct place *place = &places->at[places->count];
    bool six = found->ai_family == AF_INET6;
    if (places->count == PLACES_MAX || (!six && found->ai_family != AF_INET) ||
        getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return;
    snprintf(place->address, sizeof place->address, six ? "[%s]:%u" : "%s:%u", host, port);
    place->loopback = is_loopback(found->ai_addr);
    place->reason = PLACE_UNKNOWN;
    if (!is_there(places, place->address))
        places->count++;
}

/* Adds what the host is; the reason where it is nothing. */
static int ask(const char *host, uint16_t port, int flags, struct places *places)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found;
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0)
        return result;
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next)
        add(places, each, port);
    freeaddrinfo(found);
    return 0;
}

static void find(const char *address, int flags, struct places *places)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    int result = 0;
    *places = (struct places){.status = STATUS_INVALID};
    if (!address_split(address, host, &port) || address_is_any(host)) {
        snprintf(places->why, sizeof places->why, "not host:port");
        return;
    }
    places->status = STATUS_NOT_FOUND;
    /* Not asked of a name server (RFC 6761, section 6.3): a container may have no /etc/hosts. */
    if (strcasecmp(host, "localhost") == 0 && flags == 0) {
        ask("127.0.0.1", port, AI_NUMERICHOST, places);
        ask("::1", port, AI_NUMERICHOST, places);
    } else {
        result = ask(host, port, flags, places);
    }
    if (result != 0) {
        snprintf(places->why, sizeof places->why, "%s", gai_strerror(result));
        return;
    }
    if (places->count > 0)
        places->status = STATUS_OK;
    else
        snprintf(places->why, sizeof places->why, "it has no IP address");
}

void resolver_find(const char *address, struct places *places)
{
    find(address, 0, places);
}

bool resolver_read(const char *address, struct places *places)
{
    find(address, AI_NUMERICHOST, places);
    return places->status == STATUS_OK;
}

bool resolver_socket_address(const char *place, struct sockaddr_storage *address, socklen_t *size)
{
    char host[ADDRESS_MAX], service[8];
    uint16_t port;
    struct addrinfo *found,
        hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    if (!address_split(place, host, &port) || address_is_any(host))
        return false;
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return false;
    memset(address, 0, sizeof *address);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* --- probes -------------------------------------------------------------------------------- */

/* The socket, or -1 when all is known already. */
static int begin_connecting(struct place *place)
{
    struct sockaddr_storage address;
    socklen_t size;
    if (!resolver_socket_address(place->address, &address, &size)) {
        place->reason = EINVAL;
        return -1;
    }
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    place->reason = 0;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) != 0)
        place->reason = errno;
    else if (fd < 0)
        place->reason = errno;
    if (place->reason == EINPROGRESS)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void end_connecting(struct place *place, struct pollfd *pollfd)
{
    socklen_t size = sizeof place->reason;
    if (pollfd->revents == 0)
        return;
    if (getsockopt(pollfd->fd, SOL_SOCKET, SO_ERROR, &place->reason, &size) != 0)
        place->reason = errno;
    close(pollfd->fd);
    pollfd->fd = -1; /* poll passes over it. */
}

void resolver_probe(struct places *places, int timeout_ms)
{
    struct pollfd pollfds[PLACES_MAX];
    uint64_t until_us = clock_now_us() + 1000 * (uint64_t)timeout_ms;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        pollfds[i] = (struct pollfd){begin_connecting(&places->at[i]), POLLOUT, 0};
        waiting += pollfds[i].fd >= 0;
    }
    for (uint64_t now_us; waiting > 0 && (now_us = clock_now_us()) < until_us;) {
        poll(pollfds, places->count, (int)((until_us - now_us) / 1000) + 1);
        waiting = 0;
        for (uint32_t i = 0; i < places->count; i++) {
            end_connecting(&places->at[i], &pollfds[i]);
            waiting += pollfds[i].fd >= 0;
        }
    }
    for (uint32_t i = 0; i < places->count; i++)
        if (pollfds[i].fd >= 0) {
            close(pollfds[i].fd);
            places->at[i].reason = ETIMEDOUT;
        }
}
