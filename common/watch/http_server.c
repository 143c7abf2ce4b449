/* http_server.c - libmicrohttpd with a thread of its own. */

#include "common/watch/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 16

struct http_server {
    struct MHD_Daemon *daemon;
    http_answer_fn *answer;
    void *context;
    uint16_t port;
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool read_address(const char *text, uint16_t port, union socket_address *address,
                         socklen_t *bytes)
{
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &address->four.sin_addr) == 1) {
        address->four.sin_family = AF_INET;
        address->four.sin_port = htons(port);
        *bytes = sizeof address->four;
        return true;
    }
    if (inet_pton(AF_INET6, text, &address->six.sin6_addr) != 1)
        return false;
    address->six.sin6_family = AF_INET6;
    address->six.sin6_port = htons(port);
    *bytes = sizeof address->six;
    return true;
}

/* Ours, and not the library's, so that what is wrong has its reason. */
static int listen_at(const union socket_address *address, socklen_t bytes)
{
    int on = 1;
    int file = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0)
        return -1;
    if (setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(file, &address->any, bytes) == 0 && listen(file, BACKLOG) == 0)
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code, const char *type,
                             void *body, size_t bytes, enum MHD_ResponseMemoryMode memory)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(bytes, body, memory);
    if (response == NULL) {
        if (memory == MHD_RESPMEM_MUST_FREE)
            free(body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *text)
{
    char *constant = (char *)(uintptr_t)text; /* The library does not write to it. */
    return reply(connection, code, "text/plain", constant, strlen(text), MHD_RESPMEM_PERSISTENT);
}

/* A request's headers are here; what may follow them is not looked at. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request)
{
    (void)version;
    (void)upload;
    (void)upload_bytes;
    (void)request;
    struct http_server *server = context;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered here\n");
    struct http_answer answer = server->answer(server->context, path);
    if (answer.code == 0)
        return say(connection, MHD_HTTP_NOT_FOUND,
                   "there are /metrics, /healthz and /readyz here\n");
    if (answer.body == NULL)
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    return reply(connection, answer.code, answer.type, answer.body, answer.bytes,
                 MHD_RESPMEM_MUST_FREE);
}

/* What port it is, when any would do. */
static uint16_t port_of(int file)
{
    union socket_address address;
    socklen_t bytes = sizeof address;
    if (getsockname(file, &address.any, &bytes) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

enum status http_server_start(struct http_server **server, const char *address, uint16_t port,
                              http_answer_fn *answer, void *context, struct error *error)
{
    union socket_address where;
    socklen_t bytes;
    *server = NULL;
    if (!read_address(address, port, &where, &bytes))
        return error_set(error, STATUS_INVALID, "'%.100s' is no numeric address", address);
    int file = listen_at(&where, bytes);
    if (file < 0)
        return error_set(error, STATUS_EXISTS, "cannot listen on port %u of %s: %s", port, address,
                         strerror(errno));
    struct http_server *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->answer = answer;
        s->context = context;
        s->port = port_of(file);
        s->daemon =
            MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, handle,
                             s, MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_CONNECTION_LIMIT,
                             (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                             (unsigned)HTTP_CONNECTIONS_MAX / 2, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                             (size_t)HTTP_CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
                             (unsigned)HTTP_SILENCE_SECONDS, MHD_OPTION_END);
    }
    if (s != NULL && s->daemon != NULL) {
        *server = s;
        return STATUS_OK;
    }
    free(s);
    close(file);
    return error_set(error, STATUS_MEMORY, "cannot start a thread that answers HTTP");
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_stop(struct http_server **server)
{
    if (*server == NULL)
        return;
    MHD_stop_daemon((*server)->daemon); /* And with it the socket. */
    free(*server);
    *server = NULL;
}
