/* test_run_tree.c - the folder of a run is removed, and no link is followed. */

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

int main(void)
{
    return suite_run("run_tree", NULL);
}
