/* test_schedule.c - learning rates step by step, and schedules that are refused. */
/* promises: optimizers */

#include <math.h>
#include <string.h>

#include "common/job/job_fields.h"
#include "tests/lib/suite.h"

static const struct schedule constant = {.kind = SCHEDULE_CONSTANT, .learning_rate = 0.001};
static const struct schedule step = {
    .kind = SCHEDULE_STEP, .learning_rate = 0.8, .decay_steps = 10, .decay_factor = 0.5};
static const struct schedule cosine = {
    .kind = SCHEDULE_COSINE, .learning_rate = 0.5, .decay_steps = 100, .decay_factor = 0.1};

static void expect_rate(const struct schedule *schedule, uint64_t version, double expected)
{
    float rate = schedule_learning_rate(schedule, version);
    ck_assert_msg(rate == (float)expected, "%s at version %llu is %.9g, not %.9g",
                  schedule_kind_name(schedule->kind), (unsigned long long)version, (double)rate,
                  expected);
}

TEST_PLAIN(constant_stays)
{
    expect_rate(&constant, 0, 0.001);
    expect_rate(&constant, 1000000, 0.001);
    expect_rate(&constant, UINT64_MAX, 0.001);
}

TEST_PLAIN(step_falls_only_at_its_steps)
{
    expect_rate(&step, 0, 0.8);
    expect_rate(&step, 9, 0.8);
    expect_rate(&step, 10, 0.4);
    expect_rate(&step, 19, 0.4);
    expect_rate(&step, 35, 0.1);
    expect_rate(&step, UINT64_MAX, 0);
}

TEST_PLAIN(cosine_falls_to_its_floor_and_stays_there)
{
    /* tf.keras.optimizers.schedules.CosineDecay(0.5, 100, alpha=0.1). */
    expect_rate(&cosine, 0, 0.5);
    expect_rate(&cosine, 25, 0.5 * (0.9 * 0.5 * (1 + sqrt(0.5)) + 0.1));
    expect_rate(&cosine, 50, 0.5 * (0.9 * 0.5 + 0.1));
    expect_rate(&cosine, 100, 0.05);
    expect_rate(&cosine, 101, 0.05);
    expect_rate(&cosine, UINT64_MAX, 0.05);
    for (uint64_t version = 0; version < 100; version++)
        ck_assert(schedule_learning_rate(&cosine, version + 1) <
                  schedule_learning_rate(&cosine, version));
}

TEST_PLAIN(cosine_without_a_floor_ends_at_zero)
{
    struct schedule schedule = cosine;
    schedule.decay_factor = 0;
    expect_rate(&schedule, 100, 0);
}

TEST_PLAIN(warm_up_climbs_in_equal_steps_to_any_schedule)
{
    struct schedule schedule = constant;
    schedule.warmup_steps = 4;
    expect_rate(&schedule, 0, 0.001 * 0.25);
    expect_rate(&schedule, 1, 0.001 * 0.5);
    expect_rate(&schedule, 2, 0.001 * 0.75);
    expect_rate(&schedule, 3, 0.001);
    expect_rate(&schedule, 4, 0.001);

    schedule = step;
    schedule.warmup_steps = 20;
    expect_rate(&schedule, 9, 0.8 * 0.5);
    expect_rate(&schedule, 10, 0.4 * 11 / 20);
    expect_rate(&schedule, 20, 0.2);
}

/* Goyal and others: from the rate of a small batch to that of one k times as large. */
TEST_PLAIN(warm_up_may_begin_with_a_part_of_the_rate)
{
    struct schedule schedule = constant;
    schedule.learning_rate = 0.4;
    schedule.warmup_steps = 4;
    schedule.warmup_from = 0.25;
    expect_rate(&schedule, 0, 0.1 + 0.3 * 0.25);
    expect_rate(&schedule, 1, 0.1 + 0.3 * 0.5);
    expect_rate(&schedule, 3, 0.4);
    expect_rate(&schedule, 9, 0.4);
    schedule.warmup_steps = 0;
    expect_rate(&schedule, 0, 0.4);
}

TEST_PLAIN(kinds_have_their_names)
{
    ck_assert_str_eq(schedule_kind_name(SCHEDULE_COSINE), "cosine");
    ck_assert_str_eq(schedule_numbered(SCHEDULE_STEP), "step");
    ck_assert_ptr_null(schedule_numbered(SCHEDULE_KIND_COUNT));
    ck_assert_str_eq(schedule_kind_name(SCHEDULE_KIND_COUNT), "unknown");
}

static enum status check_schedule(const struct schedule *schedule, struct error *error)
{
    struct job job = {.schedule = *schedule};
    enum status status = job_fields_check(&job, "schedule.", error);
    return status != STATUS_OK ? status : schedule_check(schedule, error);
}

static void expect_refused(struct schedule schedule, const char *says)
{
    struct error error = {0};
    ck_assert_int_eq(check_schedule(&schedule, &error), STATUS_INVALID);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
    ck_assert_int_eq(check_schedule(&schedule, NULL), STATUS_INVALID);
}

/* Checks a copy of `base` with one field changed. */
#define REFUSED(says, base, field, value)                                                          \
    do {                                                                                           \
        struct schedule schedule = base;                                                           \
        schedule.field = (value);                                                                  \
        expect_refused(schedule, says);                                                            \
    } while (0)

TEST_PLAIN(good_schedules_pass)
{
    ck_assert_int_eq(check_schedule(&constant, NULL), STATUS_OK);
    ck_assert_int_eq(check_schedule(&step, NULL), STATUS_OK);
    ck_assert_int_eq(check_schedule(&cosine, NULL), STATUS_OK);
}

TEST_PLAIN(values_out_of_range_are_refused)
{
    REFUSED("schedule number", constant, kind, SCHEDULE_KIND_COUNT);
    REFUSED("schedule number", constant, kind, (enum schedule_kind) - 1);
    REFUSED("learning rate", constant, learning_rate, 0);
    REFUSED("learning rate", constant, learning_rate, -0.1);
    REFUSED("learning rate", constant, learning_rate, (double)NAN);
    REFUSED("learning rate", constant, learning_rate, (double)INFINITY);
    REFUSED("learning rate", constant, learning_rate, 1e39);
    REFUSED("learning rate", constant, learning_rate, 1e-60);
    REFUSED("decay factor", constant, decay_factor, (double)NAN);
    REFUSED("decay steps", step, decay_steps, 0);
    REFUSED("decay factor", step, decay_factor, 0);
    REFUSED("decay factor", step, decay_factor, 1.5);
    REFUSED("decay steps", cosine, decay_steps, 0);
    REFUSED("decay factor", cosine, decay_factor, -0.1);
    REFUSED("decay factor", cosine, decay_factor, 1.1);
}

int main(void)
{
    return suite_run("schedule", NULL);
}
