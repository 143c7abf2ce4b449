/* test_png.c - pictures by a converter that works, fails, hangs, writes something else, or is not there:
 * whatever it does, this goes on. */

#include "deploy/report/png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

struct scene {
    char folder[64], remark[PNG_REMARK_MAX];
    char path[4096]; /* PATH before. */
};

/* A folder of two pictures; converters are looked for in its "bin" alone. */
static void scene_init(struct scene *scene)
{
    char bin[128];
    memset(scene, 0, sizeof *scene);
    runs_make(scene->folder);
    runs_write(scene->folder, "a.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    runs_write(scene->folder, "b.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    snprintf(scene->path, sizeof scene->path, "%s", getenv("PATH"));
    snprintf(bin, sizeof bin, "%s/bin", scene->folder);
    ck_assert_int_eq(mkdir(bin, 0700), 0);
    setenv("PATH", bin, 1);
}

static void scene_free(struct scene *scene)
{
    setenv("PATH", scene->path, 1);
    runs_remove(scene->folder);
}

#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

static bool is_there(const struct scene *scene, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    return access(path, F_OK) == 0;
}

/* What a converter does, with $4 to be written and $6 to be read. */
static void install(const struct scene *scene, const char *script)
{
    char bin[128], path[160], text[1024];
    snprintf(bin, sizeof bin, "%s/bin", scene->folder);
    snprintf(path, sizeof path, "%s/rsvg-convert", bin);
    snprintf(text, sizeof text, "#!/bin/sh\nPATH='%.512s'\n%s\n", scene->path, script);
    runs_write(bin, "rsvg-convert", text);
    ck_assert_int_eq(chmod(path, 0700), 0);
}

static bool make(struct scene *scene, double one, double all)
{
    bool made = png_make(scene->folder, (struct png_limits){one, all}, scene->remark);
    ck_assert(!is_there(scene, ".a.png.part") && !is_there(scene, ".b.png.part"));
    return made;
}

static const char works[] = "printf '\\211PNG\\r\\n\\032\\n%s' \"$(cat \"$6\")\" >\"$4\"";

TEST(every_picture_is_made)
{
    install(scene, works);
    ck_assert(make(scene, 10, 20));
    ck_assert_str_eq(scene->remark, "");
    ck_assert(is_there(scene, "a.png") && is_there(scene, "b.png"));
}

TEST(without_a_converter_that_is_said)
{
    runs_write(scene->folder, "b.png", "of yesterday");
    ck_assert(!make(scene, 10, 20));
    ck_assert_str_eq(scene->remark,
                     "figures are SVG alone: rsvg-convert is not installed (Debian's "
                     "librsvg2-bin)");
    ck_assert(!is_there(scene, "b.png")); /* It would be of other numbers. */
}

TEST(the_first_that_fails_is_the_last_that_is_tried)
{
    install(scene, "echo once >>\"$4.tries\"; exit 3");
    ck_assert(!make(scene, 10, 20));
    ck_assert_str_eq(scene->remark, "figures are SVG alone: rsvg-convert ended with 3");
    ck_assert(is_there(scene, ".a.png.part.tries") && !is_there(scene, ".b.png.part.tries"));
}

TEST(what_was_made_before_is_kept)
{
    char script[256];
    snprintf(script, sizeof script, "case $6 in *b.svg) kill -9 $$ ;; esac; %s", works);
    install(scene, script);
    ck_assert(!make(scene, 10, 20));
    ck_assert_str_eq(scene->remark,
                     "figures from b on are SVG alone: rsvg-convert was ended by signal 9");
    ck_assert(is_there(scene, "a.png") && !is_there(scene, "b.png"));
}

TEST(one_that_hangs_is_ended_with_its_children)
{
    install(scene, "(sleep 1; echo still >\"$4.late\") & sleep 1000");
    double began = clock_now_seconds();
    ck_assert(!make(scene, 0.5, 20));
    ck_assert_double_lt(clock_now_seconds() - began, 10);
    ck_assert_str_eq(scene->remark, "figures are SVG alone: rsvg-convert took longer than 0.5 s");
    sleep(1);
    ck_assert(!is_there(scene, ".a.png.part.late")); /* Nobody of its group is left. */
}

TEST(all_together_have_no_longer_than_that)
{
    install(scene, "sleep 0.3; exec sleep 1000");
    ck_assert(!make(scene, 1000, 0.4));
    ck_assert_ptr_nonnull(strstr(scene->remark, "took longer than 0."));
}

TEST(something_else_is_no_picture)
{
    install(scene, "echo '<html>' >\"$4\"");
    ck_assert(!make(scene, 10, 20));
    ck_assert_str_eq(scene->remark, "figures are SVG alone: rsvg-convert wrote no PNG");
    ck_assert(!is_there(scene, "a.png"));
    install(scene, "exit 0");
    ck_assert(!make(scene, 10, 20));
    ck_assert_str_eq(scene->remark, "figures are SVG alone: rsvg-convert wrote no PNG");
}

/* It is given nothing to read, and nobody reads what it says. */
TEST(one_that_talks_and_asks_is_not_waited_for)
{
    char script[256];
    snprintf(script, sizeof script, "cat; yes | head -c 300000; yes | head -c 300000 >&2; %s",
             works);
    install(scene, script);
    ck_assert(make(scene, 20, 40));
}

int main(void)
{
    return suite_run("png", NULL);
}
