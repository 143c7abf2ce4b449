/* test_run_noise.c - what was at work beside a run, as its folder keeps it. */

#include "common/progress/run_noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/json.h"
#include "tests/lib/suite.h"

struct scene {
    char folder[64], file[96];
    struct error error;
};

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->folder, "/tmp/syncopate-noise-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->folder));
    snprintf(s->file, sizeof s->file, "%s/" RUN_NOISE_FILE, s->folder);
}

static void close_scene(struct scene *s)
{
    unlink(s->file);
    ck_assert_int_eq(rmdir(s->folder), 0);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static const struct run_noise some = {.machine = "a machine, 2 processors",
                                      .processors = 2,
                                      .seconds = 10,
                                      .own = 12,
                                      .others = 1.5,
                                      .stolen = 0.5};

TEST(a_run_that_goes_on_has_the_sum_of_its_sessions)
{
    struct run_noise noise;
    run_noise_read(&noise, &disk_posix, s->folder);
    ck_assert(isnan(run_noise_share(&noise)));
    ck_assert_int_eq(run_noise_add(&some, &disk_posix, s->folder, &s->error), STATUS_OK);
    run_noise_read(&noise, &disk_posix, s->folder);
    ck_assert_str_eq(noise.machine, some.machine);
    ck_assert_double_eq_tol(run_noise_share(&noise), 0.1, 1e-12);
    ck_assert_int_eq(run_noise_add(&some, &disk_posix, s->folder, &s->error), STATUS_OK);
    run_noise_read(&noise, &disk_posix, s->folder);
    ck_assert_double_eq(noise.seconds, 20);
    ck_assert_double_eq(noise.own, 24);
    ck_assert_double_eq(noise.others, 3);
    ck_assert_double_eq(noise.stolen, 1);
    ck_assert_uint_eq(noise.processors, 2);
}

TEST(what_is_written_has_its_share_by_name)
{
    struct json *root = NULL;
    ck_assert_int_eq(run_noise_add(&some, &disk_posix, s->folder, &s->error), STATUS_OK);
    ck_assert_int_eq(json_read_file(&disk_posix, s->file, 4096, &root, &s->error), STATUS_OK);
    ck_assert_str_eq(json_text(root, "format"), "syncopate-machine-1");
    ck_assert_double_eq_tol(json_number(root, "others_share"), 0.1, 1e-12);
    ck_assert_double_eq(json_number(root, "others_cpu_seconds"), 1.5);
    json_release(&root);
}

TEST(of_another_file_nothing_is_known)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"format\": \"syncopate-machine-9\", \"processors\": 2, \"seconds\": 1}",
        "{\"format\": \"syncopate-machine-1\", \"processors\": -2, \"seconds\": 1}",
        "{\"format\": \"syncopate-machine-1\", \"processors\": 2, \"seconds\": \"long\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct run_noise noise;
        struct disk_piece piece = {texts[i], strlen(texts[i])};
        ck_assert_int_eq(disk_posix.write_file(disk_posix.context, s->file, &piece, 1, &s->error),
                         STATUS_OK);
        run_noise_read(&noise, &disk_posix, s->folder);
        ck_assert_msg(isnan(run_noise_share(&noise)) && !run_noise_is_much(&noise), "%s", texts[i]);
    }
}

int main(void)
{
    return suite_run("run_noise", NULL);
}
