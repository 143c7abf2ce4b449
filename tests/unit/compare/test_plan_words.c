/* test_plan_words.c - a command line with a plan in it: which words stand for the plan, and what they are
 * overruled by. */

#include "deploy/compare/plan_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/compare/plan_file.h"
#include "tests/lib/suite.h"

#define WORDS_MAX 8

struct scene {
    char path[64];
    struct arguments words;
    struct error error;
};

static const char plan_text[] =
    "{\"format\": \"" PLAN_FORMAT "\", \"options\": {\"data\": \"synthetic\", \"epochs\": 3},\n"
    " \"vary\": [{\"mode\": [\"sync\", \"async\"]}, {\"workers\": [1, 2], \"ps\": [1, 3]},\n"
    "  {\"straggle\": [\"0.1:constant:2\", \"0.2:lognormal,0.5:3\"]}],\n"
    " \"arms\": {\"slow\": {\"model\": \"dense 8, it's 10\"}, \"plain\": {}}}";

static void put_plan(struct scene *s, const char *text)
{
    FILE *file = fopen(s->path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->path, "/tmp/syncopate-words-XXXXXX");
    int file = mkstemp(s->path);
    ck_assert_int_ge(file, 0);
    close(file);
    put_plan(s, plan_text);
}

static void close_scene(struct scene *s)
{
    arguments_free(&s->words);
    ck_assert_int_eq(unlink(s->path), 0);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static enum status expand(struct scene *s, const char *const *more)
{
    char texts[WORDS_MAX][64], *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(texts[argc++], sizeof texts[0], "compare");
    snprintf(texts[argc++], sizeof texts[0], "--plan");
    snprintf(texts[argc++], sizeof texts[0], "%s", s->path);
    for (; *more != NULL; more++)
        snprintf(texts[argc++], sizeof texts[0], "%s", *more);
    for (int i = 0; i < argc; i++)
        argv[i] = texts[i];
    arguments_free(&s->words);
    return plan_words(&s->words, argc, argv, &s->error);
}

#define EXPAND(...) expand(s, (const char *const[WORDS_MAX]){__VA_ARGS__})

static bool has(const struct scene *s, const char *word)
{
    for (size_t i = 0; i < s->words.count; i++)
        if (strcmp(s->words.items[i], word) == 0)
            return true;
    return false;
}

static size_t starting(const struct scene *s, const char *start)
{
    size_t count = 0;
    for (size_t i = 0; i < s->words.count; i++)
        count += strncmp(s->words.items[i], start, strlen(start)) == 0;
    return count;
}

TEST(a_plan_is_words_before_those_that_were_typed)
{
    ck_assert_msg(EXPAND("--seeds=2") == STATUS_OK, "%s", s->error.text);
    const char *const words[] = {
        "compare",
        "--data=synthetic",
        "--epochs=3",
        "--vary=modes=sync,async",
        "--vary=workers=1,2+ps=1,3",
        "--vary=straggle=0.1:constant:2,0.2:lognormal\\,0.5:3",
        "--arm=slow=--model='dense 8, it'\\''s 10'",
        "--arm=plain=",
        "--plan",
        s->path,
        "--seeds=2",
    };
    ck_assert_uint_eq(s->words.count, sizeof words / sizeof *words);
    for (size_t i = 0; i < s->words.count; i++)
        ck_assert_str_eq(s->words.items[i], words[i]);
}

/* What the words say is what the file says: taken again, it is the same plan. */
TEST(words_of_a_plan_are_the_plan)
{
    struct options options;
    struct plan plan, taken;
    ck_assert_int_eq(EXPAND("--compute=constant:1ms"), STATUS_OK);
    ck_assert_msg(options_parse(&options, OPTION_COMPARE, "compare", (int)s->words.count,
                                s->words.items, &s->error) == OPTIONS_RUN,
                  "%s", s->error.text);
    ck_assert_int_eq(plan_take(&taken, &options, (int)s->words.count, s->words.items, &s->error),
                     STATUS_OK);
    ck_assert_int_eq(plan_read_file(&plan, &disk_posix, s->path, &s->error), STATUS_OK);
    ck_assert_uint_eq(taken.axes.count, plan.axes.count);
    for (size_t i = 0; i < plan.axes.count; i++)
        for (size_t j = 0; j < plan.axes.list[i].option_count; j++)
            for (size_t k = 0; k < plan.axes.list[i].count; k++)
                ck_assert_str_eq(taken.axes.list[i].options[j].values[k],
                                 plan.axes.list[i].options[j].values[k]);
    ck_assert_str_eq(taken.configs.list[0].own.items[0].value, "dense 8, it's 10");
    plan_free(&plan);
    plan_free(&taken);
}

TEST(what_was_typed_stands_over_the_plan)
{
    ck_assert_int_eq(EXPAND("--data", "fashion-mnist", "--ps=7", "--arm=slow=--ps 2"), STATUS_OK);
    ck_assert(!has(s, "--data=synthetic"));
    ck_assert(has(s, "--vary=workers=1,2"));
    ck_assert_uint_eq(starting(s, "--arm"), 2);
    ck_assert(has(s, "--arm=slow=--ps 2") && has(s, "--arm=plain="));
    ck_assert_int_eq(EXPAND("--steps=5", "--vary", "mode=ssp:1,ssp:2+workers=1,2", "--straggle=x"),
                     STATUS_OK);
    ck_assert(!has(s, "--epochs=3"));
    ck_assert(has(s, "--vary=ps=1,3"));
    ck_assert_uint_eq(starting(s, "--vary="), 1);
}

TEST(without_a_plan_words_are_as_they_were_typed)
{
    char name[] = "compare", seeds[] = "--seeds=2", *argv[] = {name, seeds};
    ck_assert_int_eq(plan_words(&s->words, 2, argv, &s->error), STATUS_OK);
    ck_assert_uint_eq(s->words.count, 2);
    ck_assert_str_eq(s->words.items[1], "--seeds=2");
}

TEST(who_asks_for_help_is_not_told_of_a_plan)
{
    put_plan(s, "{");
    ck_assert_int_eq(EXPAND("--seeds=2"), STATUS_INVALID);
    ck_assert_int_eq(EXPAND("--help"), STATUS_OK);
}

int main(void)
{
    return suite_run("plan_words", NULL);
}
