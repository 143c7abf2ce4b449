/* test_impairment.c - jitter, losses and timers have the figures that they are said to have. */

#include "deploy/cluster/impairment.h"

#include <math.h>

#include "tests/lib/suite.h"

#define MS    1000000ull
#define DRAWS 200000u

static struct impairment_place place(uint32_t connection, uint64_t number)
{
    return (struct impairment_place){.seed = 3, .connection = connection, .number = number};
}

TEST_PLAIN(a_timer_is_200_ms_or_two_round_trips_and_doubles_to_120_s)
{
    ck_assert_uint_eq(impairment_timer_ns(0, 0), 200 * MS);
    ck_assert_uint_eq(impairment_timer_ns(MS, 0), 200 * MS);
    ck_assert_uint_eq(impairment_timer_ns(150 * MS, 0), 300 * MS);
    ck_assert_uint_eq(impairment_timer_ns(MS, 1), 400 * MS);
    ck_assert_uint_eq(impairment_timer_ns(150 * MS, 3), 2400 * MS);
    ck_assert_uint_eq(impairment_timer_ns(MS, 10), 120000 * MS);
    ck_assert_uint_eq(impairment_timer_ns(UINT64_MAX, UINT32_MAX), 120000 * MS);
}

/* A part of p has waited, of p^2 twice: p 200 ms + p^2 400 ms + ... on the mean. */
TEST_PLAIN(losses_are_as_frequent_as_they_are_said_to_be)
{
    uint32_t waited = 0, twice = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct impairment_place here = place(i % 5, i / 5);
        uint64_t ns = impairment_loss_ns(&here, 0.1, MS);
        waited += ns > 0;
        twice += ns > 200 * MS;
        ck_assert(ns == 0 || ns == 200 * MS || ns >= 600 * MS);
        ck_assert_uint_eq(impairment_loss_ns(&here, 0, MS), 0);
        ck_assert_uint_eq(impairment_loss_ns(&here, 0.1, MS), ns);
    }
    ck_assert_double_eq_tol((double)waited / DRAWS, 0.1, 0.003);
    ck_assert_double_eq_tol((double)twice / DRAWS, 0.01, 0.001);
}

TEST_PLAIN(jitter_is_drawn_for_each_message_from_its_distribution)
{
    struct distribution jitter = {DISTRIBUTION_EXPONENTIAL, 50000, 0};
    struct distribution none = {DISTRIBUTION_CONSTANT, 0, 0};
    double sum = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct impairment_place here = place(i % 7, i / 7);
        sum += (double)impairment_jitter_ns(&here, &jitter);
        ck_assert_uint_eq(impairment_jitter_ns(&here, &none), 0);
    }
    ck_assert_double_eq_tol(sum / DRAWS, 50000, 500);
}

/* Neither the messages' numbers nor the connections' decide. */
TEST_PLAIN(lots_are_fair_and_drawn_again_each_time)
{
    uint32_t later = 0, other = 0, again = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct impairment_place here = place(1, i), next = place(1, i + 1), beside = place(2, i);
        later += impairment_lot(&next, 0) < impairment_lot(&here, 0);
        other += impairment_lot(&beside, 0) < impairment_lot(&here, 0);
        again += impairment_lot(&here, 1) < impairment_lot(&here, 0);
    }
    ck_assert_double_eq_tol((double)later / DRAWS, 0.5, 0.006);
    ck_assert_double_eq_tol((double)other / DRAWS, 0.5, 0.006);
    ck_assert_double_eq_tol((double)again / DRAWS, 0.5, 0.006);
}

int main(void)
{
    return suite_run("hazard", NULL);
}
