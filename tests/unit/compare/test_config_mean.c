/* test_config_mean.c - means at the steps that all runs have, and at no others. */

#include "deploy/compare/config_mean.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

#define POINTS_MAX 8
#define RUNS_MAX   3

/* Runs of which only the losses in training and on test data are known. */
struct runs {
    struct record_point points[RUNS_MAX][POINTS_MAX];
    struct record records[RUNS_MAX];
    const struct record *list[RUNS_MAX];
    struct group group;
};

/* One more, with these losses at these steps; seconds are a tenth of the step, times the run's number. */
static void add_run(struct runs *runs, const double (*samples)[2], size_t count)
{
    size_t run = runs->group.record_count++;
    ck_assert_uint_le(count, POINTS_MAX);
    for (size_t i = 0; i < count; i++)
        runs->points[run][i] =
            (struct record_point){.step = samples[i][0],
                                  .loss = samples[i][1],
                                  .accuracy = (double)NAN,
                                  .training_seconds = samples[i][0] * (double)(run + 1)};
    runs->records[run] = (struct record){.points = runs->points[run], .point_count = count};
    runs->list[run] = &runs->records[run];
    runs->group.records = runs->list;
}

/* "1:0.5@1.5 2:0.25@3": step, mean and seconds. */
static const char *mean_of(const struct runs *runs, size_t quantity)
{
    static char text[300];
    struct config_mean mean;
    text[0] = '\0';
    ck_assert_int_eq(config_mean_make(&mean, &runs->group, quantity), STATUS_OK);
    for (size_t i = 0; i < mean.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%g:%g@%g", i > 0 ? " " : "",
                 mean.samples[i].step, mean.samples[i].value, mean.samples[i].seconds);
    config_mean_free(&mean);
    return text;
}

#define ADD(runs, ...)                                                                             \
    add_run(runs, (const double[][2]){__VA_ARGS__},                                                \
            sizeof((const double[][2]){__VA_ARGS__}) / sizeof(double[2]))

TEST_PLAIN(the_mean_of_one_run_is_that_run)
{
    struct runs runs = {.group = {.record_count = 0}};
    ck_assert_str_eq(config_mean_tag(0), "loss/train");
    ADD(&runs, {1, 0.5}, {2, 0.25});
    ck_assert_str_eq(mean_of(&runs, 0), "1:0.5@1 2:0.25@2");
}

TEST_PLAIN(there_is_a_mean_where_all_runs_have_a_number)
{
    struct runs runs = {.group = {.record_count = 0}};
    ADD(&runs, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5});
    ADD(&runs, {2, 4}, {3, (double)NAN}, {4, 6}, {6, 9});
    ck_assert_str_eq(mean_of(&runs, 0), "2:3@3 4:5@6");
    ADD(&runs, {4, 8}, {5, 9});
    ck_assert_str_eq(mean_of(&runs, 0), "4:6@8");
}

/* What was undone is told again; windows are told as they are whole. */
TEST_PLAIN(of_a_step_that_is_told_twice_the_last_counts)
{
    struct runs runs = {.group = {.record_count = 0}};
    ADD(&runs, {1, 1}, {3, 7}, {2, 2}, {3, 3});
    ck_assert_str_eq(mean_of(&runs, 0), "1:1@1 2:2@2 3:3@3");
    ADD(&runs, {3, 5}, {1, 1});
    ck_assert_str_eq(mean_of(&runs, 0), "1:1@1.5 3:4@4.5");
}

TEST_PLAIN(of_nothing_there_is_no_mean)
{
    struct runs runs = {.group = {.record_count = 0}};
    ADD(&runs, {1, 1});
    for (size_t i = 3; i < CONFIG_MEAN_TAGS; i++)
        ck_assert_str_eq(mean_of(&runs, i), "");
}

int main(void)
{
    return suite_run("arm_mean", NULL);
}
