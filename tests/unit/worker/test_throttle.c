/* test_throttle.c - from when on what was computed may be sent. */
/* promises: compute */

#include "worker/throttle.h"

#include "tests/lib/regular.h"
#include "tests/lib/suite.h"

#define MS UINT64_C(1000000)

/* Steps of 64 examples are 4 leaves. */
static const struct job job = {
    .seed = 3, .examples = 640, .batch = 64, .micro_batch = 16, .steps = 10};

static struct throttle of_time(const char *compute, double slow)
{
    struct throttle throttle = {.time = {.slow = slow}, .job = &job, .worker = 1};
    if (compute != NULL)
        ck_assert(compute_time_read(compute, &throttle.time, NULL) == STATUS_OK);
    return throttle;
}

TEST_PLAIN(a_leaf_goes_when_those_before_it_and_it_have_had_their_time)
{
    static const uint64_t took[] = {5 * MS, 7 * MS};
    struct throttle throttle = of_time("constant:30ms", 1);
    throttle_begin(&throttle, 1000 * MS);
    ck_assert_uint_eq(throttle.due_ns, 1000 * MS);
    throttle_step(&throttle, 0, (struct node){0, 2}, took, 1012 * MS);
    ck_assert_uint_eq(throttle.due_ns, 1060 * MS);
    ck_assert_uint_eq(throttle.leaves, 2);
    ck_assert_uint_eq(throttle.longer, 0);
    /* Whatever the clock says: it is the times that count, not when one came to look. */
    throttle_step(&throttle, 0, (struct node){2, 1}, took, 1071 * MS);
    ck_assert_uint_eq(throttle.due_ns, 1090 * MS);
    ck_assert_uint_eq(throttle.leaves, 1);
    throttle_begin(&throttle, 2000 * MS);
    throttle_step(&throttle, 1, (struct node){3, 1}, took, 2005 * MS);
    ck_assert_uint_eq(throttle.due_ns, 2030 * MS);
}

/* Once, before the first node, with controlled time and without. */
TEST_PLAIN(a_pause_comes_before_what_is_computed)
{
    static const uint64_t took[4] = {0};
    for (int controlled = 0; controlled < 2; controlled++) {
        struct throttle throttle = of_time(controlled ? "constant:30ms" : NULL, 1);
        ck_assert(compute_time_read_pause("0.5:uniform:100ms,200ms", &throttle.time, NULL) ==
                  STATUS_OK);
        uint32_t paused = 0;
        for (uint64_t step = 0; step < 20; step++) {
            uint64_t pause = pause_ns(&throttle.time, job.seed, 1, step);
            uint64_t leaf = controlled ? 30 * MS : 0;
            paused += pause >= 100 * MS;
            throttle_begin(&throttle, 5);
            throttle_step(&throttle, step, (struct node){0, 1}, took, 5);
            ck_assert_uint_eq(throttle.due_ns, 5 + pause + leaf);
            throttle_step(&throttle, step, (struct node){1, 1}, took, throttle.due_ns);
            ck_assert_uint_eq(throttle.due_ns, 5 + pause + 2 * leaf);
        }
        ck_assert(paused > 3 && paused < 17);
    }
}

TEST_PLAIN(draws_are_those_of_its_worker_step_and_leaves)
{
    static const uint64_t took[4] = {0};
    struct throttle throttle = of_time("lognormal:30ms,0.5", 3);
    ck_assert(compute_time_read_straggle("0.5:pareto:10", &throttle.time, NULL) == STATUS_OK);
    for (uint64_t step = 0; step < 10; step++) {
        uint64_t due = 5;
        throttle_begin(&throttle, 5);
        throttle_step(&throttle, step, (struct node){1, 3}, took, 6);
        for (uint32_t leaf = 1; leaf < 4; leaf++)
            due += leaf_ns(&throttle.time, &job, 1, step, leaf);
        ck_assert_uint_eq(throttle.due_ns, due);
    }
}

TEST_PLAIN(leaves_that_took_longer_than_they_should_are_counted)
{
    static const uint64_t took[] = {29 * MS, 31 * MS, 30 * MS, 90 * MS};
    struct throttle throttle = of_time("constant:30ms", 1);
    throttle_begin(&throttle, 0);
    throttle_step(&throttle, 0, (struct node){0, 4}, took, 180 * MS);
    ck_assert_uint_eq(throttle.leaves, 4);
    ck_assert_uint_eq(throttle.longer, 2);
    ck_assert_uint_eq(throttle.due_ns, 120 * MS);
    throttle.time.slow = 3;
    throttle_step(&throttle, 0, (struct node){0, 4}, took, 180 * MS);
    ck_assert_uint_eq(throttle.longer, 0);
}

TEST_PLAIN(without_a_time_what_was_measured_is_multiplied)
{
    static const uint64_t took[] = {5 * MS, 7 * MS};
    struct throttle throttle = of_time(NULL, 1);
    throttle_begin(&throttle, 0);
    throttle_step(&throttle, 0, (struct node){0, 2}, took, 12 * MS);
    ck_assert_uint_eq(throttle.due_ns, 12 * MS);
    throttle = of_time(NULL, 3);
    throttle_step(&throttle, 0, (struct node){0, 2}, took, 12 * MS);
    ck_assert_uint_eq(throttle.due_ns, 36 * MS);
    ck_assert_uint_eq(throttle.leaves, 0);
}

int main(void)
{
    return suite_run("pace", NULL);
}
