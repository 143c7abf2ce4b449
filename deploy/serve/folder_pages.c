/* folder_pages.c - what is asked of whom: the folder, the trace, server 0. */

#include "deploy/serve/folder_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/store/event_log.h"
#include "common/trace/recorder.h"
#include "common/watch/exposition.h"
#include "common/watch/page_text.h"
#include "common/watch/run_files.h"
#include "deploy/launcher/teaching.h"
#include "deploy/serve/http_client.h"
#include "deploy/trace/trace.h"
#include "deploy/trace/windows.h"

#define PLAIN       "text/plain; charset=utf-8"
#define JSON        "application/json"
#define SPANS_STEPS 20

/* The paths of server 0 that are asked on: no other text goes there. */
static const struct {
    const char *path, *type;
    bool first; /* Before the folder is looked at. */
} asked[] = {{"/state", JSON, true},     {"/metrics", EXPOSITION_TYPE, true},
             {"/healthz", PLAIN, true},  {"/readyz", PLAIN, true},
             {"/run.json", JSON, false}, {"/events", "application/x-ndjson", false}};

static struct http_answer ask_server_0(const struct folder_pages *pages,
                                       const struct http_request *request, bool first)
{
    char path[64];
    struct http_answer answer = {0};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (strcmp(request->path, asked[i].path) == 0 && asked[i].first == first) {
            snprintf(path, sizeof path, "%s?from=%" PRIu64, asked[i].path,
                     http_number(request, "from", 0));
            answer = http_client_get(pages->server_0_port, path, asked[i].type);
            if (answer.code == 0)
                answer = (struct http_answer){503, PLAIN, strdup(""), 0};
        }
    return answer;
}

static struct http_answer of_writer(struct json_writer *writer)
{
    if (writer->failed)
        json_writer_free(writer);
    return (struct http_answer){200, JSON, writer->text, writer->bytes};
}

/* Of a folder alone. */
static struct http_answer state(const struct folder_pages *pages)
{
    char path[DISK_PATH_MAX + 16];
    struct json *root = NULL;
    struct lock_holder holder;
    struct json_writer writer;
    snprintf(path, sizeof path, "%s/run.json", pages->folder);
    bool run = json_read_file(&disk_posix, path, RUN_FILES_MAX, &root, NULL) == STATUS_OK;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "format", "syncopate-state-1");
    json_writer_text(&writer, "kind", run ? "run" : "comparison");
    json_writer_text(&writer, "name", pages->folder);
    json_writer_bool(&writer, "live", run && event_log_is_held(pages->folder, &holder));
    json_writer_null(&writer, "time");
    if (run)
        json_write(root, &writer, "run");
    json_writer_u64(&writer, "events", run_files_events(pages->folder));
    json_writer_array(&writer, "members");
    json_writer_end(&writer);
    json_writer_end(&writer);
    json_release(&root);
    return of_writer(&writer);
}

/* Of the processes' memory while the run goes on, else of the file that is left of it. */
static enum status read_spans(const struct folder_pages *pages, uint32_t steps, struct spans *spans)
{
    char path[DISK_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/" TRACE_SPANS_NAME, pages->folder);
    if (pages->trace < 0)
        return spans_read(spans, path, steps, NULL);
    enum status status = spans_add(spans, pages->trace, "--trace", NULL);
    return status == STATUS_OK ? spans_finish(spans, steps, NULL) : status;
}

static struct http_answer spans_of(const struct folder_pages *pages, uint64_t steps)
{
    struct spans spans;
    struct json_writer writer;
    json_writer_init(&writer, true);
    spans_init(&spans);
    steps = steps < TRACE_STEPS_MAX ? steps : TRACE_STEPS_MAX;
    bool there = steps > 0 && read_spans(pages, (uint32_t)steps, &spans) == STATUS_OK;
    if (there)
        windows_write_json(&writer, NULL, &spans);
    else
        json_writer_free(&writer);
    spans_free(&spans);
    return there ? of_writer(&writer) : (struct http_answer){0};
}

static struct http_answer teach(const struct folder_pages *pages, const char *path)
{
    char text[TEACHING_TEXT_MAX] = "";
    unsigned code = teaching_ask(pages->teaching, path, text);
    return (struct http_answer){code, PLAIN, strdup(text), strlen(text)};
}

struct http_answer folder_pages_answer(void *context, const struct http_request *request)
{
    const struct folder_pages *pages = context;
    struct http_answer answer = {0};
    if (request->posts)
        return pages->teaching != NULL ? teach(pages, request->path) : answer;
    if (strcmp(request->path, "/") == 0)
        return page_text_live();
    if (strcmp(request->path, "/teach") == 0 && pages->teaching != NULL)
        return (struct http_answer){200, JSON, strdup("true"), 4};
    if (strcmp(request->path, "/spans") == 0)
        return spans_of(pages, http_number(request, "steps", SPANS_STEPS));
    if (pages->server_0_port != 0)
        answer = ask_server_0(pages, request, true);
    else if (strcmp(request->path, "/state") == 0)
        return state(pages);
    if (answer.code == 0)
        answer = run_files_answer(pages->folder, request);
    if (answer.code == 0 && pages->server_0_port != 0)
        answer = ask_server_0(pages, request, false);
    return answer;
}
