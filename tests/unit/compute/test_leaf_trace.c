/* test_leaf_trace.c - what is drawn from a run's leaves is spread as they were, each worker's for itself, and
 * the same on every host; a run without them is refused by name. */
/* promises: trace-times */

#include "common/compute/leaf_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/compute/compute_time.h"
#include "tests/lib/regular.h"
#include "tests/lib/suite.h"

#define MS 1000000u

/* A disk with one run on it. */
static enum status read_text(void *context, const char *path, size_t max_bytes, void **data,
                             size_t *bytes, struct error *error)
{
    const char *text = context;
    ck_assert_str_eq(path, "runs/one/run.json");
    (void)max_bytes;
    (void)error;
    *bytes = strlen(text);
    *data = malloc(*bytes + 1);
    memcpy(*data, text, *bytes + 1);
    return STATUS_OK;
}

static enum status open_text(struct leaf_trace *trace, const char *text, uint32_t micro_batch,
                             struct error *error)
{
    const struct disk disk = {.context = (char *)(uintptr_t)text, .read_file = read_text};
    return leaf_trace_open(trace, &disk, "runs/one", micro_batch, error);
}

#define RUN(details) "{\"micro_batch\": 16, \"worker_details\": [" details "]}"
#define LEAVES(least, counts)                                                                      \
    "{\"leaf_times\": {\"least_ns\": [" least "], \"counts\": [" counts "]}}"
/* Worker 0: three in four of 20 to 21 ms, one in four of 201 to 210; worker 1: none; worker 2: of 1 to 1.06. */
static const char *const RUNS_ONE =
    RUN(LEAVES("19922944, 201326592", "30, 10") ", {}, " LEAVES("983040", "7"));

TEST_PLAIN(draws_are_spread_as_the_leaves_were)
{
    struct leaf_trace trace;
    struct error error;
    ck_assert_msg(open_text(&trace, RUNS_ONE, 16, &error) == STATUS_OK, "%s", error.text);
    uint32_t short_ones = 0, others = 0;
    double sum = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        uint32_t random[4];
        random_block(3, RANDOM_STREAM_COMPUTE, i, 0, random);
        double ns = leaf_trace_draw(&trace, 0, random);
        bool is_short = ns < 100 * MS;
        ck_assert(is_short ? ns >= 19922944 && ns < 20971520 : ns >= 201326592 && ns < 209715200);
        short_ones += is_short;
        sum += ns;
        ns = leaf_trace_draw(&trace, 2, random);
        ck_assert(ns >= 983040 && ns < 1015808 + 32768);
        ck_assert_double_eq(ns, leaf_trace_draw(&trace, 5, random)); /* Of three workers. */
        others += leaf_trace_draw(&trace, 1, random) > 100 * MS;
    }
    ck_assert(short_ones > 29600 && short_ones < 30400);
    ck_assert_double_eq_tol(
        sum / 40000, 0.75 * (19922944 + 20971520) / 2 + 0.25 * (201326592 + 209715200) / 2.0, 1e6);
    /* Who had none is as all together: 30 + 10 + 7. */
    ck_assert(others > 8300 && others < 8720);
    leaf_trace_close(&trace);
}

TEST_PLAIN(the_ends_and_some_draws_are_what_they_always_were)
{
    static const struct {
        uint32_t random[2];
        double ns;
    } draws[] = {{{0, 0}, 19922944},
                 {{0x80000000, 0}, 20622000},
                 {{0xbfffffff, 0xffffffff}, 20971520},
                 {{0xc0000000, 0}, 201326592},
                 {{0xffffffff, 0xffffffff}, 209715200}};
    struct leaf_trace trace;
    ck_assert_int_eq(open_text(&trace, RUNS_ONE, 0, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
        ck_assert_double_eq_tol(leaf_trace_draw(&trace, 0, draws[i].random), draws[i].ns, 1000);
    leaf_trace_close(&trace);
}

TEST_PLAIN(a_controlled_leaf_takes_what_is_drawn_times_slow)
{
    static const struct job job = {
        .seed = 3, .examples = 630, .batch = 64, .micro_batch = 16, .steps = 20};
    struct compute_time time = {.slow = 2};
    struct leaf_trace trace;
    uint32_t random[4];
    ck_assert_int_eq(compute_time_read("trace:runs/one", &time, NULL), STATUS_OK);
    ck_assert(time.controlled);
    ck_assert_str_eq(time.traced, "runs/one");
    ck_assert_int_eq(open_text(&trace, RUNS_ONE, 0, NULL), STATUS_OK);
    time.trace = &trace;
    for (uint32_t leaf = 0; leaf < 4; leaf++) {
        random_block(3, RANDOM_STREAM_COMPUTE, leaf, 7, random);
        ck_assert_uint_eq(leaf_ns(&time, &job, 2, 7, leaf),
                          (uint64_t)(leaf_trace_draw(&trace, 2, random) * 2));
    }
    leaf_trace_close(&trace);
}

TEST_PLAIN(a_run_without_such_times_is_refused_by_name)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{}", "runs/one has no times of leaves"},
        {RUN("{}, {}"), "runs/one has no times of leaves"},
        {RUN(LEAVES("\"x\", -1", "1, 2")), "runs/one has no times of leaves"},
        {"{\"virtual\": \"a cluster\", \"worker_details\": [{}]}",
         "runs/one is a run in virtual time"},
        {RUN(LEAVES("1048576", "1")), "runs/one: its leaves have 16 examples, this job's 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct leaf_trace trace;
        struct error error;
        ck_assert_int_eq(open_text(&trace, cases[i].text, 8, &error), STATUS_INVALID);
        ck_assert_msg(strstr(error.text, cases[i].said) == error.text, "%s", error.text);
        ck_assert_ptr_null(trace.workers);
    }
}

int main(void)
{
    return suite_run("leaf_trace", NULL);
}
