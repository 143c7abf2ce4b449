/* Random histories of whole clusters: a few hundred in make check, TEST_SEEDS of them in make sim.
 * Every one must keep every promise that deploy/verify/oracle.h and deploy/verify/history.h
 * name. */
/* promises: accumulate backup bits once record scores stop */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "deploy/verify/history.h"
#include "deploy/verify/history_totals.h"
#include "tests/lib/golden.h"
#include "tests/lib/suite.h"

#define SEEDS_IN_CHECK  160  /* Of each mode. */
#define SEEDS_FOR_ALL   1000 /* Of a mode have each fault in them. */
#define SEEDS_IN_GOLDEN 100
#define SEEDS_OF_SUMS   8000

static uint64_t seeds(void)
{
    const char *wanted = getenv("TEST_SEEDS");
    return wanted != NULL ? strtoull(wanted, NULL, 10) : SEEDS_IN_CHECK;
}

/* What all histories had in them. They are played once, before the tests that look at them. */
static struct {
    struct history_totals modes[MODE_COUNT];
    uint64_t places; /* Of processes that phases began with. */
    char digests[SEEDS_IN_GOLDEN][HASH_HEX_LENGTH];
} played;

static void note(uint64_t seed, const struct history_plan *plan,
                 const struct history_result *result)
{
    history_totals_add(&played.modes[plan->job.mode], result);
    for (uint32_t i = 0; i < result->phases && i < plan->phase_count; i++)
        played.places += plan->phases[i].servers + plan->phases[i].workers;
    if (seed <= SEEDS_IN_GOLDEN)
        hash_hex(result->digest, HASH_BYTES / 2, played.digests[seed - 1]);
}

/* If it is of a mode that has not had enough. */
static void play(uint64_t seed)
{
    struct history_plan plan;
    struct history_result result;
    char text[2000];
    ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
    if (seed <= SEEDS_IN_GOLDEN || played.modes[plan.job.mode].histories < seeds()) {
        history_describe(&plan, text, sizeof text);
        history_run(&plan, &result);
        note(seed, &plan, &result);
        if (result.failed)
            printf("FAILED %s\n    %s\n    build/release/syncopate verify --seed %" PRIu64
                   " --verbose\n",
                   result.failure, text, seed);
    }
    history_free(&plan);
}

static bool is_enough(void)
{
    for (enum mode mode = 0; mode < MODE_COUNT; mode++)
        if (played.modes[mode].histories < seeds())
            return false;
    return true;
}

static void play_all(void)
{
    double began = clock_now_seconds();
    for (uint64_t seed = 1; seed <= SEEDS_IN_GOLDEN || !is_enough(); seed++)
        play(seed);
    history_totals_print(played.modes, clock_now_seconds() - began);
    fflush(stdout); /* Or whoever is forked would say it again. */
}

/* So many of a mode that keep every promise, and not because nothing happened. */
static const struct history_totals *expect_kept(enum mode mode)
{
    const struct history_totals *seen = &played.modes[mode];
    ck_assert_uint_eq(seen->failed, 0);
    ck_assert_uint_gt(seen->stopped, 0);
    ck_assert_uint_gt(seen->counts.verdicts.duplicate, 0);
    ck_assert_uint_gt(seen->counts.loads, 0);
    ck_assert_uint_gt(seen->kept, 0);
    ck_assert_uint_gt(seen->network.overtaking, 0);
    ck_assert_uint_gt(seen->network.repeated, 0);
    ck_assert_uint_gt(seen->faults[FAULT_CRASH], 0);
    ck_assert_uint_gt(seen->faults[FAULT_HOST], 0);
    for (enum fault_kind kind = 0; seeds() >= SEEDS_FOR_ALL && kind < FAULT_KIND_COUNT; kind++)
        ck_assert_msg(seen->faults[kind] > 0, "%s: no %s in %" PRIu64 " histories", mode_name(mode),
                      fault_name(kind), seen->histories);
    return seen;
}

TEST_PLAIN(sync_histories_end_with_the_bits_of_serial_training)
{
    const struct history_totals *seen = expect_kept(MODE_SYNC);
    ck_assert_uint_gt(seen->counts.verdicts.stale, 0);
}

TEST_PLAIN(allreduce_histories_end_with_the_bits_of_serial_training)
{
    const struct history_totals *seen = expect_kept(MODE_ALLREDUCE);
    ck_assert_uint_gt(seen->counts.sums, 0);
    ck_assert_uint_gt(seen->counts.slots, 0);
}

TEST_PLAIN(backup_histories_end_with_the_bits_of_their_sets)
{
    const struct history_totals *seen = expect_kept(MODE_BACKUP);
    ck_assert_uint_gt(seen->counts.verdicts.stale, 0);
}

TEST_PLAIN(async_histories_apply_every_batch_once)
{
    const struct history_totals *seen = expect_kept(MODE_ASYNC);
    ck_assert_uint_gt(seen->counts.skewed_pulls, 0);
    ck_assert_uint_gt(seen->counts.record.entries, 0);
    ck_assert_uint_gt(seen->counts.record.computations, 0);
}

TEST_PLAIN(ssp_histories_keep_to_their_bound)
{
    const struct history_totals *seen = expect_kept(MODE_SSP);
    ck_assert_uint_gt(seen->counts.record.entries, 0);
}

/* Checkpoints that are given up when some servers have applied what they hold for them, because nobody has
 * patience. That the last one is then given up, too, ends a job as it should. */
TEST_PLAIN(cuts_of_sums_that_are_given_up_leave_all_chunks_at_one_version)
{
    uint64_t failed = 0, whole = 0, ended = 0;
    for (uint64_t seed = 1; seed <= SEEDS_OF_SUMS; seed++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        if (plan.job.mode == MODE_ASYNC && plan.job.accumulate > 1) {
            plan.job.checkpoint_every = 2;
            plan.deadlines.stop = 0.02;
            plan.faults.straggle = 0.3; /* A CUT comes after batches that are given later. */
            plan.queue_delay_us = 0;
            plan.compute_us = 50;
            history_run(&plan, &result);
            bool hasty = strstr(result.failure, " was not written within ") != NULL;
            whole += !result.failed;
            ended += result.failed && hasty;
            failed += result.failed && !hasty;
            if (result.failed && !hasty)
                printf("FAILED seed %" PRIu64 ": %s\n", seed, result.failure);
        }
        history_free(&plan);
    }
    printf("sums: %" PRIu64 " histories whole, %" PRIu64 " ended\n", whole, ended);
    ck_assert_uint_eq(failed, 0);
    ck_assert_uint_gt(whole, 50);
}

/* 4002: a stranger's LEASE was taken for one of a worker that had never come. 1004855: a server 0 that had
 * been stopped gave batches to a worker that its successor knew by another ticket. */
TEST_PLAIN(what_was_once_a_false_alarm_is_none)
{
    static const uint64_t once[] = {4002, 1004855};
    static const enum fault_kind had[] = {FAULT_UNKNOWN_PEER, FAULT_REPLACE};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, once[i]), STATUS_OK);
        history_run(&plan, &result);
        history_free(&plan);
        ck_assert_msg(!result.failed, "seed %" PRIu64 ": %s", once[i], result.failure);
        if (had[i] < FAULT_KIND_COUNT)
            ck_assert_uint_gt(result.faults[had[i]], 0);
    }
}

TEST_PLAIN(the_first_hundred_histories_are_as_they_were)
{
    struct golden *golden = golden_open("tests/simulated/histories.golden");
    for (uint64_t seed = 1; seed <= SEEDS_IN_GOLDEN; seed++) {
        char name[40];
        snprintf(name, sizeof name, "seed-%" PRIu64, seed);
        golden_line(golden, name, played.digests[seed - 1]);
    }
    golden_check(golden, "Processes behave otherwise than before: compare what both builds print "
                         "for\nsyncopate verify --seed N --verbose");
    golden_free(golden);
}

/* What they have had in them, all modes together. */
TEST_PLAIN(every_kind_of_fault_strikes)
{
    uint64_t faults[FAULT_KIND_COUNT] = {0}, processes = 0, lost = 0, partitioned = 0;
    if (seeds() < SEEDS_IN_CHECK)
        return;
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        const struct history_totals *seen = &played.modes[mode];
        processes += seen->processes;
        lost += seen->network.lost;
        partitioned += seen->network.partitioned;
        for (enum fault_kind kind = 0; kind < FAULT_KIND_COUNT; kind++)
            faults[kind] += seen->faults[kind];
    }
    for (enum fault_kind kind = 0; kind < FAULT_KIND_COUNT; kind++)
        ck_assert_msg(faults[kind] >= 5, "%s struck %" PRIu64 " times", fault_name(kind),
                      faults[kind]);
    ck_assert_uint_gt(processes, played.places + faults[FAULT_CRASH] / 2);
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_gt(partitioned, 0);
}

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase,
                      3600); /* As many histories as asked for; run_tests.sh has the limit. */
    tcase_add_unchecked_fixture(tcase, play_all, NULL);
}

int main(void)
{
    return suite_run("histories", add_tests);
}
