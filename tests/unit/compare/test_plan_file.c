/* test_plan_file.c - plans in JSON: what is read, what is refused and where, what is written, and who goes on
 * with a comparison. */

#include "deploy/compare/plan_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/compare/comparison_folder.h"
#include "tests/lib/suite.h"

#define ARGUMENTS_MAX 8

struct scene {
    char out[64];
    struct plan plan;
    struct error error;
};

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->out, "/tmp/syncopate-plan-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->out));
}

static void close_scene(struct scene *s)
{
    char path[128];
    plan_free(&s->plan);
    snprintf(path, sizeof path, "%s/" PLAN_FILE, s->out);
    unlink(path);
    ck_assert_int_eq(rmdir(s->out), 0);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

/* --- reading --------------------------------------------------------------------------------- */

static enum status read_text(struct scene *s, const char *text)
{
    plan_free(&s->plan);
    s->error = (struct error){0};
    return plan_read(&s->plan, text, strlen(text), "p.json", &s->error);
}

#define HEAD "{\"format\": \"" PLAN_FORMAT "\",\n "

static const char whole[] =
    HEAD "\"about\": \"what warm-up does\",\n"
         " \"options\": {\"data\": \"synthetic\", \"epochs\": 3, \"virtual\": true,\n"
         "   \"l2\": 1e-3, \"seeds\": 5},\n"
         " \"vary\": [{\"mode\": [\"sync\", \"async\"]}, {\"workers\": [1, 2], \"ps\": [1, 1]},\n"
         "   {\"link\": [\"worker/0:1Gbit;ps/0:1Gbit,5us\"]}],\n"
         " \"arms\": {\"slow\": {\"learning-rate\": 0.01}, \"plain\": {}}}";

static const char *common_value(const struct scene *s, const char *name)
{
    return settings_value(&s->plan.common, option_find(OPTION_COMPARE, name, strlen(name)));
}

TEST(a_plan_has_options_axes_and_arms)
{
    ck_assert_msg(read_text(s, whole) == STATUS_OK, "%s", s->error.text);
    ck_assert_str_eq(s->plan.about, "what warm-up does");
    ck_assert_uint_eq(s->plan.common.count, 5);
    ck_assert_str_eq(common_value(s, "epochs"), "3");
    ck_assert_str_eq(common_value(s, "virtual"), "true");
    ck_assert_str_eq(common_value(s, "l2"), "0.001");
    ck_assert_uint_eq(s->plan.axes.count, 3);
    const struct axis *zipped = &s->plan.axes.list[1];
    ck_assert_uint_eq(zipped->option_count, 2);
    ck_assert_str_eq(zipped->options[0].row->name, "workers");
    ck_assert_str_eq(zipped->options[0].values[1], "2");
    ck_assert_str_eq(zipped->options[1].values[1], "1");
    ck_assert_str_eq(s->plan.axes.list[2].options[0].values[0], "worker/0:1Gbit;ps/0:1Gbit,5us");
    ck_assert_uint_eq(s->plan.configs.count, 2);
    ck_assert_str_eq(s->plan.configs.list[0].name, "slow");
    ck_assert_str_eq(s->plan.configs.list[0].own.items[0].value, "0.01");
}

TEST(what_is_wrong_with_a_plan_is_told_with_its_line_and_its_place)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "p.json"},
        {"[]", "it has no \"format\""},
        {"{\"vary\": []}", "it has no \"format\": \"" PLAN_FORMAT "\""},
        {"{\"format\": \"syncopate-plan-1\"}", "line 1: format needs to be \"" PLAN_FORMAT "\""},
        {HEAD "\"arm\": {}}", "line 2: arm does not belong there"},
        {HEAD "\"about\": 7}", "line 2: about needs a line of text"},
        {HEAD "\"options\": [1]}", "line 2: options needs an object"},
        {HEAD "\"options\": {\"ps\": 1,\n\"ps\": 2}}", "line 3"}, /* By jansson. */
        {HEAD "\"options\": {\"ps\": 1,\n\"p_s\": 2}}", "line 3: options.p_s: there is no such"},
        {HEAD "\"options\": {\"worker-batch\": 1,\n\"worker_batch\": 2}}",
         "line 3: options.worker_batch is there twice"},
        {HEAD "\"options\": {\n\n\"epoch\": 2}}",
         "line 4: options.epoch: there is no such option of compare (did you mean epochs?)"},
        {HEAD "\"options\": {\"epochs\": \"two\"}}", "line 2: options.epochs=two: needs a whole"},
        {HEAD "\"options\": {\"epochs\": 0}}", "line 2: options.epochs=0: needs a whole number"},
        {HEAD "\"options\": {\"epochs\": null}}", "options.epochs needs a text, a number, true or"},
        {HEAD "\"options\": {\"epochs\": [2]}}", "options.epochs needs a text, a number, true or"},
        {HEAD "\"options\": {\"virtual\": \"perhaps\"}}", "options.virtual=perhaps: needs true or"},
        {HEAD "\"options\": {\"modes\": \"sync\"}}", "options.modes belongs in vary: [{\"modes\""},
        {HEAD "\"options\": {\"out\": \"x\"}}", "options.out is not for a plan"},
        {HEAD "\"options\": {\"plan\": \"x\"}}", "options.plan is not for a plan"},
        {HEAD "\"options\": {\"vary\": \"x\"}}", "options.vary is not for a plan"},
        {HEAD "\"vary\": {\"ps\": [1]}}", "line 2: vary needs a list"},
        {HEAD "\"vary\": [{\"ps\": [1, 2]},\n7]}", "line 3: vary[1] needs an object"},
        {HEAD "\"vary\": [{}]}", "vary[0]: needs an option and its values"},
        {HEAD "\"vary\": [{\"ps\": []}]}", "vary[0]: ps has no values"},
        {HEAD "\"vary\": [{\"ps\": 1}]}", "vary[0].ps needs a list of values"},
        {HEAD "\"vary\": [{\"ps\": [1,\n1]}]}", "vary[0]: 1 is there twice"},
        {HEAD "\"vary\": [{\"ps\": [1,\n\"x\"]}]}", "line 3: vary[0].ps[1]=x: needs a whole"},
        {HEAD "\"vary\": [{\"ps\": [1,2], \"workers\": [1]}]}", "ps has 2 values and workers 1"},
        {HEAD "\"vary\": [{\"ps\": [1]},{\"ps\": [2]}]}", "vary[1].ps: it is varied twice"},
        {HEAD "\"vary\": [{\"mode\": [\"sync\"], \"modes\": [\"async\"]}]}", "it is varied twice"},
        {HEAD "\"vary\": [{\"seed\": [1]}]}", "vary[0].seed: it cannot differ between arms"},
        {HEAD "\"vary\": [{\"ps\": [1]}],\n \"options\": {\"ps\": 1}}",
         "line 2: vary[0].ps is in options, too"},
        {HEAD "\"arms\": []}", "line 2: arms needs an object"},
        {HEAD "\"arms\": {\"a b\": {}}}", "line 2: arms.a b: a name is of letters"},
        {HEAD "\"arms\": {\"a\": 7}}", "line 2: arms.a needs an object"},
        {HEAD "\"arms\": {\"a\": {\"ps\": 1},\n\"b\": {\"pss\": 1}}}",
         "line 3: arms.b.pss: there is"},
        {HEAD "\"arms\": {\"a\": {\"mode\": \"sync,async\"}}}",
         "arms.a.mode=sync,async: an arm has"},
        {HEAD "\"arms\": {\"a\": {\"virtual\": true}}}", "arms.a.virtual: it cannot differ"},
        {HEAD "\"arms\": {\"a\": {\"mode\": \"sync\", \"modes\": \"sync\"}}}", "it is there twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(read_text(s, rows[i].text) == STATUS_INVALID, "%s", rows[i].text);
        ck_assert_msg(strstr(s->error.text, rows[i].says) != NULL, "%s: %s", rows[i].text,
                      s->error.text);
        ck_assert_ptr_null(strchr(s->error.text, '\n'));
    }
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_plan(const struct plan *plan, struct json_writer *writer)
{
    json_writer_init(writer, false);
    plan_write(plan, writer);
    ck_assert(!writer->failed);
}

TEST(what_is_written_is_a_plan_the_same)
{
    struct json_writer writer, again;
    ck_assert_int_eq(read_text(s, whole), STATUS_OK);
    write_plan(&s->plan, &writer);
    ck_assert_msg(read_text(s, writer.text) == STATUS_OK, "%s: %s", s->error.text, writer.text);
    write_plan(&s->plan, &again);
    ck_assert_str_eq(writer.text, again.text);
    ck_assert_ptr_nonnull(strstr(writer.text, "\"epochs\": 3,"));
    ck_assert_ptr_nonnull(strstr(writer.text, "\"virtual\": true,"));
    ck_assert_ptr_nonnull(strstr(writer.text, "{\"workers\": [1, 2], \"ps\": [1, 1]}"));
    ck_assert_ptr_nonnull(strstr(writer.text, "\"learning-rate\": 0.01"));
    json_writer_free(&writer);
    json_writer_free(&again);
}

/* --- going on -------------------------------------------------------------------------------- */

/* words[]: up to a NULL. */
static void take(struct plan *plan, const char *const *words)
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
    ck_assert_msg(plan_take(plan, &options, argc, argv, &error) == STATUS_OK, "%s", error.text);
}

#define WORDS(...) ((const char *const[ARGUMENTS_MAX + 1]){__VA_ARGS__})

static void begin(struct scene *s, const char *const *words)
{
    plan_free(&s->plan);
    take(&s->plan, words);
    ck_assert_int_eq(plan_write_file(&s->plan, &disk_posix, s->out, &s->error), STATUS_OK);
}

static enum status goes_on(struct scene *s, const char *const *words)
{
    struct plan plan;
    take(&plan, words);
    enum status status = plan_check(&plan, &disk_posix, s->out, &s->error);
    plan_free(&plan);
    return status;
}

TEST(options_decide_and_not_how_they_are_written_nor_which_runs_there_are)
{
    ck_assert_int_eq(goes_on(s, WORDS("--model=softmax")), STATUS_NOT_FOUND);
    begin(s, WORDS("--global-batch", "32", "--model=softmax", "--learning-rate=1e-3", "--seeds",
                   "2", "--quiet"));
    ck_assert_msg(goes_on(s, WORDS("--model", "softmax", "--global_batch=32", "--modes", "async",
                                   "--workers=3", "--learning-rate=0.001")) == STATUS_OK,
                  "%s", s->error.text);
    ck_assert_int_eq(goes_on(s, WORDS("--model", "softmax", "--global_batch=32", "--margin=1",
                                      "--learning-rate=0.001", "--vary=ps=1,2")),
                     STATUS_OK);
}

TEST(the_first_that_differs_is_named)
{
    begin(s, WORDS("--learning-rate", "0.1", "--model", "softmax"));
    ck_assert_int_eq(goes_on(s, WORDS("--learning-rate", "0.2", "--model", "softmax")),
                     STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(s->error.text, "begun with --learning-rate 0.1, and this one is "
                                                "with --learning-rate 0.2"));
    ck_assert_int_eq(goes_on(s, WORDS("--learning-rate=0.1", "--model=softmax", "--epochs=2")),
                     STATUS_MISMATCH);
    ck_assert_ptr_nonnull(
        strstr(s->error.text, "without --epochs, and this one is with --epochs 2"));
    ck_assert_int_eq(goes_on(s, WORDS("--model", "softmax")), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(s->error.text, "this one is without --learning-rate;"));
}

TEST(an_arm_that_both_have_named_has_to_be_the_same)
{
    begin(s, WORDS("--arm=a=--mode async --ps 2", "--arm=b="));
    ck_assert_int_eq(goes_on(s, WORDS("--arm=c=--ps 3", "--arm=a=--ps 2 --mode=async")), STATUS_OK);
    ck_assert_int_eq(goes_on(s, WORDS("--arm=a=--ps 2 --mode=ssp:3")), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(
        strstr(s->error.text, "with --mode async in arm a, and this one is with --mode ssp:3"));
    ck_assert_int_eq(goes_on(s, WORDS("--arm=b=--workers 3")), STATUS_MISMATCH);
}

TEST(of_an_option_that_is_given_twice_the_last_counts_and_the_environment_is_one_too)
{
    begin(s, WORDS("--ps", "1", "--ps=2"));
    ck_assert_int_eq(goes_on(s, WORDS("--ps", "2")), STATUS_OK);
    setenv("SYNCOPATE_PS", "2", 1);
    enum status status = goes_on(s, WORDS("--seeds", "4"));
    unsetenv("SYNCOPATE_PS");
    ck_assert_int_eq(status, STATUS_OK);
}

TEST(what_is_no_plan_is_no_comparison_to_go_on_with)
{
    static const char *const texts[] = {"", "[]", "{}",
                                        "{\"format\": \"syncopate-plan-1\", \"settings\": {}}"};
    char path[128];
    snprintf(path, sizeof path, "%s/" PLAN_FILE, s->out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct disk_piece piece = {texts[i], strlen(texts[i])};
        ck_assert_int_eq(disk_posix.write_file(disk_posix.context, path, &piece, 1, &s->error),
                         STATUS_OK);
        ck_assert_int_eq(goes_on(s, WORDS("--seeds", "1")), STATUS_INVALID);
        ck_assert_ptr_nonnull(strstr(s->error.text, PLAN_FILE));
    }
}

/* --- its folder -------------------------------------------------------------------------------- */

/* Stopped behind the warm-up there is no run yet. */
TEST(a_comparison_that_is_stopped_before_its_first_run_goes_on)
{
    char warm_up[128];
    snprintf(warm_up, sizeof warm_up, "%s/warm-up", s->out);
    ck_assert_int_eq(read_text(s, whole), STATUS_OK);
    for (int time = 0; time < 3; time++) {
        struct comparison_folder folder;
        ck_assert_msg(comparison_folder_open(&folder, s->out, &s->plan, &s->error) == STATUS_OK,
                      "%s", s->error.text);
        ck_assert(folder.goes_on == (time == 2)); /* The first time nothing came into it. */
        if (time == 1)
            ck_assert_int_eq(mkdir(warm_up, 0777), 0);
        comparison_folder_close(&folder);
    }
    ck_assert_int_eq(rmdir(warm_up), 0);
}

int main(void)
{
    return suite_run("plan_file", NULL);
}
