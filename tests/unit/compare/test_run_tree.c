/* test_run_tree.c - the copy of a run's folder: whole, apart from the first, and through no link. */

#include "deploy/compare/run_tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define PATH_CHARS 256

struct scene {
    char place[64], from[80], to[80];
    struct error error;
};

static const char *at(const char *folder, const char *name)
{
    static char paths[4][PATH_CHARS];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_CHARS, "%s/%s", folder, name);
    return path;
}

static void put(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(at(folder, name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void has(const char *folder, const char *name, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(at(folder, name), "r");
    ck_assert_msg(file != NULL, "%s/%s", folder, name);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(found, text);
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->place, "/tmp/syncopate-tree-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->place));
    snprintf(s->from, sizeof s->from, "%s/from", s->place);
    snprintf(s->to, sizeof s->to, "%s/to", s->place);
    ck_assert_int_eq(mkdir(s->from, 0777), 0);
    ck_assert_int_eq(mkdir(at(s->from, "checkpoints"), 0777), 0);
    ck_assert_int_eq(mkdir(at(s->from, "checkpoints/step-7"), 0777), 0);
    put(s->from, "run.json", "{}");
    put(s->from, "events.jsonl", "one\n");
    put(s->from, "model.safetensors", "model");
    put(s->from, "torn.json.tmp", "half");
    put(s->from, "checkpoints/step-7/part.safetensors", "part");
    put(s->from, "checkpoints/step-7/manifest.json", "manifest");
}

static void close_scene(struct scene *s)
{
    ck_assert_msg(run_tree_remove(s->place, &s->error) == STATUS_OK, "%s", s->error.text);
    ck_assert(!is_there(s->place));
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static ino_t inode(const char *path)
{
    struct stat about;
    ck_assert_int_eq(lstat(path, &about), 0);
    return about.st_ino;
}

TEST(a_copy_has_all_that_is_whole)
{
    ck_assert_msg(run_tree_copy(s->from, s->to, &s->error) == STATUS_OK, "%s", s->error.text);
    has(s->to, "run.json", "{}");
    has(s->to, "events.jsonl", "one\n");
    has(s->to, "model.safetensors", "model");
    has(s->to, "checkpoints/step-7/part.safetensors", "part");
    has(s->to, "checkpoints/step-7/manifest.json", "manifest");
    ck_assert(!is_there(at(s->to, "torn.json.tmp")));
    ck_assert(!is_there(at(s->place, "to" RUN_TREE_PART)));
}

/* What grows in one does not grow in the other; what is only replaced takes no room twice. */
TEST(files_that_grow_are_files_of_their_own)
{
    static const char *const own[] = {"run.json", "events.jsonl",
                                      "checkpoints/step-7/manifest.json"};
    static const char *const shared[] = {"model.safetensors",
                                         "checkpoints/step-7/part.safetensors"};
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_OK);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ck_assert_int_ne(inode(at(s->from, own[i])), inode(at(s->to, own[i])));
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        ck_assert_int_eq(inode(at(s->from, shared[i])), inode(at(s->to, shared[i])));
    FILE *file = fopen(at(s->to, "events.jsonl"), "a");
    ck_assert_ptr_nonnull(file);
    fputs("two\n", file);
    ck_assert_int_eq(fclose(file), 0);
    has(s->from, "events.jsonl", "one\n");
}

TEST(what_is_no_file_is_refused_and_nothing_is_left_of_the_copy)
{
    ck_assert_int_eq(symlink("/etc/passwd", at(s->from, "checkpoints/step-7/link.safetensors")), 0);
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "link.safetensors in it is a symbolic link"));
    ck_assert(!is_there(s->to) && !is_there(at(s->place, "to" RUN_TREE_PART)));
    ck_assert_int_eq(unlink(at(s->from, "checkpoints/step-7/link.safetensors")), 0);
    ck_assert_int_eq(mkfifo(at(s->from, "pipe"), 0666), 0);
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "pipe in it is"));
}

TEST(what_a_crash_left_is_taken_away_and_what_is_there_is_not_written_to)
{
    ck_assert_int_eq(mkdir(at(s->place, "to" RUN_TREE_PART), 0777), 0);
    put(s->place, "to" RUN_TREE_PART "/stale", "stale");
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_OK);
    ck_assert(!is_there(at(s->to, "stale")));
    put(s->to, "run.json", "mine");
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_EXISTS);
    has(s->to, "run.json", "mine");
}

TEST(removing_follows_no_link)
{
    ck_assert_int_eq(mkdir(s->to, 0777), 0);
    ck_assert_int_eq(symlink(s->from, at(s->to, "link")), 0);
    ck_assert_int_eq(run_tree_remove(s->to, &s->error), STATUS_OK);
    has(s->from, "run.json", "{}");
    ck_assert_int_eq(symlink(s->from, s->to), 0);
    ck_assert_int_eq(run_tree_remove(s->to, &s->error), STATUS_OK);
    has(s->from, "run.json", "{}");
    ck_assert_int_eq(run_tree_remove(s->to, &s->error), STATUS_OK); /* It is gone already. */
}

TEST(folders_in_folders_have_an_end)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s", s->from);
    for (int i = 0; i < 7; i++) {
        strcat(path, "/in");
        ck_assert_int_eq(mkdir(path, 0777), 0);
    }
    ck_assert_int_eq(run_tree_copy(s->from, s->to, &s->error), STATUS_OK);
    strcat(path, "/in/in");
    ck_assert_int_ne(mkdir(path, 0777), 0);
}

int main(void)
{
    return suite_run("run_tree", NULL);
}
