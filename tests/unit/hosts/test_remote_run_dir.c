/* test_remote_run_dir.c - what is taken from a host when its run is brought back, tried on this one. */
/* promises: result */

#include "deploy/hosts/remote_run_dir.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/suite.h"

struct fixture {
    char folder[64];
    struct remote_run_dir remote_dir;
};

static void shell(const struct fixture *f, const char *script)
{
    char command[1024];
    snprintf(command, sizeof command, "there=%s out=%s\n%s", f->remote_dir.path, f->remote_dir.out,
             script);
    ck_assert_msg(system(command) == 0, "%s", script);
}

static void open_fixture(struct fixture *f)
{
    const struct host here = {.name = "localhost"};
    char out[80];
    snprintf(f->folder, sizeof f->folder, "/tmp/syncopate-apart-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(out, sizeof out, "%s/out", f->folder);
    remote_run_dir_place(&f->remote_dir, "false", &here, f->folder, out);
    shell(f, "mkdir -p $there $out && echo new >$there/run.json && echo old >$out/run.json");
}

static void close_fixture(struct fixture *f)
{
    shell(f, "rm -rf ${out%/*}");
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static void check_refused(struct fixture *f, const char *why)
{
    struct error error;
    ck_assert_int_eq(remote_run_dir_bring(&f->remote_dir, &error), STATUS_UNREACHABLE);
    ck_assert_msg(strstr(error.text, why) != NULL, "%s", error.text);
    shell(f, "[ \"$(cat $out/run.json)\" = old ] && [ ! -e $out/.fetched ]"); /* Nothing came. */
    shell(f, "[ -e $there/run.json ]");
}

TEST(files_come_without_setuid_bits_and_replace_those_that_were_here)
{
    struct error error;
    struct stat about;
    char path[DISK_PATH_MAX + 16];
    shell(f, "umask 022 && mkdir $there/logs && echo >$there/tool && chmod 6777 $there/tool");
    ck_assert_msg(remote_run_dir_bring(&f->remote_dir, &error) == STATUS_OK, "%s", error.text);
    snprintf(path, sizeof path, "%s/tool", f->remote_dir.out);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 06000, 0);
    shell(f, "[ \"$(cat $out/run.json)\" = new ] && [ -d $out/logs ] && [ ! -e $there ]");
}

TEST(what_is_neither_a_file_nor_a_folder_does_not_come)
{
    shell(f, "mkfifo $there/pipe");
    check_refused(f, "it has more than files and folders");
    shell(f, "rm $there/pipe && ln -s /etc/passwd $there/link");
    check_refused(f, "it has more than files and folders");
}

TEST(no_more_comes_than_there_is_room_for)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("", f->remote_dir.out, "tmpfs", 0, "size=1m") != 0) {
        suite_skip("a disk of 1 MiB: only root can mount one (and a container may not)");
        return;
    }
    shell(f, "echo old >$out/run.json && head -c 3M /dev/zero >$there/model.safetensors");
    check_refused(f, "KiB, nine tenths of the free room");
    ck_assert_int_eq(umount(f->remote_dir.out), 0);
}

static void add(TCase *t)
{
    (void)t;
}

int main(void)
{
    return suite_run("apart", add);
}
