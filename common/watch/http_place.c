/* http_place.c - numeric addresses and names of hosts as text. */

#include "common/watch/http_place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_address(const char *text)
{
    struct in6_addr any;
    return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

/* The host of "host:port", "[::1]:port" or "host", without what is around it. */
static bool read_host(const char *text, char *host, size_t size)
{
    size_t length = text[0] == '[' ? strcspn(++text, "]") : strcspn(text, ":");
    if (length >= size)
        return false;
    snprintf(host, size, "%.*s", (int)length, text);
    return true;
}

bool http_place_read(const char *text, struct http_place *place)
{
    char *end;
    const char *colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
    unsigned long port = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || port > UINT16_MAX)
        return false;
    *place = (struct http_place){.address = "127.0.0.1", .port = (uint16_t)port};
    return colon == NULL || (read_host(text, place->address, sizeof place->address) &&
                             (text[0] == '[') == (strchr(place->address, ':') != NULL) &&
                             (text[0] != '[' || colon[-1] == ']') && is_address(place->address));
}

enum status http_place_check(const char *text, struct error *error)
{
    struct http_place place;
    return http_place_read(text, &place)
               ? STATUS_OK
               : error_set(error, STATUS_INVALID,
                           "needs a port, or a numeric address and a port: 0.0.0.0:8080");
}

bool http_place_is_loopback(const struct http_place *place)
{
    return strncmp(place->address, "127.", 4) == 0 || strcmp(place->address, "::1") == 0;
}

void http_place_url(const struct http_place *place, const char *token, char url[HTTP_URL_MAX])
{
    char name[HTTP_URL_MAX / 2];
    bool every = strcmp(place->address, "0.0.0.0") == 0 || strcmp(place->address, "::") == 0;
    if (!every || gethostname(name, sizeof name) != 0)
        snprintf(name, sizeof name, strchr(place->address, ':') != NULL ? "[%s]" : "%s",
                 place->address);
    name[sizeof name - 1] = '\0';
    snprintf(url, HTTP_URL_MAX, "http://%s:%u/%s%s", name, place->port,
             token[0] != '\0' ? "#token=" : "", token);
}

bool http_host_is_own(const char *text)
{
    char host[256], own[256];
    if (text == NULL)
        return true;
    if (!read_host(text, host, sizeof host))
        return false;
    if (is_address(host) || strcasecmp(host, "localhost") == 0)
        return true;
    if (gethostname(own, sizeof own) != 0)
        return false;
    own[sizeof own - 1] = '\0';
    if (strcasecmp(host, own) == 0)
        return true;
    own[strcspn(own, ".")] = '\0';
    return own[0] != '\0' && strcasecmp(host, own) == 0;
}
