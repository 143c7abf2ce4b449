/* test_event_log.c - events: appended line by line, cut off by crashes, damaged, and written to a
 * disk that is full. */

#include "common/store/event_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define EVENT(name) "{\"time\": 1.000000, \"event\": \"" name "\"}\n"

/* A run directory, and the paths of its log and of what is set aside first. */
struct scene {
    char out[DISK_PATH_MAX], path[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    struct event_log log;
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scratch_path(scene->out, "run");
    scratch_path(scene->path, "run/events.jsonl");
    scratch_path(scene->aside, "run/events.jsonl.damaged-1");
    ck_assert_int_eq(mkdir(scene->out, 0777), 0);
}

static void open_log(struct scene *scene)
{
    ck_assert_msg(event_log_open(&scene->log, &disk_posix, scene->out, &scene->error) == STATUS_OK,
                  "%s", scene->error.text);
}

/* Compare the whole log. */
static void expect(const struct scene *scene, const char *text)
{
    size_t bytes;
    char *found = scratch_read(scene->path, &bytes);
    ck_assert_str_eq(found, text);
    free(found);
}

TEST_PLAIN(events_are_appended_line_by_line)
{
    struct scene s;
    scene_init(&s);
    for (int session = 0; session < 2; session++) {
        open_log(&s);
        ck_assert_str_eq(s.log.remark.text, "");
        event_log_add(&s.log, 1, "start", "\"step\": 3");
        event_log_add(&s.log, 2.5, "end", NULL);
        event_log_close(&s.log);
    }
#define SESSION                                                                                    \
    "{\"time\": 1.000000, \"event\": \"start\", \"step\": 3}\n"                                    \
    "{\"time\": 2.500000, \"event\": \"end\"}\n"
    expect(&s, SESSION SESSION);
    ck_assert(!scratch_has(s.aside));
}

TEST_PLAIN(what_a_crash_left_of_a_line_is_dropped)
{
    static const char *const left[] = {"", "{\"time\": 3, \"eve", "x"};
    struct scene s;
    scene_init(&s);
    for (size_t i = 0; i < 3; i++) {
        char text[200];
        snprintf(text, sizeof text, EVENT("start") "%s", left[i]);
        scratch_write(s.path, text, strlen(text));
        open_log(&s);
        ck_assert_str_eq(s.log.remark.text, "");
        event_log_add(&s.log, 1, "end", NULL);
        event_log_close(&s.log);
        expect(&s, EVENT("start") EVENT("end"));
    }
    char zeros[5000] = {0}; /* As some file systems leave it. */
    scratch_write(s.path, zeros, sizeof zeros);
    open_log(&s);
    event_log_close(&s.log);
    expect(&s, "");
}

/* It is kept as it was, and the new log says where it is. */
static void expect_set_aside(struct scene *s, const char *text, size_t bytes)
{
    open_log(s);
    ck_assert_msg(strstr(s->log.remark.text, s->aside) != NULL, "%s", s->log.remark.text);
    event_log_add(&s->log, 1, "end", NULL);
    event_log_close(&s->log);
    expect(s, "{\"time\": 0.000000, \"event\": \"set_aside\", \"file\": "
              "\"events.jsonl.damaged-1\"}\n" EVENT("end"));
    size_t kept_bytes;
    char *kept = scratch_read(s->aside, &kept_bytes);
    ck_assert_uint_eq(kept_bytes, bytes);
    ck_assert(memcmp(kept, text, bytes) == 0);
    free(kept);
    ck_assert_int_eq(unlink(s->aside), 0);
}

TEST_PLAIN(a_damaged_log_is_set_aside)
{
    static const char *const damaged[] = {
        "nonsense\n",
        EVENT("start") "{\"time\": 1,\n" EVENT("end"),
        EVENT("start") "{\"time\": 1, \"event\": \"sta\001t\"}\n" EVENT("end"),
        EVENT("start") "\377\376\n",
    };
    struct scene s;
    scene_init(&s);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        scratch_write(s.path, damaged[i], strlen(damaged[i]));
        expect_set_aside(&s, damaged[i], strlen(damaged[i]));
    }
}

TEST_PLAIN(a_line_longer_than_any_event_is_damage)
{
    enum { LONG = EVENT_LOG_LINE_MAX + 100 };
    static char text[LONG + 1];
    struct scene s;
    scene_init(&s);
    memset(text, ' ', LONG);
    memcpy(text, "{\"a\": 1", 7);
    text[LONG - 1] = '}';
    scratch_write(s.path, text, LONG); /* No line ends. */
    expect_set_aside(&s, text, LONG);
    text[LONG] = '\n';
    scratch_write(s.path, text, LONG + 1);
    expect_set_aside(&s, text, LONG + 1);
}

/* Of any size, and whatever is in it. */
TEST_PLAIN(opening_takes_a_moment_whatever_is_there)
{
    static const off_t sizes[] = {64 << 20, (off_t)1 << 40};
    struct scene s;
    scene_init(&s);
    for (size_t i = 0; i < 2; i++) {
        double began = clock_now_seconds();
        scratch_write(s.path, "", 0);
        ck_assert_int_eq(truncate(s.path, sizes[i]), 0);
        open_log(&s);
        event_log_close(&s.log);
        ck_assert_msg(clock_now_seconds() - began < 10, "%g s", clock_now_seconds() - began);
        struct stat about;
        ck_assert_int_eq(stat(s.aside, &about), 0);
        ck_assert_int_eq(about.st_size, sizes[i]);
        ck_assert_int_eq(unlink(s.aside), 0);
    }
}

TEST_PLAIN(what_lies_further_back_is_not_looked_at)
{
    struct scene s;
    scene_init(&s);
    FILE *file = fopen(s.path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("nonsense\n", file);
    while (ftell(file) < (long)EVENT_LOG_CHECKED_BYTES + 1000)
        fputs(EVENT("progress"), file);
    ck_assert_int_eq(fclose(file), 0);
    open_log(&s);
    ck_assert_str_eq(s.log.remark.text, "");
    event_log_close(&s.log);
}

static void put_link(const struct scene *s)
{
    char outside[DISK_PATH_MAX];
    scratch_path(outside, "outside");
    scratch_write(outside, EVENT("start"), strlen(EVENT("start")));
    ck_assert_int_eq(symlink(outside, s->path), 0);
}

static void put_dangling_link(const struct scene *s)
{
    ck_assert_int_eq(symlink("nowhere", s->path), 0);
}

static void put_pipe(const struct scene *s)
{
    ck_assert_int_eq(mkfifo(s->path, 0666), 0);
}

static void put_folder(const struct scene *s)
{
    ck_assert_int_eq(mkdir(s->path, 0777), 0);
}

TEST_PLAIN(what_is_no_file_is_set_aside_and_nothing_is_written_through_a_link)
{
    static void (*const put[])(const struct scene *) = {put_link, put_dangling_link, put_pipe,
                                                        put_folder};
    static const char *const words[] = {"a symbolic link", "a symbolic link", "a pipe", "a folder"};
    struct scene s;
    scene_init(&s);
    char aside[DISK_PATH_MAX], name[64], outside[DISK_PATH_MAX], text[256];
    for (int i = 0; i < 4; i++) {
        ck_assert(i == 0 || unlink(s.path) == 0);
        put[i](&s);
        ck_assert(!event_log_is_unused(&disk_posix, s.out));
        ck_assert_int_eq(event_log_look(&disk_posix, s.out, &s.error), STATUS_OK);
        open_log(&s);
        snprintf(name, sizeof name, "run/events.jsonl.damaged-%d", i + 1);
        scratch_path(aside, name);
        ck_assert_ptr_nonnull(strstr(s.log.remark.text, words[i]));
        ck_assert_ptr_nonnull(strstr(s.log.remark.text, aside));
        ck_assert(scratch_has(aside));
        event_log_close(&s.log);
        snprintf(text, sizeof text,
                 "{\"time\": 0.000000, \"event\": \"set_aside\", \"file\": "
                 "\"events.jsonl.damaged-%d\"}\n",
                 i + 1);
        expect(&s, text);
    }
    size_t bytes;
    scratch_path(outside, "outside");
    char *found = scratch_read(outside, &bytes);
    ck_assert_str_eq(found, EVENT("start"));
    free(found);
}

TEST_PLAIN(one_process_has_it)
{
    struct scene s;
    struct event_log second;
    scene_init(&s);
    ck_assert(event_log_is_unused(&disk_posix, s.out));
    open_log(&s);
    ck_assert(event_log_is_unused(&disk_posix, s.out));
    ck_assert_int_eq(event_log_look(&disk_posix, s.out, &s.error), STATUS_EXISTS);
    ck_assert_int_eq(event_log_open(&second, &disk_posix, s.out, &s.error), STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(s.error.text, "another run is using"));
    event_log_add(&s.log, 0, "start", NULL);
    ck_assert(!event_log_is_unused(&disk_posix, s.out));
    event_log_close(&s.log);
    ck_assert_int_eq(event_log_look(&disk_posix, s.out, &s.error), STATUS_OK);
    ck_assert_int_eq(event_log_open(&second, &disk_posix, s.out, &s.error), STATUS_OK);
    event_log_close(&second);
}

/* The lock is on what is at the path, not on what has been set aside. */
TEST_PLAIN(a_damaged_log_that_is_open_cannot_be_taken_over)
{
    struct scene s;
    struct event_log second;
    scene_init(&s);
    open_log(&s);
    event_log_add(&s.log, 0, "start", "\"nonsense");
    ck_assert_int_eq(event_log_open(&second, &disk_posix, s.out, &s.error), STATUS_EXISTS);
    ck_assert(!scratch_has(s.aside));
    event_log_close(&s.log);
}

int main(void)
{
    return suite_run("event_log", scratch_add);
}
