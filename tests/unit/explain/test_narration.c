/* test_narration.c - a process log as a story: everything once, in the order of time, whom it reached, and what
 * is alike put together. */
/* promises: explain */

#include "deploy/explain/narration.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/suite.h"

struct scene {
    int file;
    struct process_log *worker, *server;
};

static struct scene scene_open(void)
{
    char where[32];
    struct error error;
    struct scene scene = {.file = memfd_create("log", MFD_CLOEXEC)};
    snprintf(where, sizeof where, "fd:%d", scene.file);
    ck_assert_int_eq(process_log_open(&scene.worker, where, ROLE_WORKER, 0, &error), STATUS_OK);
    ck_assert_int_eq(process_log_open(&scene.server, where, ROLE_PS, 1, &error), STATUS_OK);
    return scene;
}

/* What is told; the caller frees it. The scene is closed. */
static char *tell(struct scene *scene, bool singly, enum status expected)
{
    char *text = NULL;
    size_t size;
    struct error error;
    struct job job = {.mode = MODE_SYNC, .optimizer.name = "adam", .server_count = 1};
    struct partition partition = {.chunk_count = 8};
    struct narration narration = {&job, &partition, singly};
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(narration_print(out, &narration, scene->file, &error), expected);
    fclose(out);
    process_log_close(&scene->worker);
    process_log_close(&scene->server);
    close(scene->file);
    return text;
}

static void say(struct process_log *log, const struct event *event)
{
    const struct listener listener = process_log_listener(log);
    listener.take(listener.context, event);
}

/* At what time a chunk is asked for, and whether the server hears it and answers. */
static void ask(struct scene *scene, uint64_t time_ns, uint32_t chunk, bool heard, bool answered)
{
    struct message pull = {.kind = MESSAGE_EXCHANGE,
                           .role = ROLE_WORKER,
                           .request = 10 + chunk,
                           .exchange = {.chunk = chunk, .want = true, .newest = true}};
    process_log_said(scene->worker, time_ns, true, 1, &pull, 0, HERE);
    if (heard)
        process_log_heard(scene->server, false, 500, &pull, 0);
    struct message result = {.kind = MESSAGE_RESULT,
                             .role = ROLE_PS,
                             .index = 1,
                             .request = 10 + chunk,
                             .result = {.chunk = chunk, .parameters = true}};
    if (!answered)
        return;
    process_log_said(scene->server, clock_now_ns(), false, 500, &result, 64, HERE);
    process_log_heard(scene->worker, true, 1, &result, 64);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

/* Where lines were broken there is one blank. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++, to++) {
        bool broken = *from == '\n';
        *to = broken ? ' ' : *from;
        from += broken ? strspn(from + 1, " ") : 0;
    }
    *to = '\0';
}

TEST_PLAIN(what_is_alike_is_told_once_and_counted_with_its_chunks)
{
    struct scene scene = scene_open();
    uint64_t now_ns = clock_now_ns();
    for (uint32_t chunk = 0; chunk < 8; chunk++)
        if (chunk != 5)
            ask(&scene, now_ns + chunk, chunk, true, true);
    char *text = tell(&scene, false, STATUS_OK);
    ck_assert_uint_eq(count_of(text, "worker/0 -> ps/1  EXCHANGE"), 1);
    ck_assert_uint_eq(count_of(text, "ps/1 -> worker/0  RESULT"), 1);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    join_lines(text);
    ck_assert_uint_eq(count_of(text, "And 6 more like it, for chunks 1 to 4, 6 and 7."), 2);
    ck_assert_ptr_nonnull(strstr(text, "14 messages in all: 7 EXCHANGE, 7 RESULT."));
    ck_assert(strstr(text, "EXCHANGE") < strstr(text, "RESULT"));
    ck_assert_ptr_null(strstr(text, "not heard"));
    free(text);
}

/* Told with the first answer it would stand before its question. */
TEST_PLAIN(what_comes_after_something_else_of_its_chunk_is_told_there)
{
    struct scene scene = scene_open();
    for (uint32_t i = 0; i < 5; i++) /* Chunks 0 to 2, and 0 and 1 once more. */
        ask(&scene, clock_now_ns(), i % 3, true, true);
    char *text = tell(&scene, false, STATUS_OK);
    ck_assert_uint_eq(count_of(text, "worker/0 -> ps/1  EXCHANGE"), 2);
    ck_assert_uint_eq(count_of(text, "ps/1 -> worker/0  RESULT"), 2);
    join_lines(text);
    ck_assert_uint_eq(count_of(text, "And 2 more like it, for chunks 1 and 2."), 2);
    ck_assert_uint_eq(count_of(text, "And 1 more like it, for chunk 1."), 2);
    free(text);
}

TEST_PLAIN(singly_each_is_told_with_its_fields)
{
    struct scene scene = scene_open();
    uint64_t now_ns = clock_now_ns();
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        ask(&scene, now_ns + chunk, chunk, true, true);
    char *text = tell(&scene, true, STATUS_OK);
    ck_assert_uint_eq(count_of(text, "worker/0 -> ps/1  EXCHANGE"), 4);
    ck_assert_uint_eq(count_of(text, "ps/1 -> worker/0  RESULT"), 4);
    join_lines(text);
    ck_assert_ptr_nonnull(strstr(text, "exchange chunk=3 want newest r=13 worker/0, heard"));
    ck_assert_ptr_null(strstr(text, "more like it"));
    free(text);
}

TEST_PLAIN(what_nobody_heard_is_told_so_and_whom_nobody_knows_has_no_name)
{
    struct scene scene = scene_open();
    ask(&scene, clock_now_ns(), 0, false, true);
    char *text = tell(&scene, false, STATUS_OK);
    join_lines(text);
    ck_assert_ptr_nonnull(strstr(text, "(It was not received.)"));
    ck_assert_ptr_nonnull(strstr(text, "ps/1 -> ?  RESULT")); /* Nobody has said who peer 500 is. */
    free(text);
}

TEST_PLAIN(a_damaged_end_is_an_error_and_what_comes_before_is_told)
{
    struct scene scene = scene_open();
    ask(&scene, clock_now_ns(), 0, true, false);
    ck_assert_int_eq(pwrite(scene.file, "x", 1, lseek(scene.file, 0, SEEK_END)), 1);
    char *text = tell(&scene, false, STATUS_INVALID);
    ck_assert_uint_eq(count_of(text, "worker/0 -> ps/1  EXCHANGE"), 1);
    free(text);
}

/* A narration has an end, however long the run goes on. */
TEST_PLAIN(what_is_too_long_is_cut_and_that_is_said)
{
    struct scene scene = scene_open();
    ask(&scene, clock_now_ns(), 0, false, false);
    struct event cut = {.kind = EVENT_CUT, .chunk = 3, .step = 1};
    for (unsigned i = 0; i < 2 * PROCESS_LOG_BYTES_MAX / sizeof cut; i++)
        say(i % 2 ? scene.server : scene.worker, &cut);
    off_t bytes = lseek(scene.file, 0, SEEK_END);
    ck_assert(bytes >= PROCESS_LOG_BYTES_MAX && bytes < PROCESS_LOG_BYTES_MAX + 4096);
    char *text = tell(&scene, false, STATUS_OK);
    join_lines(text);
    ck_assert_ptr_nonnull(strstr(text, "is not shown: there are more messages than the 12.0 MiB"));
    ck_assert_ptr_nonnull(strstr(text, "1 message up to there: 1 EXCHANGE."));
    ck_assert_ptr_null(strstr(text, "not heard")); /* Who knows. */
    free(text);
}

TEST_PLAIN(who_is_lost_is_told)
{
    struct scene scene = scene_open();
    say(scene.server, &(struct event){.kind = EVENT_LOST_WORKER, .index = 3});
    say(scene.server, &(struct event){.kind = EVENT_LOST_SERVER, .index = 1});
    char *text = tell(&scene, false, STATUS_OK);
    join_lines(text);
    ck_assert_ptr_nonnull(strstr(text, "does without worker/3, which is lost: "));
    ck_assert_ptr_nonnull(strstr(text, "has lost ps/1: "));
    free(text);
}

int main(void)
{
    return suite_run("narration", NULL);
}
