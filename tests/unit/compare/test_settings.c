/* test_settings.c - with what a comparison was begun, and who goes on with it. */

#include "deploy/compare/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define ARGUMENTS_MAX 8

struct scene {
    char out[64];
    struct error error;
};

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->out, "/tmp/syncopate-settings-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->out));
}

static void close_scene(struct scene *s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/" SETTINGS_FILE, s->out);
    unlink(path);
    ck_assert_int_eq(rmdir(s->out), 0);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

/* words[]: up to a NULL. */
static void take(struct settings *settings, const char *const *words)
{
    static char name[] = "compare";
    char texts[ARGUMENTS_MAX][64], *argv[ARGUMENTS_MAX + 1] = {name};
    struct options options;
    struct error error = {0};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++) {
        snprintf(texts[argc - 1], sizeof texts[0], "%s", words[argc - 1]);
        argv[argc] = texts[argc - 1];
    }
    ck_assert_msg(options_parse(&options, OPTION_COMPARE, name, argc, argv, &error) == OPTIONS_RUN,
                  "%s", error.text);
    ck_assert_int_eq(settings_take(settings, &options, argc, argv, &error), STATUS_OK);
}

#define TAKE(settings, ...) take(settings, (const char *const[ARGUMENTS_MAX + 1]){__VA_ARGS__})

static enum status goes_on(struct scene *s, const struct settings *settings)
{
    return settings_check(settings, &disk_posix, s->out, &s->error);
}

TEST(options_decide_and_not_how_they_are_written_nor_which_runs_there_are)
{
    struct settings first, again;
    TAKE(&first, "--global-batch", "32", "--model=softmax", "--seeds", "2", "--quiet");
    ck_assert_uint_eq(first.count, 2);
    ck_assert_int_eq(goes_on(s, &first), STATUS_NOT_FOUND);
    ck_assert_int_eq(settings_write(&first, &disk_posix, s->out, &s->error), STATUS_OK);
    TAKE(&again, "--model", "softmax", "--global_batch=32", "--modes", "async", "--workers", "3");
    ck_assert_msg(goes_on(s, &again) == STATUS_OK, "%s", s->error.text);
    settings_free(&first);
    settings_free(&again);
}

TEST(the_first_that_differs_is_named)
{
    struct settings first, other, more, fewer;
    TAKE(&first, "--learning-rate", "0.1", "--model", "softmax");
    ck_assert_int_eq(settings_write(&first, &disk_posix, s->out, &s->error), STATUS_OK);
    TAKE(&other, "--learning-rate", "0.2", "--model", "softmax");
    ck_assert_int_eq(goes_on(s, &other), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(s->error.text, "begun with --learning-rate 0.1, and this one is "
                                                "with --learning-rate 0.2"));
    TAKE(&more, "--learning-rate", "0.1", "--model", "softmax", "--epochs", "2");
    ck_assert_int_eq(goes_on(s, &more), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(
        strstr(s->error.text, "without --epochs, and this one is with --epochs 2"));
    TAKE(&fewer, "--model", "softmax");
    ck_assert_int_eq(goes_on(s, &fewer), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(s->error.text, "this one is without --learning-rate;"));
    settings_free(&first);
    settings_free(&other);
    settings_free(&more);
    settings_free(&fewer);
}

TEST(of_an_option_that_is_given_twice_the_last_counts_and_the_environment_is_one_too)
{
    struct settings twice, once, environment;
    TAKE(&twice, "--ps", "1", "--ps=2");
    ck_assert_int_eq(settings_write(&twice, &disk_posix, s->out, &s->error), STATUS_OK);
    TAKE(&once, "--ps", "2");
    ck_assert_int_eq(goes_on(s, &once), STATUS_OK);
    setenv("SYNCOPATE_PS", "2", 1);
    TAKE(&environment, "--seeds", "4");
    unsetenv("SYNCOPATE_PS");
    ck_assert_int_eq(goes_on(s, &environment), STATUS_OK);
    settings_free(&twice);
    settings_free(&once);
    settings_free(&environment);
}

TEST(what_is_no_plan_is_refused)
{
    static const char *const texts[] = {"", "[]", "{}",
                                        "{\"format\": \"syncopate-plan-9\", \"settings\": {}}",
                                        "{\"format\": \"syncopate-plan-1\", \"settings\": 7}"};
    struct settings settings;
    char path[128];
    TAKE(&settings, "--seeds", "1");
    snprintf(path, sizeof path, "%s/" SETTINGS_FILE, s->out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct disk_piece piece = {texts[i], strlen(texts[i])};
        ck_assert_int_eq(disk_posix.write_file(disk_posix.context, path, &piece, 1, &s->error),
                         STATUS_OK);
        ck_assert_int_eq(goes_on(s, &settings), STATUS_INVALID);
        ck_assert_ptr_nonnull(strstr(s->error.text, SETTINGS_FILE));
    }
    settings_free(&settings);
}

int main(void)
{
    return suite_run("settings", NULL);
}
