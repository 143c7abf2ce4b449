/* test_folder_pages.c - the page of a run: what its folder has, and what server 0 is asked for. */
/* promises: serve */

#include "deploy/serve/folder_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/serve/http_client.h"
#include "tests/lib/suite.h"

struct fixture {
    char folder[64];
    struct http_server *server_0;
    struct folder_pages pages;
    struct http_answer answer; /* The last. */
};

/* A server 0 that says what it was asked for. */
static struct http_answer echo(void *context, const struct http_request *request)
{
    char *text = NULL;
    (void)context;
    if (asprintf(&text, "%s %u", request->path, (unsigned)http_number(request, "from", 0)) < 0)
        text = NULL;
    return (struct http_answer){200, "text/plain", text, strlen(text)};
}

static void open_fixture(struct fixture *f)
{
    struct error error;
    struct http_place place = {.address = "127.0.0.1"};
    *f = (struct fixture){.folder = "/tmp/syncopate-pages-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    ck_assert_int_eq(http_server_start(&f->server_0, &place, NULL, echo, NULL, &error), STATUS_OK);
    f->pages = (struct folder_pages){
        .folder = f->folder, .server_0_port = http_server_place(f->server_0)->port, .trace = -1};
}

static void close_fixture(struct fixture *f)
{
    char command[128];
    http_server_stop(&f->server_0);
    free(f->answer.body);
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    ck_assert_int_eq(system(command), 0);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static unsigned get(struct fixture *f, const char *path)
{
    const struct http_request request = {.path = path};
    free(f->answer.body);
    f->answer = folder_pages_answer(&f->pages, &request);
    return f->answer.code;
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

static bool has(const struct fixture *f, const char *text)
{
    return memmem(f->answer.body, f->answer.bytes, text, strlen(text)) != NULL;
}

TEST(server_0_is_asked_how_the_job_is_and_for_files_that_are_not_here)
{
    ck_assert_uint_eq(get(f, "/state"), 200);
    ck_assert(has(f, "/state 0"));
    ck_assert_uint_eq(get(f, "/events"), 200);
    ck_assert(has(f, "/events 0"));
    put(f, "events.jsonl", "{}\n");
    ck_assert_uint_eq(get(f, "/events"), 200);
    ck_assert_uint_eq(f->answer.bytes, 3);
    static const char *const others[] = {"/secret", "/state/", "/state HTTP/1.0\r\nX: y",
                                         "/points.csv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_uint_eq(get(f, others[i]), 0);
    http_server_stop(&f->server_0);
    ck_assert_uint_eq(get(f, "/state"), 503);
    ck_assert_uint_eq(get(f, "/events"), 200);
}

TEST(a_folder_alone_has_a_state_that_is_over)
{
    f->pages.server_0_port = 0;
    put(f, "run.json", "{\"state\": \"done\"}");
    put(f, "events.jsonl", "{}\n");
    ck_assert_uint_eq(get(f, "/state"), 200);
    ck_assert(has(f, "\"kind\":\"run\"") && has(f, "\"live\":false") && has(f, "\"events\":3"));
    ck_assert(has(f, "\"run\":{\"state\":\"done\"}") && has(f, "\"members\":[]"));
    ck_assert_uint_eq(get(f, "/metrics"), 0);
    ck_assert_uint_eq(get(f, "/spans"), 0);
}

TEST(the_page_asks_for_its_data)
{
    ck_assert_uint_eq(get(f, "/"), 200);
    ck_assert(has(f, "id=\"data\">{}</script>") && !has(f, "@DATA@"));
    ck_assert_uint_le(f->answer.bytes, 75000); /* What a page ships beside its data. */
}

TEST(what_is_no_answer_is_none)
{
    f->answer = http_client_get(f->pages.server_0_port, "/x", "text/plain");
    ck_assert_uint_eq(f->answer.code, 200);
    uint16_t port = f->pages.server_0_port;
    http_server_stop(&f->server_0);
    ck_assert_uint_eq(http_client_get(port, "/x", "text/plain").code, 0);
}

int main(void)
{
    return suite_run("folder pages", NULL);
}
