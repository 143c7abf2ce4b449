/* test_folder.c - whether a folder could be made, and what is said to be in the way. Nothing is
 * made. */

#include "common/file/folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static char root[DISK_PATH_MAX];

static void open_scratch(void)
{
    scratch_open();
    scratch_path(root, "");
}

static void note_entry(void *argument, const char *name)
{
    (void)name;
    ++*(unsigned *)argument;
}

static unsigned entries(const char *directory)
{
    unsigned count = 0;
    ck_assert_int_eq(disk_posix.list_directory(NULL, directory, note_entry, &count, NULL),
                     STATUS_OK);
    return count;
}

static void expect(const char *name, enum status expected, const char *text)
{
    char path[DISK_PATH_MAX];
    struct error error = {0};
    scratch_path(path, name);
    ck_assert_msg(folder_check("--out", path, &error) == expected, "%s: %s", path, error.text);
    ck_assert_msg(strstr(error.text, text) != NULL, "%s", error.text);
}

TEST_PLAIN(a_folder_that_can_be_made_is_fine_and_stays_unmade)
{
    expect("new", STATUS_OK, "");
    expect("new/with/parents", STATUS_OK, "");
    expect("", STATUS_OK, "");
    ck_assert_uint_eq(entries(root), 0);
    char path[DISK_PATH_MAX];
    scratch_path(path, "there");
    mkdir(path, 0700);
    expect("there", STATUS_OK, "");
    expect("there/", STATUS_OK, "");
    ck_assert_uint_eq(entries(path), 0);
    ck_assert_int_eq(chdir(path), 0);
    ck_assert_int_eq(folder_check("--out", "relative", NULL), STATUS_OK);
    ck_assert_int_eq(folder_check("--out", "relative/below", NULL), STATUS_OK);
    ck_assert_int_eq(folder_check("--out", ".", NULL), STATUS_OK);
    ck_assert_uint_eq(entries(path), 0);
}

TEST_PLAIN(what_stands_in_the_way_is_named)
{
    char path[DISK_PATH_MAX], name[400];
    scratch_path(path, "file");
    scratch_write(path, "x", 1);
    expect("file", STATUS_IO, "file is not a folder");
    expect("file/run", STATUS_IO, "/file is not a folder");
    scratch_path(path, "link");
    ck_assert_int_eq(symlink("nowhere", path), 0);
    expect("link", STATUS_IO, "link is a symbolic link that leads nowhere");
    expect("link/run", STATUS_IO, "link is a symbolic link that leads nowhere");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    expect(name, STATUS_IO, "File name too long");
    ck_assert_int_eq(folder_check("--out", "", NULL), STATUS_INVALID);
}

/* Root may write wherever there is room for a folder, and in /proc there is none. */
TEST_PLAIN(where_there_is_no_permission_or_no_room_is_refused)
{
    struct error error;
    char path[DISK_PATH_MAX];
    if (access("/proc/self", F_OK) == 0) {
        ck_assert_int_eq(folder_check("--out", "/proc/run", &error), STATUS_IO);
        ck_assert_ptr_nonnull(strstr(error.text, "--out: cannot "));
    }
    scratch_path(path, "closed");
    mkdir(path, 0555);
    chmod(root, 0755); /* Somebody else is to come as far as that. */
    if (geteuid() == 0 && seteuid(65534) != 0)
        return;
    ck_assert_int_eq(folder_check("--out", path, &error), STATUS_IO);
    scratch_path(path, "closed/run");
    ck_assert_int_eq(folder_check("--out", path, &error), STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "Permission denied"));
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}

static void add(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_scratch, scratch_close);
}

TEST_PLAIN(removing_follows_no_link)
{
    char folder[DISK_PATH_MAX], inner[DISK_PATH_MAX], other[DISK_PATH_MAX], link[DISK_PATH_MAX];
    scratch_path(folder, "folder");
    scratch_path(inner, "folder/inner");
    scratch_path(link, "folder/inner/link");
    scratch_path(other, "other");
    ck_assert(mkdir(folder, 0777) == 0 && mkdir(inner, 0777) == 0 && mkdir(other, 0777) == 0);
    ck_assert_int_eq(symlink(other, link), 0);
    ck_assert_int_eq(folder_remove(folder, NULL), STATUS_OK);
    ck_assert_uint_eq(entries(root), 1);
    ck_assert_int_eq(symlink(other, folder), 0);
    ck_assert_int_eq(folder_remove(folder, NULL), STATUS_OK);
    ck_assert_uint_eq(entries(root), 1);
    ck_assert_int_eq(folder_remove(folder, NULL), STATUS_OK); /* It is gone already. */
}

int main(void)
{
    return suite_run("folder", add);
}
