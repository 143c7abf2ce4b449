/* http_absent.c - in the place of http_server.c where libmicrohttpd was not there at the build. */

#include "common/watch/http_server.h"

bool http_server_is_there(void)
{
    return false;
}

enum status http_server_start(struct http_server **server, const char *address, uint16_t port,
                              http_answer_fn *answer, void *context, struct error *error)
{
    (void)address;
    (void)port;
    (void)answer;
    (void)context;
    *server = NULL;
    return error_set(
        error, STATUS_NOT_FOUND,
        "this build has no HTTP: libmicrohttpd (Debian's libmicrohttpd-dev) was not there");
}

uint16_t http_server_port(const struct http_server *server)
{
    (void)server;
    return 0;
}

void http_server_stop(struct http_server **server)
{
    *server = NULL;
}
