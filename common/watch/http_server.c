/* http_server.c - libmicrohttpd with a thread of its own. */

#include "common/watch/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

#define BACKLOG 16
#define BLOCK   65536u /* Of an answer, sent at a time. */

struct http_server {
    struct MHD_Daemon *daemon;
    http_answer_fn *answer;
    void *context;
    struct http_place place; /* With the port that it got. */
    char token[HTTP_TOKEN_MAX + 1];
};

/* An answer on its way. */
struct sending {
    struct http_answer answer;
    double until;
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* --- who may read ---------------------------------------------------------------------------- */

static bool is_open(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/metrics") == 0 ||
           strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}

/* In a time that does not depend on where they differ. */
static bool is_token(const struct http_server *server, const char *text)
{
    static const char bearer[] = "Bearer ";
    size_t length = strlen(server->token);
    unsigned char difference = 0;
    if (text == NULL || strncmp(text, bearer, sizeof bearer - 1) != 0)
        return false;
    text += sizeof bearer - 1;
    if (length == 0 || strlen(text) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(text[i] ^ server->token[i]);
    return difference == 0;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* 200: it may be read, or posted. */
static unsigned may(const struct http_server *server, struct MHD_Connection *connection,
                    const char *path, bool posts)
{
    if (is_open(path) && !posts)
        return MHD_HTTP_OK;
    if (posts && server->token[0] == '\0')
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    if (!http_host_is_own(header(connection, MHD_HTTP_HEADER_HOST)))
        return MHD_HTTP_FORBIDDEN;
    return (http_place_is_loopback(&server->place) && !posts) ||
                   is_token(server, header(connection, MHD_HTTP_HEADER_AUTHORIZATION))
               ? MHD_HTTP_OK
               : MHD_HTTP_UNAUTHORIZED;
}

/* --- answers --------------------------------------------------------------------------------- */

static ssize_t send_block(void *context, uint64_t at, char *block, size_t most)
{
    const struct sending *sending = context;
    size_t left = sending->answer.bytes - (size_t)at, bytes = left < most ? left : most;
    if (clock_now_seconds() > sending->until)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    memcpy(block, sending->answer.body + at, bytes);
    return (ssize_t)bytes;
}

static void free_sending(void *context)
{
    struct sending *sending = context;
    free(sending->answer.body);
    free(sending);
}

/* Takes the body over. */
static enum MHD_Result reply(struct MHD_Connection *connection, const struct http_answer *answer)
{
    static const char *const headers[][2] = {{MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"X-Frame-Options", "DENY"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Referrer-Policy", "no-referrer"}};
    struct sending *sending = malloc(sizeof *sending);
    if (sending == NULL) {
        free(answer->body);
        return MHD_NO;
    }
    *sending = (struct sending){*answer, clock_now_seconds() + HTTP_ANSWER_SECONDS};
    struct MHD_Response *response =
        MHD_create_response_from_callback(answer->bytes, BLOCK, send_block, sending, free_sending);
    if (response == NULL) {
        free_sending(sending);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    if (answer->code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, answer->code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *text)
{
    char *copy = strdup(text);
    const struct http_answer answer = {code, "text/plain; charset=utf-8", copy, strlen(text)};
    return copy == NULL ? MHD_NO : reply(connection, &answer);
}

uint64_t http_number(const struct http_request *request, const char *name, uint64_t fallback)
{
    char *end;
    const char *text =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return fallback;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 ? number : fallback;
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
    const struct http_server *server = context;
    bool posts = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    unsigned code = posts || strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
                            strcmp(method, MHD_HTTP_METHOD_HEAD) == 0
                        ? may(server, connection, path, posts)
                        : MHD_HTTP_METHOD_NOT_ALLOWED;
    const struct http_request asked = {path, connection, posts};
    struct http_answer answer = {.code = 0};
    if (code == MHD_HTTP_OK) {
        answer = server->answer(server->context, &asked);
        code = answer.code != 0 ? answer.code
               : posts          ? MHD_HTTP_METHOD_NOT_ALLOWED
                                : MHD_HTTP_NOT_FOUND;
    }
    if (answer.code == 0)
        return say(connection, code,
                   code == MHD_HTTP_METHOD_NOT_ALLOWED ? "only GET is answered here\n"
                   : code == MHD_HTTP_NOT_FOUND        ? "there is nothing here\n"
                   : code == MHD_HTTP_FORBIDDEN
                       ? "this is asked for by a name that is not this host's\n"
                       : "this needs the token\n");
    if (answer.body == NULL)
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    return reply(connection, &answer);
}

/* --- the daemon ------------------------------------------------------------------------------ */

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

/* What port it is, when any would do. */
static uint16_t port_of(int file)
{
    union socket_address address;
    socklen_t bytes = sizeof address;
    if (getsockname(file, &address.any, &bytes) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

enum status http_server_start(struct http_server **server, const struct http_place *place,
                              const char *token, http_answer_fn *answer, void *context,
                              struct error *error)
{
    union socket_address where;
    socklen_t bytes;
    *server = NULL;
    if (!read_address(place->address, place->port, &where, &bytes))
        return error_set(error, STATUS_INVALID, "'%s' is no numeric address", place->address);
    int file = listen_at(&where, bytes);
    if (file < 0)
        return error_set(error, STATUS_EXISTS, "cannot listen on port %u of %s: %s", place->port,
                         place->address, strerror(errno));
    sigset_t all, before;
    sigfillset(&all);
    struct http_server *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->answer = answer;
        s->context = context;
        s->place = *place;
        s->place.port = port_of(file);
        snprintf(s->token, sizeof s->token, "%s", token != NULL ? token : "");
        pthread_sigmask(SIG_SETMASK, &all, &before); /* Signals are for other threads. */
        s->daemon =
            MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, handle,
                             s, MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_CONNECTION_LIMIT,
                             (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                             (unsigned)HTTP_CONNECTIONS_MAX / 2, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                             (size_t)HTTP_CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
                             (unsigned)HTTP_SILENCE_SECONDS, MHD_OPTION_END);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (s != NULL && s->daemon != NULL) {
        *server = s;
        return STATUS_OK;
    }
    free(s);
    close(file);
    return error_set(error, STATUS_MEMORY, "cannot start a thread that answers HTTP");
}

const struct http_place *http_server_place(const struct http_server *server)
{
    return &server->place;
}

void http_server_stop(struct http_server **server)
{
    if (*server == NULL)
        return;
    MHD_stop_daemon((*server)->daemon); /* And with it the socket. */
    free(*server);
    *server = NULL;
}
