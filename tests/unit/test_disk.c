#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/disk.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static const struct disk *const disk = &disk_posix;

static enum status write_text(const char *path, const char *text, struct error *error)
{
    const struct disk_piece piece = {text, strlen(text)};
    return disk->write_file(disk->context, path, &piece, 1, error);
}

START_TEST(many_pieces_arrive_in_order)
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
END_TEST

START_TEST(files_and_directories_are_private)
{
    char directory[DISK_PATH_MAX], path[DISK_PATH_MAX];
    scratch_path(directory, "a/b/c");
    scratch_path(path, "a/b/c/file");
    ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
    ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
    ck_assert_int_eq(write_text(path, "x", NULL), STATUS_OK);
    struct stat about;
    ck_assert_int_eq(stat(directory, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0600);
}
END_TEST

/* It is the reader's from the moment it has its name. */
START_TEST(a_note_is_whole_private_and_replaced)
{
    char path[DISK_PATH_MAX];
    size_t bytes;
    struct stat about;
    scratch_path(path, "note");
    ck_assert_int_eq(disk_put_note(path, "a longer first one\n", NULL), STATUS_OK);
    ck_assert_int_eq(disk_put_note(path, "here\n", NULL), STATUS_OK);
    char *text = scratch_read(path, &bytes);
    ck_assert_uint_eq(bytes, 5);
    ck_assert_mem_eq(text, "here\n", 5);
    free(text);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0600);
    scratch_path(path, "not-there/note");
    ck_assert_int_ne(disk_put_note(path, "here\n", NULL), STATUS_OK);
}
END_TEST

START_TEST(a_file_in_the_way_is_no_directory)
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
END_TEST

START_TEST(a_failed_write_leaves_the_old_file_and_no_other)
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
END_TEST

START_TEST(a_file_larger_than_expected_is_not_read)
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
END_TEST

START_TEST(what_is_not_there_is_not_found)
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
END_TEST

START_TEST(a_directory_cannot_be_read_as_a_file)
{
    char path[DISK_PATH_MAX];
    void *data;
    size_t bytes;
    scratch_path(path, "directory");
    ck_assert_int_eq(disk->make_directory(NULL, path, NULL), STATUS_OK);
    ck_assert_int_eq(disk->read_file(NULL, path, 9, &data, &bytes, NULL), STATUS_IO);
}
END_TEST

static void count_names(void *argument, const char *name)
{
    ck_assert_int_ne(name[0], '.');
    ++*(int *)argument;
}

START_TEST(a_tree_is_listed_and_removed)
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
END_TEST

START_TEST(a_removed_link_leaves_its_target)
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
END_TEST

static void add(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
    tcase_add_test(tcase, many_pieces_arrive_in_order);
    tcase_add_test(tcase, files_and_directories_are_private);
    tcase_add_test(tcase, a_note_is_whole_private_and_replaced);
    tcase_add_test(tcase, a_file_in_the_way_is_no_directory);
    tcase_add_test(tcase, a_failed_write_leaves_the_old_file_and_no_other);
    tcase_add_test(tcase, a_file_larger_than_expected_is_not_read);
    tcase_add_test(tcase, what_is_not_there_is_not_found);
    tcase_add_test(tcase, a_directory_cannot_be_read_as_a_file);
    tcase_add_test(tcase, a_tree_is_listed_and_removed);
    tcase_add_test(tcase, a_removed_link_leaves_its_target);
}

int main(void)
{
    return suite_run("disk", add);
}
