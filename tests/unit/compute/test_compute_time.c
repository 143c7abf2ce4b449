/* test_compute_time.c - what is typed, and the times that follow from seed, step, leaf and worker.
 * The numbers were computed elsewhere, from the published Philox and another library's logarithms. */
/* promises: compute */

#include "common/compute/compute_time.h"

#include <string.h>

#include "tests/lib/regular.h"
#include "tests/lib/suite.h"

/* Of 40 examples in batches of 22 there are leaves of 16 and 6, and of 16 and 2. */
static const struct job job = {.seed = UINT64_C(0x0123456789abcdef),
                               .examples = 40,
                               .batch = 22,
                               .micro_batch = 16,
                               .steps = 100};
/* Leaves of one example each are whole ones. */
static const struct job wide = {.seed = UINT64_C(0x0123456789abcdef),
                                .examples = UINT64_C(1) << 40,
                                .batch = 8,
                                .micro_batch = 1,
                                .steps = UINT64_C(1) << 36};

#define SECOND_NS UINT64_C(1000000000)

static struct compute_time read_time(const char *compute, const char *straggle)
{
    struct error error;
    struct compute_time time = {.slow = 1};
    ck_assert_msg(compute_time_read(compute, &time, &error) == STATUS_OK, "%s", error.text);
    if (straggle != NULL)
        ck_assert_msg(compute_time_read_straggle(straggle, &time, &error) == STATUS_OK, "%s",
                      error.text);
    return time;
}

TEST_PLAIN(draws_are_these_on_every_host)
{
    static const struct {
        const char *text;
        uint64_t ns[4];
    } golden[] = {
        {"constant:30ms", {30000000, 30000000, 30000000, 30000000}},
        {"uniform:20ms,40ms", {38202576, 28640453, 30226396, 20030190}},
        {"exponential:30ms", {2825074, 25178316, 20122800, 194879217}},
        {"exponential:0.03s,10000us", {11883382, 26785544, 23415200, 139919478}},
        {"lognormal:30ms,0.3", {30730625, 43452115, 40974312, 14356171}},
        {"Pareto:30ms,2", {22235905, 32274014, 29666064, 545995508}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct compute_time time = read_time(golden[i].text, NULL);
        for (uint32_t worker = 0; worker < 2; worker++) {
            const uint64_t ns[4] = {leaf_ns(&time, &wide, worker, 0, 0),
                                    leaf_ns(&time, &wide, worker, 0, 1),
                                    leaf_ns(&time, &wide, worker, 7, 0),
                                    leaf_ns(&time, &wide, worker, UINT64_C(1) << 33, 3)};
            for (int j = 0; j < 4; j++)
                ck_assert_msg(ns[j] == golden[i].ns[j], "%s, number %d: %llu", golden[i].text, j,
                              (unsigned long long)ns[j]);
        }
    }
}

TEST_PLAIN(a_ragged_leaf_takes_its_share_and_a_slow_worker_longer)
{
    struct compute_time time = read_time("constant:32ms", NULL);
    ck_assert_uint_eq(leaf_ns(&time, &job, 0, 0, 0), 32000000);
    ck_assert_uint_eq(leaf_ns(&time, &job, 0, 0, 1), 12000000);
    ck_assert_uint_eq(leaf_ns(&time, &job, 0, 1, 1), 4000000);
    time.slow = 2.5;
    ck_assert_uint_eq(leaf_ns(&time, &job, 0, 1, 1), 10000000);
    time = read_time("constant:3600s", NULL);
    time.slow = 1000;
    ck_assert_uint_eq(leaf_ns(&time, &job, 0, 0, 0), COMPUTE_TIME_MOST_NS);
}

TEST_PLAIN(stragglers_are_these_workers_at_these_steps)
{
    static const double factors[3][4] = {
        {1, 1, 7.55983868573333, 1}, {1, 1, 1, 1}, {8.814175144603448, 1, 1, 9.928729525308238}};
    struct compute_time time = read_time("constant:1ms", "0.5:pareto:10");
    for (uint32_t worker = 0; worker < 3; worker++)
        for (uint32_t step = 0; step < 4; step++) {
            for (uint32_t leaf = 0; leaf < 8; leaf++) /* All alike. */
                ck_assert_uint_eq(leaf_ns(&time, &wide, worker, step, leaf),
                                  (uint64_t)(factors[worker][step] * 1e6));
        }
}

/* A batch that was slow once is as likely as any other to be quick the next time. */
TEST_PLAIN(what_was_refused_draws_anew)
{
    struct compute_time time = read_time("exponential:30ms", "0.3:pareto:10");
    struct compute_time steady = read_time("constant:1s", "0.3:pareto:10"); /* The factor alone. */
    double sum = 0;
    uint32_t slower = 0;
    ck_assert_int_eq(compute_time_read_pause("0.3:exponential:90ms", &time, NULL), STATUS_OK);
    for (uint64_t step = 0; step < 1000; step++) {
        struct step_shape shape = step_shape_of(&wide, step, NULL);
        uint64_t before = compute_time_leaf_ns(&time, &wide, 0, &shape, 0);
        uint64_t factor = compute_time_leaf_ns(&steady, &wide, 0, &shape, 0);
        uint64_t pause = compute_time_pause_ns(&time, wide.seed, 0, &shape);
        for (shape.refusals = 1; shape.refusals < 4; shape.refusals++) {
            uint64_t ns = compute_time_leaf_ns(&time, &wide, 0, &shape, 0);
            uint64_t again = compute_time_leaf_ns(&steady, &wide, 0, &shape, 0);
            ck_assert_uint_ne(ns, before);
            ck_assert(again != factor || factor == SECOND_NS);
            ck_assert(pause == 0 || pause != compute_time_pause_ns(&time, wide.seed, 0, &shape));
            slower += ns > before;
            sum += (double)ns / (double)again;
        }
    }
    ck_assert(slower > 1350 && slower < 1650);
    ck_assert_double_eq_tol(sum / 3000, 30e-3, 2e-3);
}

/* Of 100,000: how many straggle, and how many of these take more than the median. */
static void count_stragglers(const char *text, uint32_t *straggle, uint32_t *above)
{
    struct compute_time time = read_time("constant:1s", text);
    struct job five = wide;
    five.seed = 5;
    *straggle = *above = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t ns = leaf_ns(&time, &five, i % 4, i / 4, 0);
        ck_assert_uint_ge(ns, SECOND_NS);
        *straggle += ns > SECOND_NS;
        *above += ns > 4 * SECOND_NS;
    }
}

TEST_PLAIN(half_of_the_stragglers_take_longer_than_the_median)
{
    static const char *const texts[] = {"0.2:uniform:4",   "0.2:exponential:4",
                                        "0.2:lognormal:4", "0.2:lognormal,0.9:4",
                                        "0.2:pareto:4",    "0.2:pareto,1.5:4"};
    uint32_t straggle, above;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        count_stragglers(texts[i], &straggle, &above);
        /* Of those drawn below 1, few, it is not seen that they straggle. */
        ck_assert_msg(straggle > 18500 && straggle < 20500, "%s: %u", texts[i], straggle);
        ck_assert_msg(above > 9600 && above < 10400, "%s: %u", texts[i], above);
    }
    count_stragglers("0.2:constant:4.5", &straggle, &above);
    ck_assert_uint_eq(straggle, above);
    ck_assert(straggle > 19500 && straggle < 20500);
}

TEST_PLAIN(without_stragglers_nobody_is_one)
{
    struct compute_time time = read_time("constant:1ms", NULL);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_uint_eq(leaf_ns(&time, &wide, i, i, 0), 1000000);
}

/* --- what is typed --------------------------------------------------------------------------- */

struct mistake {
    const char *text, *answer;
};

static void expect_mistakes(const struct mistake *mistakes, size_t count,
                            enum status (*read)(const char *text, struct compute_time *time,
                                                struct error *error))
{
    for (size_t i = 0; i < count; i++) {
        struct error error = {0};
        struct compute_time time = {.slow = 1}, as_it_was = time;
        ck_assert_msg(read(mistakes[i].text, &time, &error) == STATUS_INVALID, "%s",
                      mistakes[i].text);
        ck_assert_str_eq(error.text, mistakes[i].answer);
        ck_assert(!memcmp(&time, &as_it_was, sizeof time));
        ck_assert(read(mistakes[i].text, &time, NULL) == STATUS_INVALID);
    }
}

TEST_PLAIN(a_time_that_is_none_is_named)
{
    static const struct mistake mistakes[] = {
        {"", "'' is not constant, uniform, exponential, lognormal, pareto or trace"},
        {"30ms", "'30ms' has no kind before it: constant:30ms"},
        {"lognorml:30ms,0.3",
         "'lognorml' is not constant, uniform, exponential, lognormal, pareto or trace "
         "(did you mean lognormal?)"},
        {"constant", "constant needs a time, as in constant:30ms"},
        {"constant:", "'' is not a time such as 30ms, 1.5s or 200us"},
        {"constant:30", "'30' needs a unit: us, ms or s"},
        {"constant:30min", "'30min' needs a unit: us, ms or s"},
        {"constant:-30ms", "'-30ms' is not a time such as 30ms, 1.5s or 200us"},
        {"constant:1.2.3ms", "'1.2.3ms' is not a time such as 30ms, 1.5s or 200us"},
        {"constant:0ms", "'0ms' is not a time from 1us to 3600s"},
        {"constant:3601s", "'3601s' is not a time from 1us to 3600s"},
        {"constant:30ms,2", "constant has one time, not '2'"},
        {"constant:30ms,", "constant has one time, not ''"},
        {"uniform:30ms", "uniform needs two numbers, as in uniform:30ms,60ms"},
        {"uniform:30ms,20ms", "the larger time comes last"},
        {"exponential:30ms,30ms", "the mean is no more than the least time"},
        {"lognormal", "lognormal needs two numbers, as in lognormal:30ms,0.3"},
        {"lognormal:30ms,0", "'0' is not a SIGMA above 0, at most 3"},
        {"lognormal:30ms,0.3,1", "lognormal has two numbers at most"},
        {"pareto:30ms,1", "'1' is not an EXPONENT above 1, at most 100"},
        {"pareto:30ms,nan", "'nan' is not an EXPONENT above 1, at most 100"},
    };
    expect_mistakes(mistakes, sizeof mistakes / sizeof *mistakes, compute_time_read);
}

TEST_PLAIN(a_straggler_that_is_none_is_named)
{
    static const struct mistake mistakes[] = {
        {"0.05", "needs PROBABILITY:DISTRIBUTION:FACTOR, as in 0.05:pareto:10"},
        {"0.05:pareto", "needs PROBABILITY:DISTRIBUTION:FACTOR, as in 0.05:pareto:10"},
        {"5:pareto:10", "'5' is not a probability above 0, at most 1"},
        {"0:pareto:10", "'0' is not a probability above 0, at most 1"},
        {"0.05:parreto:10", "'parreto' is not constant, uniform, exponential, lognormal or pareto "
                            "(did you mean pareto?)"},
        {"0.05:pareto:1", "'1' is not a factor above 1, at most 1000"},
        {"0.05:pareto:10:2", "'10:2' is not a factor above 1, at most 1000"},
        {"0.05:pareto,1:10", "'1' is not an EXPONENT above 1, at most 100"},
        {"0.05:lognormal,9:10", "'9' is not a SIGMA above 0, at most 3"},
        {"0.05:constant,2:10", "constant has no shape such as '2'"},
    };
    expect_mistakes(mistakes, sizeof mistakes / sizeof *mistakes, compute_time_read_straggle);
}

TEST_PLAIN(a_worker_pauses_before_some_computations_and_others_before_others)
{
    struct compute_time time = {.slow = 3};
    uint32_t paused = 0, both = 0;
    double sum = 0;
    ck_assert_uint_eq(pause_ns(&time, 1, 0, 0), 0);
    ck_assert_int_eq(compute_time_read_pause("0.1:exponential:200ms", &time, NULL), STATUS_OK);
    ck_assert(!time.controlled);
    for (uint64_t step = 0; step < 10000; step++) {
        uint64_t ns = pause_ns(&time, 1, 3, step);
        ck_assert_uint_eq(ns, pause_ns(&time, 1, 3, step));
        paused += ns > 0;
        both += ns > 0 && pause_ns(&time, 1, 4, step) > 0;
        sum += (double)ns;
    }
    ck_assert(paused > 900 && paused < 1100 && both > 50 && both < 160);
    ck_assert_double_eq_tol(sum / paused, 200e6, 25e6);
}

TEST_PLAIN(a_pause_that_is_none_is_named)
{
    static const struct mistake mistakes[] = {
        {"", "needs PROBABILITY:DISTRIBUTION, as in 0.01:exponential:200ms"},
        {"0.1", "needs PROBABILITY:DISTRIBUTION, as in 0.01:exponential:200ms"},
        {"2:constant:1ms", "'2' is not a probability above 0, at most 1"},
        {"0.1:trace:runs/one",
         "'trace' is not constant, uniform, exponential, lognormal or pareto"},
        {"0.1:constant:1", "'1' needs a unit: us, ms or s"},
    };
    expect_mistakes(mistakes, sizeof mistakes / sizeof *mistakes, compute_time_read_pause);
}

int main(void)
{
    return suite_run("compute time", NULL);
}
