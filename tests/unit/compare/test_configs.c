/* test_configs.c - what --vary and --arm make of a command: which arms there are, what each is told and is
 * called. */

#include "deploy/compare/configs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

#define WORDS_MAX 12

struct scene {
    struct options options;
    struct plan plan;
    struct configs configs;
    const char *declares; /* Of --program. */
    struct error error;
};

static void close_scene(struct scene *s)
{
    configs_free(&s->configs);
    plan_free(&s->plan);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, memset(s, 0, sizeof *s), close_scene(s))

static enum status make(struct scene *s, const char *const *words)
{
    static char texts[WORDS_MAX][128];
    static char name[] = "compare";
    char *argv[WORDS_MAX + 1] = {name};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++) {
        snprintf(texts[argc - 1], sizeof texts[0], "%s", words[argc - 1]);
        argv[argc] = texts[argc - 1];
    }
    ck_assert_msg(options_parse(&s->options, OPTION_COMPARE, "compare", argc, argv, &s->error) ==
                      OPTIONS_RUN,
                  "%s", s->error.text);
    close_scene(s);
    s->options.declares = s->declares;
    s->options.declared_by = s->options.program;
    enum status status = plan_take(&s->plan, &s->options, argc, argv, &s->error);
    return status == STATUS_OK ? configs_make(&s->configs, &s->plan, &s->options, &s->error)
                               : status;
}

#define MAKE(...) make(s, (const char *const[WORDS_MAX]){__VA_ARGS__, NULL})

static void has_names(const struct scene *s, const char *const *names)
{
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        ck_assert_uint_lt(count, s->configs.count);
        ck_assert_str_eq(s->configs.list[count].config.name, names[count]);
    }
    ck_assert_uint_eq(s->configs.count, count);
}

#define NAMES(...) has_names(s, (const char *const[]){__VA_ARGS__, NULL})

TEST(modes_and_workers_are_axes_that_need_no_vary)
{
    ck_assert_int_eq(MAKE("--modes", "sync,ssp:3", "--workers=1,4"), STATUS_OK);
    NAMES("sync-w1", "sync-w4", "ssp-3-w1", "ssp-3-w4");
    ck_assert_uint_eq(s->configs.list[3].options.workers, 4);
    ck_assert_uint_eq(s->configs.list[3].options.job.staleness_bound, 3);
    ck_assert_str_eq(s->configs.list[3].config.varied, "");
}

TEST(every_value_of_one_option_meets_every_value_of_another)
{
    ck_assert_int_eq(MAKE("--modes=sync", "--vary", "learning-rate=0.1,0.2", "--vary", "ps=1,3"),
                     STATUS_OK);
    NAMES("sync-w2-learning-rate-0.1-ps-1", "sync-w2-learning-rate-0.1-ps-3",
          "sync-w2-learning-rate-0.2-ps-1", "sync-w2-learning-rate-0.2-ps-3");
    ck_assert_uint_eq(s->configs.list[1].options.ps, 3);
    ck_assert_double_eq(s->configs.list[2].options.job.schedule.learning_rate, 0.2);
    ck_assert_str_eq(s->configs.list[1].config.varied, "learning-rate 0.1, ps 3");
}

TEST(values_joined_by_a_plus_are_taken_in_pairs)
{
    ck_assert_int_eq(MAKE("--modes=async", "--vary=workers=1,2,4+learning-rate=0.4,0.2,0.1"),
                     STATUS_OK);
    NAMES("async-w1-learning-rate-0.4", "async-w2-learning-rate-0.2", "async-w4-learning-rate-0.1");
    ck_assert_uint_eq(s->configs.list[2].options.workers, 4);
    ck_assert_double_eq(s->configs.list[2].options.job.schedule.learning_rate, 0.1);
    ck_assert_int_eq(MAKE("--vary=workers=1,2+ps=1"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "workers has 2 values and ps 1"));
    ck_assert_int_eq(MAKE("--modes=async", "--vary=workers=1,1,2+worker-batch=64,8,8"), STATUS_OK);
    NAMES("async-w1-worker-batch-64", "async-w1-worker-batch-8", "async-w2-worker-batch-8");
}

TEST(an_option_that_an_arm_has_no_use_for_is_not_in_it)
{
    ck_assert_int_eq(MAKE("--modes=sync,async", "--vary=max-staleness=1,2"), STATUS_OK);
    NAMES("sync-w2", "async-w2-max-staleness-1", "async-w2-max-staleness-2");
    ck_assert_uint_eq(s->configs.list[0].options.job.max_staleness, 0);
    ck_assert_int_eq(MAKE("--modes=sync", "--beta1=0.8", "--vary=optimizer=sgd,adam"), STATUS_OK);
    NAMES("sync-w2-optimizer-sgd", "sync-w2-optimizer-adam");
    ck_assert(isnan(s->configs.list[0].options.job.optimizer.beta1));
    ck_assert_double_eq_tol(s->configs.list[1].options.job.optimizer.beta1, 0.8, 1e-6);
}

TEST(values_with_commas_are_parted_by_semicolons)
{
    ck_assert_int_eq(MAKE("--modes=sync", "--vary=compute=lognormal:20ms,0.3;constant:20ms"),
                     STATUS_OK);
    NAMES("sync-w2-compute-lognormal-20ms-0.3", "sync-w2-compute-constant-20ms");
    ck_assert_str_eq(s->configs.list[0].options.compute, "lognormal:20ms,0.3");
}

TEST(the_loss_of_the_model_is_no_link_s)
{
    ck_assert_int_eq(MAKE("--loss=mse"), STATUS_OK);
    ck_assert_str_eq(s->configs.list[0].options.data_settings[DATA_SETTING_LOSS], "mse");
    ck_assert_ptr_null(s->configs.list[0].options.cluster[CLUSTER_TEXT_LOSS]);
}

TEST(what_a_program_suggests_counts_as_given)
{
    s->declares =
        "{\"name\": \"net\", \"variables\": [{\"name\": \"w\", \"shape\": [2]}], \"options\": "
        "{\"optimizer\": \"sgd\", \"learning-rate\": 0.5, \"global-batch\": 60}}";
    ck_assert_msg(MAKE("--program=net", "--modes=sync,async", "--workers=4", "--fair=worker-batch",
                       "--scale-rate=linear", "--vary=optimizer=momentum,adam") == STATUS_OK,
                  "%s", s->error.text);
    const struct options *sync = &s->configs.list[0].options, *async = &s->configs.list[3].options;
    ck_assert_uint_eq(sync->global_batch, 240);
    ck_assert_double_eq(sync->job.schedule.learning_rate, 2);
    ck_assert_str_eq(sync->job.optimizer.name, "momentum");
    ck_assert_uint_eq(async->global_batch, 60);
    ck_assert_double_eq(async->job.schedule.learning_rate, 0.5);
    ck_assert(options_given(async, OPTION_COMPARE, "global-batch"));
    ck_assert_int_eq(MAKE("--program=net"), STATUS_OK);
    ck_assert_str_eq(s->configs.list[0].options.job.optimizer.name, "sgd");
    s->declares = "{}";
    ck_assert_int_eq(MAKE("--program=net"), STATUS_INVALID);
}

/* With as many examples for each worker a step of four has four times as many; async's has not. */
TEST(an_equal_batch_for_each_worker_scales_batch_and_rate)
{
    ck_assert_int_eq(MAKE("--modes=sync,async", "--workers=4", "--global-batch=32",
                          "--fair=worker-batch", "--scale-rate=linear", "--learning-rate=0.1"),
                     STATUS_OK);
    ck_assert_uint_eq(s->configs.list[0].options.global_batch, 128);
    ck_assert_double_eq_tol(s->configs.list[0].options.job.schedule.learning_rate, 0.4, 1e-15);
    ck_assert_uint_eq(s->configs.list[1].options.global_batch, 32);
    ck_assert_double_eq(s->configs.list[1].options.job.schedule.learning_rate, 0.1);
    ck_assert_int_eq(
        MAKE("--modes=sync", "--workers=4", "--fair=worker-batch", "--scale-rate=sqrt"), STATUS_OK);
    ck_assert_double_eq(s->configs.list[0].options.job.schedule.learning_rate, 0.002);
    ck_assert_int_eq(MAKE("--scale-rate=linear"), STATUS_INVALID);
    ck_assert_int_eq(MAKE("--fair=worker-batch", "--steps=10"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "not the same work"));
}

/* Over an epoch, or a fifth of training; of async nothing is raised, and nothing rises. */
TEST(a_rate_that_is_raised_begins_as_it_would_have_been)
{
#define SCALED "--workers=4", "--fair=worker-batch", "--scale-rate=linear"
    ck_assert_int_eq(MAKE("--modes=sync,async", SCALED, "--epochs=10"), STATUS_OK);
    const struct options *sync = &s->configs.list[0].options, *async = &s->configs.list[1].options;
    ck_assert_double_eq(sync->warmup_epochs, 1);
    ck_assert_double_eq(sync->job.schedule.warmup_from, 0.25);
    ck_assert(isnan(async->warmup_epochs));
    ck_assert_double_eq(async->job.schedule.warmup_from, 0);
    ck_assert_int_eq(MAKE("--modes=sync", SCALED, "--epochs=2"), STATUS_OK);
    ck_assert_double_eq(s->configs.list[0].options.warmup_epochs, 0.4);
    ck_assert_int_eq(MAKE("--modes=sync", SCALED, "--warmup-steps=0"), STATUS_OK);
    ck_assert(isnan(s->configs.list[0].options.warmup_epochs));
    ck_assert_double_eq(s->configs.list[0].options.job.schedule.warmup_from, 0);
    ck_assert_int_eq(MAKE("--modes=sync", SCALED, "--warmup-steps=9",
                          "--arm=a=", "--arm=b=--warmup-epochs 0.5", "--arm=c=--warmup-from 0"),
                     STATUS_OK);
    ck_assert_uint_eq(s->configs.list[0].options.job.schedule.warmup_steps, 9);
    ck_assert_double_eq(s->configs.list[0].options.job.schedule.warmup_from, 0.25);
    ck_assert_uint_eq(s->configs.list[1].options.job.schedule.warmup_steps, 0);
    ck_assert_double_eq(s->configs.list[1].options.warmup_epochs, 0.5);
    ck_assert_double_eq(s->configs.list[2].options.job.schedule.warmup_from, 0);
    ck_assert_int_eq(
        MAKE("--modes=sync", "--workers=1", "--fair=worker-batch", "--scale-rate=sqrt"), STATUS_OK);
    ck_assert(isnan(s->configs.list[0].options.warmup_epochs));
#undef SCALED
}

TEST(what_cannot_be_varied_is_named)
{
    static const struct {
        const char *vary, *says;
    } rows[] = {
        {"learning-rat=1,2", "did you mean learning-rate?"},
        {"seed=1,2", "--seeds"},
        {"out=a,b", "--vary out: it cannot differ"},
        {"vary=a", "--vary vary: it cannot differ"},
        {"learning-rate=", "a value is empty"},
        {"learning-rate=1,,2", "a value is empty"},
        {"learning-rate=1,1", "1 is there twice"},
        {"workers=2,1,2+ps=1,1,1", "--vary workers: 2 is there twice, with the same beside it"},
        {"learning-rate=1,x", "--learning-rate=x: needs a number"},
        {"learning-rate", "needs NAME=VALUE"},
        {"mode=sync,fast", "'fast' is no mode"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(MAKE("--vary", rows[i].vary), STATUS_INVALID);
        ck_assert_msg(strstr(s->error.text, rows[i].says) != NULL, "%s: %s", rows[i].vary,
                      s->error.text);
    }
    ck_assert_int_eq(MAKE("--learning-rate=1", "--vary", "learning-rate=1,2"), STATUS_INVALID);
    ck_assert_int_eq(MAKE("--vary", "ps=1,2", "--vary", "ps=1,2"), STATUS_INVALID);
}

TEST(a_name_that_is_too_long_has_a_number)
{
    ck_assert_int_eq(MAKE("--modes=sync",
                          "--vary=model=softmax;conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, "
                          "flatten, dense 128 relu, dense 10"),
                     STATUS_OK);
    NAMES("sync-w2-model-softmax", "sync-w2-arm2");
}

TEST(more_arms_than_fit_are_refused)
{
    ck_assert_int_eq(MAKE("--workers=1,2,3,4,5,6,7,8,9,10", "--vary=ps=1,2,3,4,5,6,7"),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "140 kinds of run"));
}

static const struct config *config(const struct scene *s, size_t index)
{
    return &s->configs.list[index].config;
}

TEST(an_arm_by_name_has_what_it_says_and_what_is_common)
{
    ck_assert_int_eq(MAKE("--epochs=3", "--optimizer=adam", "--beta1=0.8",
                          "--arm=slow-start=--mode async --learning-rate 0.01 --warmup-steps=100",
                          "--arm", "plain=", "--arm=sgd=--optimizer sgd --steps 7"),
                     STATUS_OK);
    NAMES("slow-start", "plain", "sgd");
    const struct options *slow = &s->configs.list[0].options, *sgd = &s->configs.list[2].options;
    ck_assert_str_eq(job_mode_text(&slow->job).text, "async");
    ck_assert_double_eq(slow->job.schedule.learning_rate, 0.01);
    ck_assert_uint_eq(slow->job.schedule.warmup_steps, 100);
    ck_assert_uint_eq(slow->epochs, 3);
    ck_assert_float_eq_tol(slow->job.optimizer.beta1, 0.8F, 1e-6F);
    ck_assert_str_eq(config(s, 0)->label, "slow-start");
    ck_assert_str_eq(config(s, 0)->given, "--mode async --learning-rate 0.01 --warmup-steps 100");
    ck_assert_str_eq(job_mode_text(&s->configs.list[1].options.job).text, "sync");
    ck_assert_str_eq(config(s, 1)->given, "");
    ck_assert(isnan(sgd->job.optimizer.beta1)); /* Which sgd has no use for. */
    ck_assert_uint_eq(sgd->job.steps, 7);
}

TEST(axes_of_several_values_make_as_many_arms_of_each_that_is_named)
{
    ck_assert_int_eq(MAKE("--arm=a=--ps 2", "--arm=b=", "--modes=sync,ssp:3", "--workers=1,4",
                          "--vary=learning-rate=0.1,0.2"),
                     STATUS_OK);
    ck_assert_uint_eq(s->configs.count, 16);
    ck_assert_str_eq(config(s, 7)->name, "a-ssp-3-w4-learning-rate-0.2");
    ck_assert_str_eq(config(s, 7)->label, "a, ssp:3, 4 workers, learning-rate 0.2");
    ck_assert_str_eq(config(s, 7)->varied, "a, learning-rate 0.2");
    ck_assert_uint_eq(s->configs.list[7].options.ps, 2);
    ck_assert_str_eq(config(s, 8)->name, "b-sync-w1-learning-rate-0.1");
}

TEST(a_list_of_one_value_is_common_and_an_arm_may_say_otherwise)
{
    ck_assert_int_eq(MAKE("--modes=async", "--workers=3", "--vary=ps=2",
                          "--arm=a=--mode sync --workers 5", "--arm=b=--ps 4"),
                     STATUS_OK);
    NAMES("a-ps-2", "b");
    ck_assert_uint_eq(s->configs.list[0].options.workers, 5);
    ck_assert_str_eq(job_mode_text(&s->configs.list[0].options.job).text, "sync");
    ck_assert_uint_eq(s->configs.list[1].options.workers, 3);
    ck_assert_uint_eq(s->configs.list[1].options.ps, 4);
    ck_assert_int_eq(MAKE("--modes=sync,async", "--arm=a=--mode sync"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "--arm a: --mode=sync: it is varied for all arms"));
}

TEST(two_names_are_two_arms_though_they_have_the_same)
{
    ck_assert_int_eq(MAKE("--arm=a=--ps 1", "--arm=b=--ps 1"), STATUS_OK);
    NAMES("a", "b");
}

/* So that a comparison of which every arm is written down is the one with axes. */
TEST(a_name_that_an_arm_would_have_anyway_is_none)
{
    ck_assert_int_eq(MAKE("--arm=sync-w2=--mode sync --workers 2",
                          "--arm=async-w4-learning-rate-0.1=--mode async --workers 4 "
                          "--learning-rate 0.1"),
                     STATUS_OK);
    NAMES("sync-w2", "async-w4-learning-rate-0.1");
    ck_assert_str_eq(config(s, 0)->label, "");
    ck_assert_str_eq(config(s, 1)->label, "");
    ck_assert_str_eq(config(s, 1)->varied, "learning-rate 0.1");
    ck_assert_str_eq(config(s, 1)->given, "");
}

TEST(
    what_an_arm_says_is_left_out_where_an_axis_has_no_use_for_it_and_refused_where_it_says_so_itself)
{
    ck_assert_int_eq(MAKE("--modes=sync,async", "--arm=a=--max-staleness 2"), STATUS_OK);
    NAMES("a-sync", "a-async");
    ck_assert_uint_eq(s->configs.list[0].options.job.max_staleness, 0);
    ck_assert_uint_eq(s->configs.list[1].options.job.max_staleness, 2);
    ck_assert_int_eq(MAKE("--arm=a=--mode sync --max-staleness 2"), STATUS_INVALID);
    ck_assert_ptr_nonnull(
        strstr(s->error.text, "--arm a: --max-staleness=2: only used with --mode=async|ssp"));
}

TEST(quotes_and_backslashes_keep_words_together)
{
    ck_assert_int_eq(MAKE("--arm=a=--model 'dense 8 relu, dense 10' --data=syn\\thetic",
                          "--arm=b=  --model=\"flatten, dense 10\"\t--use-locking "
                          "--mode async --compute lognormal:3\\ ms"),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "--arm b: --compute='lognormal:3 ms'"));
    ck_assert_int_eq(MAKE("--arm=a=--model 'dense 8 relu, dense 10' --data=syn\\thetic",
                          "--arm=b=  --model=\"flatten, dense 10\"\t--use-locking --mode async"),
                     STATUS_OK);
    ck_assert_str_eq(s->configs.list[0].options.model, "dense 8 relu, dense 10");
    ck_assert_str_eq(s->configs.list[0].options.data, "synthetic");
    ck_assert_str_eq(s->configs.list[1].options.model, "flatten, dense 10");
    ck_assert(s->configs.list[1].options.job.use_locking);
    ck_assert_str_eq(config(s, 1)->given, "--model 'flatten, dense 10' --use-locking --mode async");
}

TEST(what_no_arm_can_be_is_named)
{
    static const struct {
        const char *config, *says;
    } rows[] = {
        {"slow", "--arm=slow: needs NAME=OPTIONS"},
        {"=--ps 2", "--arm==--ps 2: needs NAME=OPTIONS"},
        {"a/b=--ps 2", "--arm a/b: a name is of letters"},
        {"-a=--ps 2", "--arm -a: a name is of letters"},
        {"a=--learning-rat 1", "--arm a: --learning-rat: there is no such option (did you mean"},
        {"a=--learning-rate fast", "--arm a: --learning-rate=fast: needs a number"},
        {"a=--learning-rate", "--arm a: --learning-rate needs a value"},
        {"a=--learning-rate --ps 2", "--arm a: --learning-rate needs a value"},
        {"a=--ps 2 --ps 3", "--arm a: --ps: it is there twice"},
        {"a=--mode sync,async", "--arm a: --mode=sync,async: an arm has one, and this is a list"},
        {"a=--workers 1,2", "--arm a: --workers=1,2: an arm has one"},
        {"a=--seed 3", "--arm a: --seed: it cannot differ between arms; --seeds"},
        {"a=--out x", "--arm a: --out: it cannot differ between arms"},
        {"a=--virtual", "--arm a: --virtual: it cannot differ between arms"},
        {"a=--backup-workers 1", "--arm a: --backup-workers: here it is a mode of its own"},
        {"a=ps 2", "--arm a: ps: options begin with --"},
        {"a=--model 'dense", "--arm a: --model: a quote is not closed"},
        {"a=--ps 2 '--workers", "--arm a: a quote is not closed"},
        {"a=--slow 5:2", "--arm a: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(MAKE("--arm", rows[i].config), STATUS_INVALID);
        ck_assert_msg(strncmp(s->error.text, rows[i].says, strlen(rows[i].says)) == 0, "%s: %s",
                      rows[i].config, s->error.text);
    }
    ck_assert_int_eq(MAKE("--arm=a=", "--arm=a=--ps 2"), STATUS_INVALID);
    ck_assert_str_eq(s->error.text, "--arm a: there are two of this name");
    ck_assert_int_eq(MAKE("--vary=virtual=true,false"), STATUS_INVALID);
}

TEST(a_job_has_one_length_whichever_the_arm_says)
{
    ck_assert_int_eq(MAKE("--steps=10", "--arm=a=--epochs 2", "--arm=b="), STATUS_OK);
    ck_assert_uint_eq(s->configs.list[0].options.job.steps, 0);
    ck_assert_uint_eq(s->configs.list[0].options.epochs, 2);
    ck_assert_uint_eq(s->configs.list[1].options.job.steps, 10);
    ck_assert_int_eq(MAKE("--steps=10", "--modes=sync", "--vary=epochs=1,2"), STATUS_OK);
    ck_assert_uint_eq(s->configs.list[1].options.job.steps, 0);
}

TEST(a_backslash_keeps_a_separator_in_a_value)
{
    ck_assert_int_eq(MAKE("--modes=sync", "--vary=data=a\\,b\\+ps=1\\;c,d\\e"), STATUS_OK);
    ck_assert_uint_eq(s->configs.count, 2);
    ck_assert_str_eq(s->configs.list[0].options.data, "a,b+ps=1;c");
    ck_assert_str_eq(s->configs.list[1].options.data, "d\\e");
}

int main(void)
{
    return suite_run("arms", NULL);
}
