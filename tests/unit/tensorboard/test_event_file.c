/* test_event_file.c - names that sort as files were begun, whole records on a disk that is full, and what
 * stands in the place of a file. */

#include "common/tensorboard/event_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define NOW 1700000000.5

struct scene {
    char folder[DISK_PATH_MAX];
    struct event_file file;
    struct error error;
};

static void begin(struct scene *s, double now)
{
    ck_assert_msg(event_file_open(&s->file, &disk_posix, s->folder, "here.7", now, &s->error) ==
                      STATUS_OK,
                  "%s", s->error.text);
}

static const char *name(const struct scene *s)
{
    return strrchr(s->file.path, '/') + 1;
}

static uint64_t bytes_of(const char *path)
{
    uint64_t bytes;
    ck_assert_int_eq(disk_posix.file_bytes(NULL, path, &bytes, NULL), STATUS_OK);
    return bytes;
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    scratch_path(s->folder, "tb/run");
}

static void close_scene(struct scene *s)
{
    event_file_close(&s->file);
    event_file_close(&s->file); /* Once more is no harm. */
}

TEST(a_file_is_named_by_its_second_and_begins_with_its_version)
{
    ck_assert(!event_file_is_open(&s->file));
    begin(s, NOW);
    ck_assert(event_file_is_open(&s->file));
    ck_assert_str_eq(name(s), "events.out.tfevents.1700000000.here.7");
    ck_assert_uint_eq(bytes_of(s->file.path), 12 + 24 + 4);
}

/* TensorBoard reads them in the order of their names. */
TEST(a_later_file_sorts_behind_all_that_are_there_whatever_the_clock_says)
{
    char earlier[DISK_PATH_MAX];
    double clocks[] = {NOW, NOW, NOW - 3600, NOW + 0.4, NOW + 1000};
    earlier[0] = '\0';
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        begin(s, clocks[i]);
        ck_assert_int_gt(strcmp(name(s), earlier), 0);
        strcpy(earlier, name(s));
        event_file_close(&s->file);
    }
    ck_assert_str_eq(earlier, "events.out.tfevents.1700001000.here.7");
}

TEST(what_has_another_kind_of_name_does_not_count)
{
    char path[DISK_PATH_MAX];
    ck_assert_int_eq(disk_posix.make_directory(NULL, s->folder, NULL), STATUS_OK);
    static const char *const names[] = {"events.out.tfevents.17", "events.out.tfevents.99999999991",
                                        "notes"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, names[i]);
        scratch_write(path, "x", 1);
    }
    begin(s, NOW);
    ck_assert_str_eq(name(s), "events.out.tfevents.1700000000.here.7");
}

TEST(there_is_an_end_of_names)
{
    char path[DISK_PATH_MAX];
    ck_assert_int_eq(disk_posix.make_directory(NULL, s->folder, NULL), STATUS_OK);
    snprintf(path, sizeof path, "%s/events.out.tfevents.9999999999.there", s->folder);
    scratch_write(path, "x", 1);
    ck_assert_int_eq(event_file_open(&s->file, &disk_posix, s->folder, "here.7", NOW, &s->error),
                     STATUS_EXISTS);
    ck_assert(!event_file_is_open(&s->file));
}

/* Nothing that a link names is written to, nor anything that is there. */
TEST(a_link_in_the_place_of_a_file_is_left_alone)
{
    char path[DISK_PATH_MAX], target[DISK_PATH_MAX];
    size_t bytes;
    ck_assert_int_eq(disk_posix.make_directory(NULL, s->folder, NULL), STATUS_OK);
    scratch_path(target, "precious");
    scratch_write(target, "mine", 4);
    snprintf(path, sizeof path, "%s/events.out.tfevents.1700000000.here.7", s->folder);
    ck_assert_int_eq(symlink(target, path), 0);
    begin(s, NOW);
    ck_assert_str_eq(name(s), "events.out.tfevents.1700000001.here.7");
    char *text = scratch_read(target, &bytes);
    ck_assert_str_eq(text, "mine");
    free(text);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_record_that_does_not_fit_leaves_nothing_behind)
{
    const struct board_event event = {.step = 3, .kind = BOARD_START};
    signal(SIGXFSZ, SIG_IGN);
    begin(s, NOW);
    uint64_t whole = bytes_of(s->file.path);
    limit_files(whole + 10);
    enum status status = event_file_add(&s->file, &event, &s->error);
    limit_files(RLIM_INFINITY); /* What check writes has its limit, too. */
    ck_assert_int_eq(status, STATUS_IO);
    ck_assert_ptr_nonnull(strstr(s->error.text, s->file.path));
    ck_assert_uint_eq(bytes_of(s->file.path), whole);
    ck_assert(!s->file.torn);
    ck_assert_int_eq(event_file_add(&s->file, &event, &s->error), STATUS_OK);
    ck_assert_uint_gt(bytes_of(s->file.path), whole);
}

TEST(a_file_that_cannot_be_begun_is_not_there)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_files(10);
    enum status status =
        event_file_open(&s->file, &disk_posix, s->folder, "here.7", NOW, &s->error);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(status, STATUS_IO);
    ck_assert(!event_file_is_open(&s->file));
    begin(s, NOW);
    ck_assert_str_eq(name(s), "events.out.tfevents.1700000000.here.7"); /* Its place was free. */
}

TEST(a_folder_that_is_a_file_is_none)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, "tb");
    scratch_write(path, "x", 1);
    ck_assert_int_ne(event_file_open(&s->file, &disk_posix, s->folder, "here.7", NOW, &s->error),
                     STATUS_OK);
    ck_assert_ptr_nonnull(strstr(s->error.text, path));
    ck_assert(!event_file_is_open(&s->file));
}

int main(void)
{
    return suite_run("event_file", scratch_add);
}
