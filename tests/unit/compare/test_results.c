/* test_results.c - what is known of a comparison's runs, in the order of its plan whichever came first. */

#include "deploy/compare/results.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

/* Sync and async with two workers, seeds 1 and 2: sync-s1, async-s1, async-s2, sync-s2. */
struct scene {
    char folder[64], runs[80];
    struct options options;
    struct plan plan;
    struct configs configs;
    struct interleaving interleaving;
    struct results results;
    struct error error;
};

static void open_scene(struct scene *s)
{
    static char name[] = "compare", model[] = "--model=softmax", *argv[] = {name, model};
    memset(s, 0, sizeof *s);
    runs_make(s->folder);
    snprintf(s->runs, sizeof s->runs, "%s/" INTERLEAVING_RUNS, s->folder);
    ck_assert_int_eq(mkdir(s->runs, 0777), 0);
    ck_assert_int_eq(options_parse(&s->options, OPTION_COMPARE, name, 2, argv, &s->error),
                     OPTIONS_RUN);
    ck_assert_int_eq(plan_take(&s->plan, &s->options, 2, argv, &s->error), STATUS_OK);
    ck_assert_int_eq(configs_make(&s->configs, &s->plan, &s->options, &s->error), STATUS_OK);
    ck_assert_int_eq(interleaving_init(&s->interleaving, &s->configs, 2, s->folder, &s->error),
                     STATUS_OK);
}

static void close_scene(struct scene *s)
{
    results_free(&s->results);
    interleaving_free(&s->interleaving);
    configs_free(&s->configs);
    plan_free(&s->plan);
    runs_remove(s->folder);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static void made(struct scene *s, const char *name, const char *mode, uint64_t seed)
{
    const struct made_run run = {name, mode, "aaaa", 2, seed, 0.2, 0.9};
    runs_finished(s->runs, &run);
}

static void begin(struct scene *s)
{
    ck_assert_msg(results_init(&s->results, &s->interleaving, &s->error) == STATUS_OK, "%s",
                  s->error.text);
}

static const struct comparison *collect(struct scene *s)
{
    ck_assert_msg(results_collect(&s->results, &s->error) == STATUS_OK, "%s", s->error.text);
    return &s->results.all;
}

TEST(what_was_there_is_known_before_its_turn)
{
    made(s, "async-w2-s2", "async", 2);
    made(s, "sync-w2-s2", "sync", 2);
    s->interleaving.kept[2] = s->interleaving.kept[3] = true;
    begin(s);
    const struct comparison *all = collect(s);
    ck_assert_uint_eq(all->record_count, 2);
    ck_assert_uint_eq(all->planned, 4);
    ck_assert_uint_eq(comparison_to_come(all), 2);
}

TEST(arms_and_runs_are_in_the_order_of_the_plan)
{
    made(s, "async-w2-s2", "async", 2);
    s->interleaving.kept[2] = true;
    begin(s);
    ck_assert_str_eq(collect(s)->groups[0].config.name, "async-w2");
    made(s, "sync-w2-s1", "sync", 1);
    ck_assert_int_eq(results_read(&s->results, 0, &s->error), STATUS_OK);
    const struct comparison *all = collect(s);
    ck_assert_uint_eq(all->group_count, 2);
    ck_assert_str_eq(all->groups[0].config.name, "sync-w2");
    ck_assert_str_eq(all->groups[1].config.name, "async-w2");
    ck_assert_uint_eq(all->records[0]->seed, 1);
    ck_assert_uint_eq(all->records[1]->seed, 2);
}

TEST(a_run_that_failed_is_named_and_one_that_is_not_there_says_so)
{
    begin(s);
    ck_assert_int_eq(results_read(&s->results, 0, &s->error), STATUS_NOT_FOUND);
    ck_assert_int_eq(results_fail(&s->results, 1, 5, "it is full", &s->error), STATUS_OK);
    const struct comparison *all = collect(s);
    ck_assert_uint_eq(results_failed(&s->results), 1);
    ck_assert_uint_eq(all->failed_count, 1);
    ck_assert_str_eq(all->failed[0].name, "async-w2-s1");
    ck_assert_str_eq(all->failed[0].reason, "it is full");
    ck_assert_int_eq(all->failed[0].exit_code, 5);
    ck_assert_uint_eq(collect(s)->failed_count, 1);
}

int main(void)
{
    return suite_run("results", NULL);
}
