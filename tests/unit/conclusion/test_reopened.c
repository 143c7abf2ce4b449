/* test_reopened.c - a comparison that is read back from its folder says what it said before. */

#include "deploy/conclusion/reopened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/conclusion_text.h"
#include "deploy/report/table.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

struct scene {
    char folder[64], runs[80];
    struct comparison comparison;
    struct reopened *reopened;
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    runs_make(scene->folder);
    snprintf(scene->runs, sizeof scene->runs, "%s/runs", scene->folder);
    runs_write(scene->runs, "none", ""); /* Makes the folder. */
    comparison_init(&scene->comparison);
}

static void scene_free(struct scene *scene)
{
    comparison_free(&scene->comparison);
    reopened_close(&scene->reopened);
    runs_remove(scene->folder);
}

#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

static void take(struct scene *scene, const struct config *config, const struct made_run *run)
{
    char path[256];
    runs_finished(scene->runs, run);
    snprintf(path, sizeof path, "%s/%s", scene->runs, run->name);
    ck_assert_int_eq(comparison_add(&scene->comparison, config, path, &scene->error), STATUS_OK);
}

/* What compare.json has of these runs. */
static char *json_of(const struct comparison *comparison, const struct question *question)
{
    struct conclusion conclusion;
    struct error error;
    ck_assert_int_eq(conclusion_make(&conclusion, comparison, question, &error), STATUS_OK);
    char *text = table_json(&conclusion, "syncopate compare");
    conclusion_free(&conclusion);
    return text;
}

static enum status reopen(struct scene *scene, const char *json)
{
    runs_write(scene->folder, REOPENED_FILE, json);
    return reopened_open(&scene->reopened, scene->folder, &scene->error);
}

TEST(what_is_read_back_says_the_same)
{
    static const struct question question = {.target_accuracy = 0.5, .margin = 2};
    take(scene, &(struct config){.name = "sync-w2", .varied = "ps 2"},
         &(struct made_run){"sync-w2-s1", "sync", "aaaa", 2, 1, 0.2, 0.90});
    take(scene, &(struct config){.name = "fast", .label = "the fast one"},
         &(struct made_run){"fast-s1", "async", "bbbb", 2, 1, 0.3, 0.80});
    static const struct failed_run failed[] = {{"fast-s2", "fast", 2, 5, "no room"},
                                               {"gone-s1", "gone", 1, 1, "loss not finite"}};
    comparison_group(&scene->comparison, &(struct config){.name = "gone"}, "ssp:3", 2, NULL);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(comparison_fail(&scene->comparison, &failed[i], &scene->error), STATUS_OK);
    scene->comparison.planned = 9;
    char *before = json_of(&scene->comparison, &question);
    ck_assert_msg(reopen(scene, before) == STATUS_OK, "%s", scene->error.text);
    char *after = json_of(&scene->reopened->comparison, &scene->reopened->question);
    ck_assert_str_eq(after, before);
    ck_assert_str_eq(scene->reopened->command, "syncopate compare");
    const struct comparison *comparison = &scene->reopened->comparison;
    ck_assert_str_eq(conclusion_name(comparison, &comparison->groups[0]).text, "sync, ps 2");
    ck_assert_str_eq(conclusion_name(comparison, &comparison->groups[1]).text, "the fast one");
    ck_assert_uint_eq(comparison_to_come(comparison), 5);
    free(before);
    free(after);
}

/* The reference's own target is worked out anew, and not taken for one that was asked for. */
TEST(what_was_not_asked_is_not_asked)
{
    static const struct question question = {.margin = CONCLUSION_MARGIN};
    take(scene, &(struct config){.name = "sync-w2"},
         &(struct made_run){"sync-w2-s1", "sync", "aaaa", 2, 1, 0.2, 0.90});
    char *text = json_of(&scene->comparison, &question);
    ck_assert_int_eq(reopen(scene, text), STATUS_OK);
    ck_assert(!(scene->reopened->question.target_loss > 0));
    free(text);
}

#define FORMAT "\"format\": \"" COMPARISON_FORMAT "\", "

TEST(what_is_none_of_ours_is_refused)
{
    static const struct {
        const char *json;
        enum status status;
    } rows[] = {
        {"{", STATUS_INVALID},
        {"{}", STATUS_INVALID},
        {"{\"groups\": []}", STATUS_INVALID}, /* Of an older format. */
        {"{" FORMAT "\"groups\": [{\"arm\": \"a\", \"runs\": [\"../a\"]}]}", STATUS_INVALID},
        {"{" FORMAT "\"groups\": [{\"arm\": \"a\", \"runs\": [\"..\"]}]}", STATUS_INVALID},
        {"{" FORMAT "\"groups\": [{\"arm\": \"a\", \"runs\": [\"b/../../c\"]}]}", STATUS_INVALID},
        {"{" FORMAT "\"groups\": [{\"arm\": \"a\", \"runs\": [7]}]}", STATUS_INVALID},
        {"{" FORMAT "\"groups\": [{\"runs\": [\"a\"]}]}", STATUS_INVALID},
        {"{" FORMAT "\"groups\": [{\"arm\": \"a\", \"runs\": [\"gone\"]}]}", STATUS_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(reopen(scene, rows[i].json) == rows[i].status, "%s: %s", rows[i].json,
                      scene->error.text);
        reopened_close(&scene->reopened);
    }
    ck_assert_int_eq(reopen(scene, "{\"groups\": []}"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "format syncopate-comparison-1, needs"));
    reopened_close(&scene->reopened);
    ck_assert_int_eq(reopened_open(&scene->reopened, scene->runs, &scene->error), STATUS_NOT_FOUND);
}

int main(void)
{
    return suite_run("reopened", NULL);
}
