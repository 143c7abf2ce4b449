/* Random histories of whole clusters: a few hundred in make check, TEST_SEEDS of them in make sim.
 * Every one must keep every promise that deploy/witness.h and deploy/history.h name. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "deploy/history.h"
#include "tests/lib/suite.h"

#define SEEDS_IN_CHECK 400

static uint64_t seeds(void)
{
    const char *wish = getenv("TEST_SEEDS");
    return wish != NULL ? strtoull(wish, NULL, 10) : SEEDS_IN_CHECK;
}

/* Everything that histories of some kind have had in them. */
struct seen {
    uint64_t histories, failed, stopped, duplicates, stale, moved_on, skewed, overtaking, repeated;
};

static void run(uint64_t seed, enum mode mode, struct seen *seen)
{
    struct history_plan plan;
    struct history_result result;
    char text[400];
    ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
    if (plan.job.mode == mode) {
        history_describe(&plan, text, sizeof text);
        history_run(&plan, &result);
        seen->histories++;
        seen->failed += result.failed;
        seen->stopped += result.stopped;
        seen->duplicates += result.counts.duplicate;
        seen->stale += result.counts.stale;
        seen->moved_on += result.counts.moved_on;
        seen->skewed += result.counts.skewed_pulls;
        seen->overtaking += result.network.overtaking;
        seen->repeated += result.network.repeated;
        if (result.failed)
            printf("FAILED %s (%s)\n    build/release/syncopate simulate --seed %" PRIu64
                   " --verbose\n",
                   result.failure, text, seed);
    }
    history_free(&plan);
}

static struct seen run_all(enum mode mode)
{
    struct seen seen = {0};
    double began = clock_now_seconds();
    for (uint64_t seed = 1; seen.histories < seeds(); seed++)
        run(seed, mode, &seen);
    double seconds = clock_now_seconds() - began;
    printf("%s: %" PRIu64 " histories, %.0f a second; %" PRIu64 " stops, %" PRIu64
           " duplicates, %" PRIu64 " stale, %" PRIu64 " moved on, %" PRIu64 " failed\n",
           mode_name(mode), seen.histories, (double)seen.histories / seconds, seen.stopped,
           seen.duplicates, seen.stale, seen.moved_on, seen.failed);
    return seen;
}

START_TEST(sync_histories_end_with_the_bits_of_serial_training)
{
    struct seen seen = run_all(MODE_SYNC);
    ck_assert_uint_eq(seen.failed, 0);
    /* Not because nothing happened. */
    ck_assert_uint_gt(seen.stopped, 0);
    ck_assert_uint_gt(seen.duplicates, 0);
    ck_assert_uint_gt(seen.stale, 0);
    ck_assert_uint_gt(seen.overtaking, 0);
}
END_TEST

START_TEST(async_histories_apply_every_batch_once)
{
    struct seen seen = run_all(MODE_ASYNC);
    ck_assert_uint_eq(seen.failed, 0);
    ck_assert_uint_gt(seen.stopped, 0);
    ck_assert_uint_gt(seen.duplicates, 0);
    ck_assert_uint_gt(seen.skewed, 0);
    ck_assert_uint_gt(seen.repeated, 0);
}
END_TEST

START_TEST(a_seed_replays_its_history)
{
    struct history_plan plan;
    struct history_result first, again;
    ck_assert_int_eq(history_draw(&plan, 5), STATUS_OK);
    history_run(&plan, &first);
    history_run(&plan, &again);
    ck_assert_uint_gt(first.events, 0);
    ck_assert_uint_eq(first.events, again.events);
    ck_assert_uint_eq(first.virtual_us, again.virtual_us);
    ck_assert_uint_eq(first.counts.gradients, again.counts.gradients);
    ck_assert_uint_eq(first.network.delivered, again.network.delivered);
    history_free(&plan);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase,
                      3600); /* As many histories as asked for; run_tests.sh has the limit. */
    tcase_add_test(tcase, a_seed_replays_its_history);
    tcase_add_test(tcase, sync_histories_end_with_the_bits_of_serial_training);
    tcase_add_test(tcase, async_histories_apply_every_batch_once);
}

int main(void)
{
    return suite_run("histories", add_tests);
}
