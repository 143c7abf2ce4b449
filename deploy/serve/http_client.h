/* http_client.h - asks a server on loopback by HTTP, for the page of its job.
 *
 * Threads: any. */

#ifndef DEPLOY_SERVE_HTTP_CLIENT_H
#define DEPLOY_SERVE_HTTP_CLIENT_H

#include "common/watch/http_server.h"

#define HTTP_CLIENT_SECONDS 1 /* Of silence. */

/* GET path, of at most RUN_FILES_MAX bytes. Code 0: there is no answer. type: of what is asked for. */
struct http_answer http_client_get(uint16_t port, const char *path, const char *type);

#endif
