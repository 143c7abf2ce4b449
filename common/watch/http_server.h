/* http_server.h - answers over HTTP: for the page, scrapers and probes.
 *
 * Bounded: HTTP_CONNECTIONS_MAX connections, half of them from one address, more are closed at once;
 * HTTP_CONNECTION_BYTES of memory each, a longer request is refused; an answer has HTTP_ANSWER_MAX bytes;
 * HTTP_SILENCE_SECONDS of silence end a connection, and an answer that is not read within
 * HTTP_ANSWER_SECONDS. GET and HEAD are answered, and POST where `answer` does; what follows the headers is
 * not looked at. No TLS.
 *
 * "/", /metrics, /healthz and /readyz are open: the network is trusted with figures. For all else the
 * Host must be a numeric address, localhost or this host's own name (403): a page of another name, made
 * to point here, reads nothing. A server beyond loopback wants "Authorization: Bearer TOKEN" (401). POST
 * wants both, of any path and anywhere; without a token there is none (405).
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
#include "common/watch/http_place.h"

#define HTTP_CONNECTIONS_MAX  16
#define HTTP_CONNECTION_BYTES 16384
#define HTTP_SILENCE_SECONDS  3
#define HTTP_ANSWER_SECONDS   10
#define HTTP_ANSWER_MAX       (1u << 20)
#define HTTP_TOKEN_MAX        64

struct http_request {
    const char *path;
    void *connection; /* Of http_number. */
    bool posts;       /* POST: code 0 is 405 then. */
};

struct http_answer {
    unsigned code;    /* 200, 404, ...; 0: there is no such page. */
    const char *type; /* Of the body: constant. */
    char *body;       /* [bytes], malloc'd, the server's from then on; NULL: no memory. */
    size_t bytes;
};

typedef struct http_answer http_answer_fn(void *context, const struct http_request *request);

/* A number of the query, "?from=12"; `fallback` where it is missing or no number. */
uint64_t http_number(const struct http_request *request, const char *name, uint64_t fallback);

struct http_server;

/* token: at most HTTP_TOKEN_MAX characters; NULL: there is none, and beyond loopback only what is open
 * is answered. STATUS_EXISTS when the place cannot be had, with a line. */
enum status http_server_start(struct http_server **server, const struct http_place *place,
                              const char *token, http_answer_fn *answer, void *context,
                              struct error *error);
/* With the port that it got. */
const struct http_place *http_server_place(const struct http_server *server);
/* Sets the pointer to NULL; no answer is under way any more. */
void http_server_stop(struct http_server **server);

#endif
