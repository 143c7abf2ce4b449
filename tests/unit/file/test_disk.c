/* test_disk.c - the real disk: what is written is whole, replaces what was there, follows no link
 * and waits for nothing. */
/* promises: model-file */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static const struct disk *const disk = &disk_posix;

static enum status write_text(const char *path, const char *text, struct error *error)
{
    const struct disk_piece piece = {text, strlen(text)};
    return disk->write_file(disk->context, path, &piece, 1, error);
}

TEST_PLAIN(many_pieces_arrive_in_order)
{
    enum { PIECES = 1000 };
    char path[DISK_PATH_MAX];
    scratch_path(path, "pieces");
    static uint32_t numbers[PIECES];
    static struct disk_piece pieces[2 * PIECES];
    for (uint32_t i = 0; i < PIECES; i++) {
        numbers[i] = i;
        pieces[2 * i] = (struct disk_piece){&numbers[i], sizeof numbers[i]};
        pieces[2 * i + 1] = (struct disk_piece){NULL, 0};
    }
    ck_assert_int_eq(disk->write_file(NULL, path, pieces, 2 * PIECES, NULL), STATUS_OK);

    void *data;
    size_t bytes;
    ck_assert_int_eq(disk->read_file(NULL, path, sizeof numbers, &data, &bytes, NULL), STATUS_OK);
    ck_assert_uint_eq(bytes, sizeof numbers);
    ck_assert_mem_eq(data, numbers, sizeof numbers);
    free(data);
}

static unsigned mode_of(const char *path)
{
    struct stat about;
    ck_assert_int_eq(lstat(path, &about), 0);
    return about.st_mode & 0777;
}

TEST_PLAIN(the_umask_decides_who_may_read)
{
    static const struct {
        mode_t mask;
        unsigned file, directory;
    } cases[] = {{022, 0644, 0755}, {077, 0600, 0700}, {0, 0666, 0777}};
    char directory[DISK_PATH_MAX], path[DISK_PATH_MAX], note[DISK_PATH_MAX], log[DISK_PATH_MAX];
    char aside[DISK_PATH_MAX];
    struct error remark;
    int file;
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        umask(cases[i].mask);
        snprintf(name, sizeof name, "%zu/b", i);
        scratch_path(directory, name);
        snprintf(path, sizeof path, "%.900s/file", directory);
        snprintf(note, sizeof note, "%.900s/note", directory);
        snprintf(log, sizeof log, "%.900s/log", directory);
        ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
        ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
        ck_assert_int_eq(write_text(path, "x", NULL), STATUS_OK);
        ck_assert_int_eq(disk_put_note(note, "x", NULL), STATUS_OK);
        ck_assert_int_eq(disk_open_log(log, &file, aside, &remark), STATUS_OK);
        close(file);
        ck_assert_uint_eq(mode_of(directory), cases[i].directory);
        ck_assert_uint_eq(mode_of(path), cases[i].file);
        ck_assert_uint_eq(mode_of(note), cases[i].file);
        ck_assert_uint_eq(mode_of(log), cases[i].file);
    }
}

/* It is the reader's from the moment it has its name. */
TEST_PLAIN(a_note_is_whole_and_replaced)
{
    char path[DISK_PATH_MAX];
    size_t bytes;
    scratch_path(path, "note");
    ck_assert_int_eq(disk_put_note(path, "a longer first one\n", NULL), STATUS_OK);
    ck_assert_int_eq(disk_put_note(path, "here\n", NULL), STATUS_OK);
    char *text = scratch_read(path, &bytes);
    ck_assert_uint_eq(bytes, 5);
    ck_assert_mem_eq(text, "here\n", 5);
    free(text);
    scratch_path(path, "not-there/note");
    ck_assert_int_ne(disk_put_note(path, "here\n", NULL), STATUS_OK);
}

/* --- what is no file ----------------------------------------------------------------------- */

/* One of each in the scratch directory; a file "target" that the link leads to. */
static const struct {
    const char *name;
    enum disk_kind kind;
    const char *word;
} oddities[] = {
    {"link", DISK_LINK, "a symbolic link"},
    {"dangling", DISK_LINK, "a symbolic link"},
    {"pipe", DISK_PIPE, "a pipe"},
    {"folder", DISK_FOLDER, "a folder"},
    {"socket", DISK_OTHER, "something else"},
};
enum { ODDITIES = sizeof oddities / sizeof *oddities };

static void make_oddities(void)
{
    char target[DISK_PATH_MAX], path[DISK_PATH_MAX];
    scratch_path(target, "target");
    scratch_write(target, "precious", 8);
    scratch_path(path, "link");
    ck_assert_int_eq(symlink(target, path), 0);
    scratch_path(path, "dangling");
    ck_assert_int_eq(symlink("nowhere", path), 0);
    scratch_path(path, "pipe");
    ck_assert_int_eq(mkfifo(path, 0666), 0);
    scratch_path(path, "folder");
    ck_assert_int_eq(mkdir(path, 0777), 0);
    scratch_path(path, "socket");
    ck_assert_int_eq(mknod(path, S_IFSOCK | 0666, 0), 0);
}

static void expect_precious(void)
{
    char path[DISK_PATH_MAX];
    size_t bytes;
    scratch_path(path, "target");
    char *text = scratch_read(path, &bytes);
    ck_assert_str_eq(text, "precious");
    free(text);
    scratch_path(path, "nowhere");
    ck_assert(!scratch_has(path));
}

TEST_PLAIN(what_stands_at_a_path_is_known_without_opening_it)
{
    char path[DISK_PATH_MAX];
    make_oddities();
    for (size_t i = 0; i < ODDITIES; i++) {
        scratch_path(path, oddities[i].name);
        ck_assert_int_eq(disk->look(NULL, path), oddities[i].kind);
        ck_assert_str_eq(disk_kind_name(oddities[i].kind), oddities[i].word);
    }
    scratch_path(path, "target");
    ck_assert_int_eq(disk->look(NULL, path), DISK_FILE);
    scratch_path(path, "nowhere");
    ck_assert_int_eq(disk->look(NULL, path), DISK_NOTHING);
    ck_assert_int_eq(disk->look(NULL, "/dev/null"), DISK_DEVICE);
}

TEST_PLAIN(only_files_are_opened_and_nothing_is_waited_for)
{
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_CREAT | O_APPEND};
    char path[DISK_PATH_MAX];
    int file;
    struct error error;
    make_oddities();
    for (size_t i = 0; i < ODDITIES; i++)
        for (size_t j = 0; j < 4; j++) {
            bool through = flags[j] == O_RDONLY && strcmp(oddities[i].name, "link") == 0;
            bool dangling = strcmp(oddities[i].name, "dangling") == 0;
            scratch_path(path, oddities[i].name);
            enum status status = disk_open(path, flags[j], &file, &error);
            ck_assert_int_eq(status, through                            ? STATUS_OK
                                     : dangling && flags[j] == O_RDONLY ? STATUS_NOT_FOUND
                                                                        : STATUS_IO);
            ck_assert((file >= 0) == through);
            ck_assert(through || strstr(error.text, path) != NULL);
            ck_assert(status != STATUS_IO || strstr(error.text, oddities[i].word) != NULL);
            if (through)
                close(file);
        }
    ck_assert_int_eq(disk_open("/dev/zero", O_RDONLY, &file, &error), STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "a device"));
    expect_precious();
}

TEST_PLAIN(a_written_file_replaces_what_is_there_and_goes_through_no_link)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX], moved[DISK_PATH_MAX];
    struct error error;
    make_oddities();
    scratch_path(path, "file");
    scratch_path(aside, "file.tmp");
    for (size_t i = 0; i < ODDITIES; i++) {
        bool folder = oddities[i].kind == DISK_FOLDER;
        scratch_path(moved, oddities[i].name);
        ck_assert_int_eq(rename(moved, aside), 0); /* Where it is written first. */
        ck_assert_int_eq(write_text(path, "new", &error), folder ? STATUS_IO : STATUS_OK);
        ck_assert(!folder || strstr(error.text, "Is a directory") != NULL);
        ck_assert(scratch_has(aside) == folder);
        ck_assert(!folder || rmdir(aside) == 0);
    }
    make_oddities();
    for (size_t i = 0; i < ODDITIES; i++) {
        bool folder = oddities[i].kind == DISK_FOLDER;
        scratch_path(path, oddities[i].name);
        ck_assert_int_eq(write_text(path, "new", &error), folder ? STATUS_IO : STATUS_OK);
        ck_assert_int_eq(disk->look(NULL, path), folder ? DISK_FOLDER : DISK_FILE);
    }
    expect_precious();
}

TEST_PLAIN(a_log_is_opened_or_what_is_in_its_place_set_aside)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    struct error remark;
    int file;
    make_oddities();
    for (size_t i = 0; i < ODDITIES; i++) {
        scratch_path(path, oddities[i].name);
        ck_assert_int_eq(disk_open_log(path, &file, aside, &remark), STATUS_OK);
        ck_assert_int_eq(write(file, "x", 1), 1);
        close(file);
        ck_assert_ptr_nonnull(strstr(aside, ".damaged-1"));
        ck_assert_int_eq(disk->look(NULL, aside), oddities[i].kind);
        ck_assert_ptr_nonnull(strstr(remark.text, oddities[i].word));
        ck_assert_ptr_nonnull(strstr(remark.text, aside));
        ck_assert_int_eq(disk_open_log(path, &file, aside, &remark), STATUS_OK);
        close(file);
        ck_assert(aside[0] == '\0' && remark.text[0] == '\0');
    }
    expect_precious();
    /* Not what is only in the way of this process: the disk, a missing folder. */
    scratch_path(path, "not-there/log");
    ck_assert_int_eq(disk_open_log(path, &file, aside, &remark), STATUS_NOT_FOUND);
    ck_assert_int_eq(file, -1);
    ck_assert_ptr_nonnull(strstr(remark.text, path));
}

TEST_PLAIN(what_is_set_aside_keeps_what_was_before)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX], expected[DISK_PATH_MAX];
    struct error error;
    for (int i = 1; i <= 3; i++) {
        char name[32], *text;
        size_t bytes;
        scratch_path(path, "log");
        snprintf(name, sizeof name, "%d", i);
        scratch_write(path, name, 1);
        ck_assert_int_eq(disk_set_aside(path, aside, &error), STATUS_OK);
        snprintf(expected, sizeof expected, "%.900s.damaged-%d", path, i);
        ck_assert_str_eq(aside, expected);
        text = scratch_read(aside, &bytes);
        ck_assert_str_eq(text, name);
        free(text);
    }
    ck_assert_int_eq(disk_set_aside(path, aside, &error), STATUS_NOT_FOUND);
}

TEST_PLAIN(a_file_in_the_way_is_no_directory)
{
    char file[DISK_PATH_MAX], below[DISK_PATH_MAX];
    struct error error;
    scratch_path(file, "file");
    scratch_path(below, "file/below");
    ck_assert_int_eq(write_text(file, "x", NULL), STATUS_OK);
    ck_assert_int_eq(disk->make_directory(NULL, file, &error), STATUS_EXISTS);
    ck_assert_int_ne(disk->make_directory(NULL, below, &error), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(error.text, file));
}

TEST_PLAIN(a_failed_write_leaves_the_old_file_and_no_other)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    scratch_path(path, "file");
    scratch_path(aside, "file.tmp");
    ck_assert_int_eq(write_text(path, "old", NULL), STATUS_OK);

    /* A limit on the size of files fails writes as a full disk does. */
    static char large[100000];
    const struct disk_piece piece = {large, sizeof large};
    const struct rlimit limit = {50000, RLIM_INFINITY};
    struct error error;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(disk->write_file(NULL, path, &piece, 1, &error), STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_ptr_nonnull(strstr(error.text, strerror(EFBIG)));

    ck_assert(!scratch_has(aside));
    void *data;
    size_t bytes;
    ck_assert_int_eq(disk->read_file(NULL, path, 100, &data, &bytes, NULL), STATUS_OK);
    ck_assert_uint_eq(bytes, 3);
    ck_assert_mem_eq(data, "old", 3);
    free(data);
}

TEST_PLAIN(a_file_larger_than_expected_is_not_read)
{
    char path[DISK_PATH_MAX];
    void *data;
    size_t bytes;
    struct error error;
    scratch_path(path, "file");
    ck_assert_int_eq(write_text(path, "four", NULL), STATUS_OK);
    ck_assert_int_eq(disk->read_file(NULL, path, 3, &data, &bytes, &error), STATUS_INVALID);
    ck_assert_ptr_null(data);
    ck_assert_int_eq(disk->read_file(NULL, path, 4, &data, &bytes, &error), STATUS_OK);
    free(data);
}

TEST_PLAIN(a_file_may_be_looked_into_without_reading_it)
{
    char path[DISK_PATH_MAX], start[4];
    size_t count;
    uint64_t bytes;
    scratch_path(path, "file");
    scratch_write(path, "abcdef", 6);
    ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
    ck_assert_int_eq(disk->read_start(NULL, path, start, 4, &count, &bytes, NULL), STATUS_OK);
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(bytes, UINT64_C(1) << 40);
    ck_assert_mem_eq(start, "abcd", 4);
    ck_assert_int_eq(truncate(path, 2), 0);
    ck_assert_int_eq(disk->read_start(NULL, path, start, 4, &count, &bytes, NULL), STATUS_OK);
    ck_assert(count == 2 && bytes == 2);
    scratch_path(path, "nothing");
    ck_assert_int_eq(disk->read_start(NULL, path, start, 4, &count, &bytes, NULL),
                     STATUS_NOT_FOUND);
}

TEST_PLAIN(what_is_not_there_is_not_found)
{
    char path[DISK_PATH_MAX];
    void *data;
    size_t bytes;
    struct error error;
    scratch_path(path, "nothing");
    ck_assert_int_eq(disk->read_file(NULL, path, 9, &data, &bytes, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_int_eq(disk->remove_tree(NULL, path, &error), STATUS_NOT_FOUND);
    scratch_path(path, "nothing/file");
    ck_assert_int_eq(write_text(path, "x", &error), STATUS_NOT_FOUND);
}

TEST_PLAIN(a_directory_cannot_be_read_as_a_file)
{
    char path[DISK_PATH_MAX];
    void *data;
    size_t bytes;
    scratch_path(path, "directory");
    ck_assert_int_eq(disk->make_directory(NULL, path, NULL), STATUS_OK);
    ck_assert_int_eq(disk->read_file(NULL, path, 9, &data, &bytes, NULL), STATUS_IO);
}

static void count_names(void *argument, const char *name)
{
    ck_assert_int_ne(name[0], '.');
    ++*(int *)argument;
}

TEST_PLAIN(a_tree_is_listed_and_removed)
{
    char directory[DISK_PATH_MAX], path[DISK_PATH_MAX];
    scratch_path(directory, "tree");
    ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "tree/%d", i);
        scratch_path(path, name);
        ck_assert_int_eq(write_text(path, "x", NULL), STATUS_OK);
    }
    int names = 0;
    ck_assert_int_eq(disk->list_directory(NULL, directory, count_names, &names, NULL), STATUS_OK);
    ck_assert_int_eq(names, 5);
    ck_assert_int_eq(disk->remove_tree(NULL, path, NULL), STATUS_OK);
    ck_assert(!scratch_has(path));
    ck_assert_int_eq(disk->remove_tree(NULL, directory, NULL), STATUS_OK);
    ck_assert(!scratch_has(directory));
}

TEST_PLAIN(a_removed_link_leaves_its_target)
{
    char target[DISK_PATH_MAX], link[DISK_PATH_MAX];
    scratch_path(target, "target");
    scratch_path(link, "link");
    ck_assert_int_eq(disk->make_directory(NULL, target, NULL), STATUS_OK);
    ck_assert_int_eq(symlink(target, link), 0);
    ck_assert_int_eq(disk->remove_tree(NULL, link, NULL), STATUS_OK);
    ck_assert(!scratch_has(link));
    ck_assert(scratch_has(target));
}

/* Pieces of one letter each, the so-manieth of which is a failure. */
struct letters {
    unsigned given, fails_at;
    char letter;
};

static enum status next_letter(void *context, struct disk_piece *piece, struct error *error)
{
    struct letters *letters = context;
    if (++letters->given == letters->fails_at)
        return error_set(error, STATUS_INVALID, "no more letters");
    letters->letter = (char)('a' + letters->given - 1);
    *piece = (struct disk_piece){&letters->letter, letters->given <= 3};
    return STATUS_OK;
}

TEST_PLAIN(what_is_made_while_it_is_written_is_whole_or_not_there)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX], some[2];
    struct letters letters = {0};
    const struct disk_source source = {&letters, next_letter};
    struct error error;
    size_t bytes;
    scratch_path(path, "made");
    scratch_path(aside, "made" DISK_ASIDE);
    for (unsigned fails_at = 1; fails_at <= 4; fails_at++) {
        letters = (struct letters){.fails_at = fails_at};
        ck_assert_int_eq(disk->write_from(NULL, path, 3, &source, &error), STATUS_INVALID);
        ck_assert_str_eq(error.text, "no more letters");
        ck_assert(!scratch_has(path) && !scratch_has(aside));
    }
    letters = (struct letters){.fails_at = 0};
    ck_assert_int_eq(disk->write_from(NULL, path, 3, &source, &error), STATUS_OK);
    char *data = scratch_read(path, &bytes);
    ck_assert_uint_eq(bytes, 3);
    ck_assert_mem_eq(data, "abc", 3);
    free(data);
    ck_assert_int_eq(disk->read_range(NULL, path, 1, some, 2, &error), STATUS_OK);
    ck_assert_mem_eq(some, "bc", 2);
    ck_assert_int_eq(disk->read_range(NULL, path, 2, some, 2, &error), STATUS_IO);
    letters = (struct letters){.fails_at = 2};
    ck_assert_int_eq(disk->write_from(NULL, path, 3, &source, &error), STATUS_INVALID);
    data = scratch_read(path, &bytes); /* What was there is there. */
    ck_assert_mem_eq(data, "abc", 3);
    free(data);
}

int main(void)
{
    return suite_run("disk", scratch_add);
}
