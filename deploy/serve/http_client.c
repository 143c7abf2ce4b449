/* http_client.c - one request, and all until the connection ends. */

#include "deploy/serve/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/watch/run_files.h"

#define HEADERS_MAX 4096
#define BLOCK       65536

static int reach(uint16_t port)
{
    const struct timeval patience = {.tv_sec = HTTP_CLIENT_SECONDS};
    const struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer >= 0 && setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(peer, (const struct sockaddr *)&place, sizeof place) == 0)
        return peer;
    if (peer >= 0)
        close(peer);
    return -1;
}

/* All that comes, ended by a zero; NULL: too much, or too late. */
static char *read_all(int peer, size_t *bytes)
{
    char *text = NULL;
    ssize_t count;
    *bytes = 0;
    do {
        char *larger =
            *bytes > RUN_FILES_MAX + HEADERS_MAX ? NULL : realloc(text, *bytes + BLOCK + 1);
        count = larger == NULL ? -1 : recv(peer, larger + *bytes, BLOCK, 0);
        text = larger != NULL ? larger : text;
        *bytes += count > 0 ? (size_t)count : 0;
    } while (count > 0);
    if (count == 0) {
        text[*bytes] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* The body moves to the beginning. */
static struct http_answer parse(char *text, size_t bytes, const char *type)
{
    struct http_answer answer = {.type = type, .body = text};
    const char *body = strstr(text, "\r\n\r\n");
    if (body == NULL || sscanf(text, "HTTP/1.%*1[01] %3u", &answer.code) != 1 ||
        answer.code < 100) {
        free(text);
        return (struct http_answer){0};
    }
    body += 4;
    answer.bytes = bytes - (size_t)(body - text);
    memmove(text, body, answer.bytes);
    return answer;
}

struct http_answer http_client_get(uint16_t port, const char *path, const char *type)
{
    char request[256];
    size_t bytes;
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    int peer = reach(port);
    char *text = NULL;
    if (peer >= 0 && send(peer, request, (size_t)length, MSG_NOSIGNAL) == length)
        text = read_all(peer, &bytes);
    if (peer >= 0)
        close(peer);
    return text != NULL ? parse(text, bytes, type) : (struct http_answer){0};
}
