/* address.c - splits "host:port" by hand and compares names; no resolver is asked. */

#include "common/address/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PREFIX "tcp://"

const char *address_plain(const char *address)
{
    size_t length = sizeof PREFIX - 1;
    return strncasecmp(address, PREFIX, length) == 0 ? address + length : address;
}

static bool parse_port(const char *text, uint16_t *port)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long number = strtoul(text, NULL, 10);
    if (digits == 0 || digits > 5 || text[digits] != '\0' || number > UINT16_MAX)
        return false;
    *port = (uint16_t)number;
    return true;
}

bool address_split(const char *address, char host[ADDRESS_MAX], uint16_t *port)
{
    const char *text = address_plain(address), *colon = strrchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : ADDRESS_MAX;
    if (length >= ADDRESS_MAX || !parse_port(colon + 1, port))
        return false;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    return true;
}

bool address_is_any(const char *host)
{
    return host[0] == '\0' || strcmp(host, "*") == 0;
}

/* RFC 6761: localhost, and every name below it. */
static bool is_localhost(const char *host)
{
    static const char *const others[] = {"localhost.localdomain", "ip6-localhost", "ip6-loopback"};
    const char *last = strrchr(host, '.');
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(host, others[i]) == 0)
            return true;
    return strcasecmp(last != NULL ? last + 1 : host, "localhost") == 0;
}

bool address_is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    if (inet_aton(host, &four) != 0) /* Also what getaddrinfo takes: 127.1. */
        return ntohl(four.s_addr) >> 24 == 127;
    return is_localhost(host);
}

bool address_equal(const char *a, const char *b)
{
    return strcasecmp(address_plain(a), address_plain(b)) == 0;
}
