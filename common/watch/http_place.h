/* http_place.h - where HTTP is answered, and which names this host has there.
 *
 * Threads: any. */

#ifndef COMMON_WATCH_HTTP_PLACE_H
#define COMMON_WATCH_HTTP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

struct http_place {
    char address[64]; /* Numeric. */
    uint16_t port;    /* 0: any. */
};

/* "8080" of loopback, "0.0.0.0:8080", "[::1]:8080". False: it is no place. */
bool http_place_read(const char *text, struct http_place *place);
enum status http_place_check(const char *text, struct error *error);

bool http_place_is_loopback(const struct http_place *place);

/* "http://127.0.0.1:8080/", of every address this host's name; with "#token=..." unless token is "". */
#define HTTP_URL_MAX 192
void http_place_url(const struct http_place *place, const char *token, char url[HTTP_URL_MAX]);

/* Whether the header Host is a numeric address, localhost or this host's own name. NULL is as well: a
 * browser always has one. */
bool http_host_is_own(const char *text);

#endif
