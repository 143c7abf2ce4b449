/* http_server.h - answers GET over HTTP for scrapers and probes.
 *
 * Bounded: HTTP_CONNECTIONS_MAX connections, half of them from one address, more are closed at once;
 * HTTP_CONNECTION_BYTES of memory each, a longer request is refused; HTTP_SILENCE_SECONDS of silence
 * end one. Only GET and HEAD are answered, without a body, and of nothing but what `answer` knows. No
 * TLS and no names: it is for loopback, or a network that is trusted with the figures.
 *
 * The library is libmicrohttpd; its one doorway is http_server.c.
 *
 * Threads: one of the library's, which calls `answer`. */

#ifndef COMMON_WATCH_HTTP_SERVER_H
#define COMMON_WATCH_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define HTTP_CONNECTIONS_MAX  16
#define HTTP_CONNECTION_BYTES 4096
#define HTTP_SILENCE_SECONDS  3

struct http_answer {
    unsigned code;    /* 200, 404, ...; 0: there is no such page. */
    const char *type; /* Of the body: constant. */
    char *body;       /* [bytes], malloc'd, the server's from then on; NULL: no memory. */
    size_t bytes;
};

typedef struct http_answer http_answer_fn(void *context, const char *path);

struct http_server;

/* Listen at a numeric address, IPv4 or IPv6; port 0: any. STATUS_INVALID for no such address,
 * STATUS_EXISTS when it cannot be had, with a line. */
enum status http_server_start(struct http_server **server, const char *address, uint16_t port,
                              http_answer_fn *answer, void *context, struct error *error);
uint16_t http_server_port(const struct http_server *server);
/* Sets the pointer to NULL; no answer is under way any more. */
void http_server_stop(struct http_server **server);

#endif
