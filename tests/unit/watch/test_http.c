/* test_http.c - who is answered over HTTP, and what of a run's folder: with sockets, as browsers and
 * attackers come. */
/* promises: serve teach */

#include "common/watch/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/watch/http_token.h"
#include "common/watch/run_files.h"
#include "tests/lib/suite.h"

#define READERS 200
#define TEXT    (2u << 20)

struct fixture {
    char folder[64];
    struct http_server *server;
    char *text; /* [TEXT] of the last answer. */
    const char *body;
};

static struct http_answer answer(void *context, const struct http_request *request)
{
    struct fixture *f = context;
    struct http_answer big = {200, "text/plain", NULL, HTTP_ANSWER_MAX};
    if (request->posts)
        return strcmp(request->path, "/act") == 0
                   ? (struct http_answer){200, "text/plain", strdup("done"), 4}
                   : (struct http_answer){0};
    if (strcmp(request->path, "/big") != 0 && strcmp(request->path, "/metrics") != 0)
        return run_files_answer(f->folder, request);
    big.body = malloc(big.bytes);
    memset(big.body, 'x', big.bytes);
    return big;
}

static void serve(struct fixture *f, const char *where, const char *token)
{
    struct http_place place;
    struct error error;
    http_server_stop(&f->server);
    ck_assert(http_place_read(where, &place));
    ck_assert_int_eq(http_server_start(&f->server, &place, token, answer, f, &error), STATUS_OK);
}

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.text = malloc(TEXT)};
    snprintf(f->folder, sizeof f->folder, "/tmp/syncopate-http-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    serve(f, "0", NULL);
}

static void close_fixture(struct fixture *f)
{
    char command[128];
    http_server_stop(&f->server);
    snprintf(command, sizeof command, "rm -r %s*", f->folder);
    ck_assert_int_eq(system(command), 0);
    free(f->text);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static int reach(const struct fixture *f)
{
    struct timeval patience = {.tv_sec = 20};
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons(http_server_place(f->server)->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ck_assert_int_eq(connect(peer, (struct sockaddr *)&where, sizeof where), 0);
    return peer;
}

/* The code of the answer; 0: there is none. */
static int say(struct fixture *f, const char *request, size_t bytes)
{
    size_t count = 0;
    ssize_t read_bytes;
    int peer = reach(f), code = 0;
    (void)!send(peer, request, bytes, MSG_NOSIGNAL);
    shutdown(peer, SHUT_WR);
    while ((read_bytes = recv(peer, f->text + count, TEXT - 1 - count, 0)) > 0)
        count += (size_t)read_bytes;
    close(peer);
    f->text[count] = '\0';
    f->body = strstr(f->text, "\r\n\r\n");
    f->body = f->body != NULL ? f->body + 4 : "";
    return sscanf(f->text, "HTTP/1.%*c %d ", &code) == 1 ? code : 0;
}

static int ask(struct fixture *f, const char *path, const char *headers)
{
    char request[512];
    int bytes = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n",
                         path, headers);
    return say(f, request, (size_t)bytes);
}

static int get(struct fixture *f, const char *path)
{
    return ask(f, path, "Host: localhost\r\n");
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST_PLAIN(a_place_is_a_port_or_a_numeric_address_and_a_port)
{
    static const struct {
        const char *text, *address;
        int port;
    } rows[] = {{"8080", "127.0.0.1", 8080},
                {"0", "127.0.0.1", 0},
                {"0.0.0.0:9464", "0.0.0.0", 9464},
                {"[::1]:80", "::1", 80},
                {"[::]:0", "::", 0},
                {"65536", NULL, 0},
                {"", NULL, 0},
                {":80", NULL, 0},
                {"localhost:80", NULL, 0},
                {"::1:80", NULL, 0},
                {"[::1]", NULL, 0},
                {"[::1]80", NULL, 0},
                {"[1.2.3.4]:80", NULL, 0},
                {"1.2.3.4", NULL, 0},
                {"1.2.3.4:", NULL, 0},
                {"1.2.3.4:8 ", NULL, 0},
                {"-1", NULL, 0},
                {"+1", NULL, 0},
                {"[]:80", NULL, 0},
                {"1.2.3.4:x", NULL, 0},
                {"[::1:80", NULL, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_place place;
        bool is = http_place_read(rows[i].text, &place);
        ck_assert_msg(is == (rows[i].address != NULL), "%s", rows[i].text);
        if (is)
            ck_assert_str_eq(place.address, rows[i].address);
        if (is)
            ck_assert_int_eq(place.port, rows[i].port);
    }
    struct http_place place = {.address = "127.0.0.2"};
    ck_assert(http_place_is_loopback(&place));
    place = (struct http_place){.address = "::"};
    ck_assert(!http_place_is_loopback(&place));
}

TEST(by_another_name_a_browser_reads_nothing)
{
    static const char *const own[] = {"Host: localhost:80\r\n", "Host: 127.0.0.1\r\n",
                                      "Host: [::1]:8080\r\n", "Host: 10.1.2.3:1\r\n"};
    static const char *const other[] = {"Host: evil.example\r\n",
                                        "Host: localhost.evil.example\r\n",
                                        "Host: 127.0.0.1.evil.example:80\r\n", "Host: \r\n"};
    put(f, "run.json", "{}");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ck_assert_msg(ask(f, "/run.json", own[i]) == 200, "%s%s", own[i], f->text);
    ck_assert_int_eq(say(f, "GET /run.json HTTP/1.0\r\n\r\n", 26), 200);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        ck_assert_msg(ask(f, "/run.json", other[i]) == 403, "%s%s", other[i], f->text);
    ck_assert_int_eq(ask(f, "/metrics", other[0]), 200);
}

TEST(beyond_loopback_a_token_is_needed)
{
    put(f, "run.json", "{}");
    serve(f, "0.0.0.0:0", "0123456789abcdef");
    ck_assert_int_eq(get(f, "/run.json"), 401);
    static const char *const wrong[] = {"0123456789abcdee", "0123456789abcde", "",
                                        "0123456789abcdef0", "0123456789ABCDEF"};
    char headers[128];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(headers, sizeof headers, "Host: localhost\r\nAuthorization: Bearer %s\r\n",
                 wrong[i]);
        ck_assert_msg(ask(f, "/run.json", headers) == 401, "'%s'", wrong[i]);
    }
    ck_assert_int_eq(get(f, "/run.json?token=0123456789abcdef"), 401);
    ck_assert_int_eq(ask(f, "/run.json", "Host: x.y\r\nAuthorization: Bearer 0123456789abcdef\r\n"),
                     403);
    ck_assert_int_eq(
        ask(f, "/run.json", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"), 200);
    ck_assert_int_eq(get(f, "/metrics"), 200); /* As the network is trusted with figures. */
    serve(f, "0.0.0.0:0", NULL);
    ck_assert_int_eq(get(f, "/run.json"), 401);
    ck_assert_int_eq(ask(f, "/run.json", "Host: localhost\r\nAuthorization: Bearer \r\n"), 401);
}

TEST(who_posts_needs_the_token_on_loopback_too)
{
    static const struct {
        const char *path, *headers;
        int code;
    } posts[] = {{"/act", "Host: localhost\r\n", 401},
                 {"/", "Host: localhost\r\n", 401},
                 {"/act", "Host: localhost\r\nAuthorization: Bearer secret\r\n", 200},
                 {"/act", "Host: evil.example\r\nAuthorization: Bearer secret\r\n", 403},
                 {"/", "Host: localhost\r\nAuthorization: Bearer secret\r\n", 405}};
    char text[512];
    for (int with = 0; with < 2; with++) {
        serve(f, "0", with ? "secret" : NULL);
        ck_assert_int_eq(get(f, "/big"), 200);
        for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
            int bytes =
                snprintf(text, sizeof text, "POST %s HTTP/1.1\r\n%sConnection: close\r\n\r\n",
                         posts[i].path, posts[i].headers);
            ck_assert_msg(say(f, text, (size_t)bytes) == (with ? posts[i].code : 405), "%s%s", text,
                          f->text);
        }
    }
}

TEST(a_token_is_in_a_file_that_only_its_owner_reads)
{
    char token[HTTP_TOKEN_DIGITS + 1] = "", again[HTTP_TOKEN_DIGITS + 1] = "", path[128];
    struct stat file;
    struct error error;
    snprintf(path, sizeof path, "%s.token", f->folder);
    ck_assert_int_eq(http_token_open(f->folder, token, &error), STATUS_OK);
    ck_assert_uint_eq(strlen(token), HTTP_TOKEN_DIGITS);
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0600);
    ck_assert_int_eq(http_token_open(f->folder, again, &error), STATUS_OK);
    ck_assert_str_eq(token, again);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(http_token_open(f->folder, again, &error), STATUS_REFUSED);
    ck_assert_int_eq(truncate(path, 5), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(http_token_open(f->folder, again, &error), STATUS_REFUSED);
    unlink(path);
    ck_assert_int_eq(http_token_open(f->folder, again, &error), STATUS_OK);
    ck_assert_str_ne(token, again);
}

TEST(events_are_whole_lines_from_a_byte_on)
{
    put(f, "events.jsonl", "{\"a\": 1}\n{\"b\": 2}\n{\"torn");
    ck_assert_int_eq(get(f, "/events"), 200);
    ck_assert_str_eq(f->body, "{\"a\": 1}\n{\"b\": 2}\n");
    ck_assert_int_eq(get(f, "/events?from=9"), 200);
    ck_assert_str_eq(f->body, "{\"b\": 2}\n");
    ck_assert_int_eq(get(f, "/events?from=18"), 200);
    ck_assert_str_eq(f->body, "");
    ck_assert_int_eq(get(f, "/events?from=9999999"), 416); /* It was begun anew. */
    ck_assert_int_eq(get(f, "/events?from=-1"), 200);
    ck_assert_int_eq(get(f, "/events?from=99999999999999999999999"), 200);
    /* At most a mebibyte an answer: who goes on gets all. */
    char *lines = malloc(1500001);
    memset(lines, 'x', 1500000);
    lines[1500000] = '\0';
    for (size_t i = 99; i < 1500000; i += 100)
        lines[i] = '\n';
    put(f, "events.jsonl", lines);
    ck_assert_int_eq(get(f, "/events"), 200);
    size_t first = strlen(f->body);
    ck_assert_uint_le(first, HTTP_ANSWER_MAX);
    ck_assert_uint_eq(first % 100, 0);
    char path[64];
    snprintf(path, sizeof path, "/events?from=%zu", first);
    ck_assert_int_eq(get(f, path), 200);
    ck_assert_uint_eq(first + strlen(f->body), 1500000);
    free(lines);
}

TEST(of_a_log_the_last_lines)
{
    char path[128];
    snprintf(path, sizeof path, "%s/logs", f->folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    put(f, "logs/worker-0.log", "one\ntwo\nthree\n");
    ck_assert_int_eq(get(f, "/logs/worker-0.log?tail=2"), 200);
    ck_assert_str_eq(f->body, "two\nthree\n");
    ck_assert_int_eq(get(f, "/logs/worker-0.log?tail=1"), 200);
    ck_assert_str_eq(f->body, "three\n");
    ck_assert_int_eq(get(f, "/logs/worker-0.log"), 200);
    ck_assert_str_eq(f->body, "one\ntwo\nthree\n");
    put(f, "logs/worker-0.log", "");
    ck_assert_int_eq(get(f, "/logs/worker-0.log"), 200);
    ck_assert_str_eq(f->body, "");
}

TEST(no_path_leads_elsewhere)
{
    static const char *const paths[] = {"/secret",
                                        "/../secret",
                                        "/logs/../secret.log",
                                        "/logs/..%2fsecret.log",
                                        "/logs//etc/passwd",
                                        "/%2e%2e/secret",
                                        "/run.json/",
                                        "//run.json",
                                        "/events.jsonl",
                                        "/logs/.log",
                                        "/logs/worker-0.log%00",
                                        "/logs/"};
    char path[128];
    put(f, "secret", "x");
    put(f, "secret.log", "x");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ck_assert_msg(get(f, paths[i]) == 404, "%s: %s", paths[i], f->text);
    snprintf(path, sizeof path, "%s/run.json", f->folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(get(f, "/run.json"), 404); /* And is not waited for. */
}

TEST(nothing_but_get_is_answered_and_nonsense_harms_nothing)
{
    static const char *const methods[] = {"POST",    "PUT", "DELETE", "OPTIONS",
                                          "CONNECT", "get", "x"};
    char *text = malloc(100001);
    put(f, "run.json", "{}");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        int bytes =
            snprintf(text, 200, "%s /run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", methods[i]);
        ck_assert_msg(say(f, text, (size_t)bytes) != 200, "%s", methods[i]);
    }
    memset(text, 'x', 100000); /* A request line, and a header, that have no end. */
    memcpy(text, "GET /", 5);
    ck_assert_int_ne(say(f, text, 100000), 200);
    memcpy(text, "GET /run.json HTTP/1.1\r\nHost: localhost\r\nX: ", 45);
    ck_assert_int_ne(say(f, text, 100000), 200);
    unsigned seed = 1;
    for (unsigned round = 0; round < 200;
         round++) { /* A request with some bytes that are others. */
        int bytes =
            snprintf(text, 200, "GET /events?from=%u HTTP/1.1\r\nHost: localhost\r\n\r\n", round);
        for (unsigned i = 0; i < 1 + round % 5; i++)
            text[rand_r(&seed) % (unsigned)bytes] = (char)rand_r(&seed);
        say(f, text, (size_t)bytes);
    }
    free(text);
    ck_assert_int_eq(get(f, "/run.json"), 200);
}

START_TEST(readers_that_never_read_keep_no_reader_out_for_long)
{
    static const char request[] = "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int peers[READERS], small = 4096;
    struct fixture place, *f = &place;
    open_fixture(f);
    for (unsigned i = 0; i < READERS; i++) {
        peers[i] = reach(f);
        setsockopt(peers[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        (void)!send(peers[i], request, sizeof request - 1, MSG_NOSIGNAL);
    }
    put(f, "run.json", "{}");
    double until = clock_now_seconds() + 60;
    while (get(f, "/run.json") != 200) {
        ck_assert(clock_now_seconds() < until);
        usleep(50000);
    }
    for (unsigned i = 0; i < READERS; i++)
        close(peers[i]);
    close_fixture(f);
}
END_TEST

static void add_long(TCase *tcase)
{
    tcase_add_test(tcase, readers_that_never_read_keep_no_reader_out_for_long);
}

int main(void)
{
    return suite_run_both("http", NULL, add_long);
}
