/* test_arms.c - what --vary makes of a command: which arms there are, what each is told and is called. */

#include "deploy/compare/arms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

#define WORDS_MAX 12

struct scene {
    struct options options;
    struct arms arms;
    struct error error;
};

static void close_scene(struct scene *s)
{
    arms_free(&s->arms);
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
    arms_free(&s->arms);
    return arms_make(&s->arms, &s->options, argc, argv, &s->error);
}

#define MAKE(...) make(s, (const char *const[WORDS_MAX]){__VA_ARGS__, NULL})

static void has_names(const struct scene *s, const char *const *names)
{
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        ck_assert_uint_lt(count, s->arms.count);
        ck_assert_str_eq(s->arms.list[count].arm.name, names[count]);
    }
    ck_assert_uint_eq(s->arms.count, count);
}

#define NAMES(...) has_names(s, (const char *const[]){__VA_ARGS__, NULL})

TEST(modes_and_workers_are_axes_that_need_no_vary)
{
    ck_assert_int_eq(MAKE("--modes", "sync,ssp:3", "--workers=1,4"), STATUS_OK);
    NAMES("sync-w1", "sync-w4", "ssp-3-w1", "ssp-3-w4");
    ck_assert_uint_eq(s->arms.list[3].options.workers, 4);
    ck_assert_uint_eq(s->arms.list[3].options.job.staleness_bound, 3);
    ck_assert_str_eq(s->arms.list[3].arm.varied, "");
}

TEST(every_value_of_one_option_meets_every_value_of_another)
{
    ck_assert_int_eq(MAKE("--modes=sync", "--vary", "learning-rate=0.1,0.2", "--vary", "ps=1,3"),
                     STATUS_OK);
    NAMES("sync-w2-learning-rate-0.1-ps-1", "sync-w2-learning-rate-0.1-ps-3",
          "sync-w2-learning-rate-0.2-ps-1", "sync-w2-learning-rate-0.2-ps-3");
    ck_assert_uint_eq(s->arms.list[1].options.ps, 3);
    ck_assert_double_eq(s->arms.list[2].options.job.schedule.learning_rate, 0.2);
    ck_assert_str_eq(s->arms.list[1].arm.varied, "learning-rate 0.1, ps 3");
}

TEST(values_joined_by_a_plus_are_taken_in_pairs)
{
    ck_assert_int_eq(MAKE("--modes=async", "--vary=workers=1,2,4+learning-rate=0.4,0.2,0.1"),
                     STATUS_OK);
    NAMES("async-w1-learning-rate-0.4", "async-w2-learning-rate-0.2", "async-w4-learning-rate-0.1");
    ck_assert_uint_eq(s->arms.list[2].options.workers, 4);
    ck_assert_double_eq(s->arms.list[2].options.job.schedule.learning_rate, 0.1);
    ck_assert_int_eq(MAKE("--vary=workers=1,2+ps=1"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "workers has 2 values and ps 1"));
    ck_assert_int_eq(MAKE("--modes=async", "--vary=workers=1,1,2+worker-batch=64,8,8"), STATUS_OK);
    NAMES("async-w1-worker-batch-64", "async-w1-worker-batch-8", "async-w2-worker-batch-8");
}

TEST(an_option_that_an_arm_has_no_use_for_is_not_in_it)
{
    ck_assert_int_eq(MAKE("--modes=sync,async", "--vary=max-staleness=1,2"), STATUS_OK);
    NAMES("sync-w2", "async-w2-max-staleness-1", "async-w2-max-staleness-2");
    ck_assert_uint_eq(s->arms.list[0].options.job.max_staleness, 0);
    ck_assert_int_eq(MAKE("--modes=sync", "--beta1=0.8", "--vary=optimizer=sgd,adam"), STATUS_OK);
    NAMES("sync-w2-optimizer-sgd", "sync-w2-optimizer-adam");
    ck_assert(isnan(s->arms.list[0].options.job.optimizer.beta1));
    ck_assert_double_eq_tol(s->arms.list[1].options.job.optimizer.beta1, 0.8, 1e-6);
}

TEST(values_with_commas_are_parted_by_semicolons)
{
    ck_assert_int_eq(MAKE("--modes=sync", "--vary=compute=lognormal:20ms,0.3;constant:20ms"),
                     STATUS_OK);
    NAMES("sync-w2-compute-lognormal-20ms-0.3", "sync-w2-compute-constant-20ms");
    ck_assert_str_eq(s->arms.list[0].options.compute, "lognormal:20ms,0.3");
}

/* With as many examples for each worker a step of four has four times as many; async's has not. */
TEST(an_equal_batch_for_each_worker_scales_batch_and_rate)
{
    ck_assert_int_eq(MAKE("--modes=sync,async", "--workers=4", "--global-batch=32",
                          "--fair=worker-batch", "--scale-rate=linear", "--learning-rate=0.1"),
                     STATUS_OK);
    ck_assert_uint_eq(s->arms.list[0].options.global_batch, 128);
    ck_assert_double_eq_tol(s->arms.list[0].options.job.schedule.learning_rate, 0.4, 1e-15);
    ck_assert_uint_eq(s->arms.list[1].options.global_batch, 32);
    ck_assert_double_eq(s->arms.list[1].options.job.schedule.learning_rate, 0.1);
    ck_assert_int_eq(
        MAKE("--modes=sync", "--workers=4", "--fair=worker-batch", "--scale-rate=sqrt"), STATUS_OK);
    ck_assert_double_eq(s->arms.list[0].options.job.schedule.learning_rate, 0.002);
    ck_assert_int_eq(MAKE("--scale-rate=linear"), STATUS_INVALID);
    ck_assert_int_eq(MAKE("--fair=worker-batch", "--steps=10"), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(s->error.text, "not the same work"));
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

int main(void)
{
    return suite_run("arms", NULL);
}
