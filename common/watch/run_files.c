/* run_files.c - which file a path means, and what of it is given. */

#include "common/watch/run_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/disk.h"

#define EVENTS   "events.jsonl"
#define LOG_NAME 32 /* "worker-1023.log" */

static const char *const names[] = {"run.json",    "virtual.json", "compare.json", "points.csv",
                                    "methods.txt", "steps.json",   "spans.json",   "table.txt"};

static const char *type_of(const char *name)
{
    const char *end = strrchr(name, '.');
    return strcmp(end, ".json") == 0  ? "application/json"
           : strcmp(end, ".csv") == 0 ? "text/csv; charset=utf-8"
                                      : "text/plain; charset=utf-8";
}

static bool path_of(const char *folder, const char *name, char path[DISK_PATH_MAX])
{
    return snprintf(path, DISK_PATH_MAX, "%s/%s", folder, name) < DISK_PATH_MAX;
}

static struct http_answer whole_file(const char *path)
{
    struct http_answer answer = {.type = type_of(path)};
    void *data;
    struct error ignored;
    if (disk_posix.read_file(NULL, path, RUN_FILES_MAX, &data, &answer.bytes, &ignored) ==
        STATUS_OK) {
        answer.body = data;
        answer.code = 200;
    }
    return answer;
}

/* What there is from `from` on, at most `most`; NULL body: no memory. False: there is no such file. */
static bool read_from(const char *path, uint64_t from, uint64_t bytes, size_t most,
                      struct http_answer *answer)
{
    struct error ignored;
    answer->bytes = bytes - from < most ? (size_t)(bytes - from) : most;
    answer->body = malloc(answer->bytes + 1);
    answer->code = 200;
    if (answer->body == NULL || answer->bytes == 0 ||
        disk_posix.read_range(NULL, path, from, answer->body, answer->bytes, &ignored) == STATUS_OK)
        return true;
    free(answer->body);
    *answer = (struct http_answer){0};
    return false;
}

static bool size_of(const char *path, uint64_t *bytes)
{
    size_t count;
    char start[1];
    struct error ignored;
    return disk_posix.read_start(NULL, path, start, sizeof start, &count, bytes, &ignored) ==
           STATUS_OK;
}

/* The last line may not be whole yet. */
static struct http_answer events(const char *path, uint64_t from)
{
    struct http_answer answer = {.type = "application/x-ndjson"};
    uint64_t bytes;
    if (!size_of(path, &bytes))
        return answer;
    if (from > bytes) {
        answer.code = 416;
        answer.body = strdup("");
        return answer;
    }
    if (!read_from(path, from, bytes, HTTP_ANSWER_MAX, &answer) || answer.body == NULL)
        return answer;
    while (answer.bytes > 0 && answer.body[answer.bytes - 1] != '\n')
        answer.bytes--;
    return answer;
}

static struct http_answer last_lines(const char *path, uint64_t count)
{
    struct http_answer answer = {.type = type_of(path)};
    uint64_t bytes, lines = 0;
    if (!size_of(path, &bytes) ||
        !read_from(path, bytes > HTTP_ANSWER_MAX ? bytes - HTTP_ANSWER_MAX : 0, bytes,
                   HTTP_ANSWER_MAX, &answer) ||
        answer.body == NULL)
        return answer;
    size_t at = answer.bytes;
    while (at > 0 && (at == answer.bytes || answer.body[at - 1] != '\n' || ++lines < count))
        at--;
    answer.bytes -= at;
    memmove(answer.body, answer.body + at, answer.bytes);
    return answer;
}

/* "worker-0.log": nothing that leads elsewhere. */
static bool is_log(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz-0123456789");
    return length > 0 && length < LOG_NAME && strcmp(name + length, ".log") == 0;
}

struct http_answer run_files_answer(const char *folder, const struct http_request *request)
{
    char path[DISK_PATH_MAX];
    const char *name = request->path + 1;
    if (strcmp(name, "events") == 0 && path_of(folder, EVENTS, path))
        return events(path, http_number(request, "from", 0));
    if (strncmp(name, "logs/", 5) == 0 && is_log(name + 5) && path_of(folder, name, path))
        return last_lines(path, http_number(request, "tail", 50));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0 && path_of(folder, name, path))
            return whole_file(path);
    return (struct http_answer){0};
}

uint64_t run_files_events(const char *folder)
{
    char path[DISK_PATH_MAX];
    uint64_t bytes;
    return path_of(folder, EVENTS, path) && size_of(path, &bytes) ? bytes : 0;
}

bool run_files_has_logs(const char *folder)
{
    char path[DISK_PATH_MAX];
    return path_of(folder, "logs", path) && access(path, X_OK) == 0;
}
