#include "common/transport.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIAGNOSE_MS 1000

static int split(const char *address, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || (size_t)(colon - address) >= size)
        return -1;
    size_t length = (size_t)(colon - address);
    memcpy(host, address, length);
    host[length] = '\0';
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        memmove(host, host + 1, length - 2);
        host[length - 2] = '\0';
    }
    *port = colon + 1;
    return 0;
}

static int is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    return 0;
}

enum status transport_resolve(const char *address, char numeric[ADDRESS_MAX], struct error *error)
{
    char host[ADDRESS_MAX], text[64];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (split(address, host, sizeof host, &port) != 0)
        return error_set(error, STATUS_INVALID, "%s is not host:port", address);
    if (host[0] == '\0' || strcmp(host, "*") == 0) {
        snprintf(numeric, ADDRESS_MAX, "*:%s", port);
        return STATUS_OK;
    }
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0)
        return error_set(error, STATUS_NOT_FOUND, "host name %s does not resolve: %s", host,
                         gai_strerror(result));
    int family = found->ai_family;
    result =
        getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    if (result != 0)
        return error_set(error, STATUS_NOT_FOUND, "%s: %s", host, gai_strerror(result));
    snprintf(numeric, ADDRESS_MAX, family == AF_INET6 ? "[%s]:%s" : "%s:%s", text, port);
    return STATUS_OK;
}

int transport_is_loopback(const char *address)
{
    char host[ADDRESS_MAX];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (split(address, host, sizeof host, &port) != 0 || host[0] == '\0' || host[0] == '*')
        return 0;
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return 0;
    int loopback = is_loopback(found->ai_addr);
    freeaddrinfo(found);
    return loopback;
}

/* 0 when a connection was made, else an errno. */
static int try_connect(const struct addrinfo *to, int timeout_ms)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int reason = 0;
    socklen_t size = sizeof reason;
    struct pollfd pollfd = {fd, POLLOUT, 0};
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        reason = errno;
        if (reason == EINPROGRESS)
            reason = poll(&pollfd, 1, timeout_ms) == 1 &&
                             getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0
                         ? reason
                         : ETIMEDOUT;
    }
    close(fd);
    return reason;
}

void transport_diagnose(const char *address, int timeout_ms, char *text, size_t size)
{
    char host[ADDRESS_MAX];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (split(address, host, sizeof host, &port) != 0) {
        snprintf(text, size, "not an address");
        return;
    }
    int result = getaddrinfo(host, port, &hints, &found);
    if (result != 0) {
        snprintf(text, size, "host name does not resolve (%s)", gai_strerror(result));
        return;
    }
    const char *local = is_loopback(found->ai_addr) && strncmp(host, "127.", 4) != 0 &&
                                strcmp(host, "localhost") != 0 && strcmp(host, "::1") != 0
                            ? ", resolves to loopback"
                            : "";
    int reason = try_connect(found, timeout_ms);
    freeaddrinfo(found);
    switch (reason) {
    case 0:
        snprintf(text, size, "connected, no answer yet%s", local);
        break;
    case ECONNREFUSED:
        snprintf(text, size, "connection refused%s", local);
        break;
    case ETIMEDOUT:
        snprintf(text, size, "no answer%s", local);
        break;
    default:
        snprintf(text, size, "%s%s", strerror(reason), local);
    }
}

void transport_explain_silence(const struct transport *transport, struct endpoint *endpoint,
                               const char *address, char *text, size_t size)
{
    const struct transport_operations *operations = transport->operations;
    text[0] = '\0';
    if (endpoint != NULL && operations->refusal != NULL)
        operations->refusal(endpoint, text, size);
    if (text[0] == '\0')
        transport_diagnose(address, DIAGNOSE_MS, text, size);
}
