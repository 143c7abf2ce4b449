/* test_load.c - what bound a run is said from who was busy for how long. */
/* promises: virtual-run */

#include "deploy/simulate/load.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct load_share share(double most, const char *busiest)
{
    struct load_share share = {.mean = most / 2, .most = most};
    snprintf(share.busiest, sizeof share.busiest, "%s", busiest);
    return share;
}

static void expect_bound(const struct load *load, const char *expected)
{
    char text[200];
    load_bound(load, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

TEST_PLAIN(what_is_busiest_bound_the_run)
{
    struct load load = {.duration_ns = 1000};
    expect_bound(&load, "latency and waiting: no part was busy");
    load.shares[LOAD_TRAINERS] = share(0.3, "worker/3");
    expect_bound(&load,
                 "latency and waiting for one another; busy was most worker/3's computing and "
                 "scoring, 30 % of the time");
    load.shares[LOAD_SERVER_NICS_IN] = share(0.96, "ps/1");
    expect_bound(&load, "ps/1's card, in, 96 % of the time; then worker/3's computing and scoring, "
                        "30 % of the time");
    load.shares[LOAD_ROUTERS] = share(0.98, "ps/0");
    expect_bound(&load, "ps/0's handling of messages, 98 % of the time; then ps/1's card, in, 96 % "
                        "of the time");
}

/* One thread on one processor is as busy as that; only who waits for it is bound by it. */
TEST_PLAIN(processors_bound_whoever_waits_for_them)
{
    struct load load = {.duration_ns = 1000};
    load.shares[LOAD_TRAINERS] = share(1, "worker/0");
    load.shares[LOAD_PROCESSORS] = share(0.99, "worker/0");
    expect_bound(&load, "worker/0's computing and scoring, 100 % of the time");
    load.waited = true;
    expect_bound(&load, "worker/0's host's processors, 99 % of the time; then worker/0's computing "
                        "and scoring, 100 % of the time");
}

TEST_PLAIN(each_kind_has_a_name_of_its_own)
{
    for (unsigned a = 0; a < LOAD_PART_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            ck_assert_str_ne(load_part_name((enum load_part)a), load_part_name((enum load_part)b));
}

int main(void)
{
    return suite_run("load", NULL);
}
