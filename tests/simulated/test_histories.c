/* Random histories of whole clusters: a few hundred in make check, TEST_SEEDS of them in make sim.
 * Every one must keep every promise that deploy/verify/witness.h and deploy/verify/history.h
 * name. */

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
    const char *wish = getenv("TEST_SEEDS");
    return wish != NULL ? strtoull(wish, NULL, 10) : SEEDS_IN_CHECK;
}

static void run(uint64_t seed, enum mode mode, struct history_totals *totals)
{
    struct history_plan plan;
    struct history_result result;
    char text[2000];
    ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
    if (plan.job.mode == mode) {
        history_describe(&plan, text, sizeof text);
        history_run(&plan, &result);
        history_totals_add(totals, &result);
        if (result.failed)
            printf("FAILED %s\n    %s\n    build/release/syncopate verify --seed %" PRIu64
                   " --verbose\n",
                   result.failure, text, seed);
    }
    history_free(&plan);
}

/* So many of a mode that keep every promise, and not because nothing happened. */
static struct history_totals run_all(enum mode mode)
{
    struct history_totals modes[MODE_COUNT] = {0}, *seen = &modes[mode];
    double began = clock_now_seconds();
    for (uint64_t seed = 1; seen->histories < seeds(); seed++)
        run(seed, mode, seen);
    history_totals_print(modes, clock_now_seconds() - began);
    ck_assert_uint_eq(seen->failed, 0);
    ck_assert_uint_gt(seen->stopped, 0);
    ck_assert_uint_gt(seen->counts.duplicate, 0);
    ck_assert_uint_gt(seen->counts.loads, 0);
    ck_assert_uint_gt(seen->kept, 0);
    ck_assert_uint_gt(seen->network.overtaking, 0);
    ck_assert_uint_gt(seen->network.repeated, 0);
    ck_assert_uint_gt(seen->faults[FAULT_CRASH], 0);
    ck_assert_uint_gt(seen->faults[FAULT_HOST], 0);
    for (enum fault_kind kind = 0; seeds() >= SEEDS_FOR_ALL && kind < FAULT_KIND_COUNT; kind++)
        ck_assert_msg(seen->faults[kind] > 0, "%s: no %s in %" PRIu64 " histories", mode_name(mode),
                      fault_name(kind), seen->histories);
    return *seen;
}

TEST_PLAIN(sync_histories_end_with_the_bits_of_serial_training)
{
    struct history_totals seen = run_all(MODE_SYNC);
    ck_assert_uint_gt(seen.counts.stale, 0);
}

TEST_PLAIN(allreduce_histories_end_with_the_bits_of_serial_training)
{
    struct history_totals seen = run_all(MODE_ALLREDUCE);
    ck_assert_uint_gt(seen.counts.sums, 0);
    ck_assert_uint_gt(seen.counts.slots, 0);
}

TEST_PLAIN(backup_histories_end_with_the_bits_of_their_sets)
{
    struct history_totals seen = run_all(MODE_BACKUP);
    ck_assert_uint_gt(seen.counts.stale, 0);
}

TEST_PLAIN(async_histories_apply_every_batch_once)
{
    struct history_totals seen = run_all(MODE_ASYNC);
    ck_assert_uint_gt(seen.counts.skewed_pulls, 0);
    ck_assert_uint_gt(seen.counts.record.entries, 0);
    ck_assert_uint_gt(seen.counts.record.kept, 0);
}

TEST_PLAIN(ssp_histories_keep_to_their_bound)
{
    struct history_totals seen = run_all(MODE_SSP);
    ck_assert_uint_gt(seen.counts.record.entries, 0);
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
            bool hasty = strstr(result.failure, "the last checkpoint was not written") != NULL;
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
    static const enum fault_kind had[] = {FAULT_STRANGER, FAULT_REPLACE};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, once[i]), STATUS_OK);
        history_run(&plan, &result);
        history_free(&plan);
        ck_assert_msg(!result.failed, "seed %" PRIu64 ": %s", once[i], result.failure);
        ck_assert_uint_gt(result.faults[had[i]], 0);
    }
}

TEST_PLAIN(a_seed_replays_its_history)
{
    struct history_plan plan;
    struct history_result first, again;
    ck_assert_int_eq(history_draw(&plan, 5), STATUS_OK);
    history_run(&plan, &first);
    history_run(&plan, &again);
    ck_assert_uint_gt(first.events, 0);
    ck_assert_uint_eq(first.events, again.events);
    ck_assert_uint_eq(first.virtual_us, again.virtual_us);
    ck_assert_mem_eq(first.digest, again.digest, HASH_BYTES);
    ck_assert_uint_eq(first.counts.gradients, again.counts.gradients);
    ck_assert_uint_eq(first.network.delivered, again.network.delivered);
    history_free(&plan);
}

TEST_PLAIN(the_first_hundred_histories_are_as_they_were)
{
    struct golden *golden = golden_open("tests/simulated/histories.golden");
    for (uint64_t seed = 1; seed <= SEEDS_IN_GOLDEN; seed++) {
        struct history_plan plan;
        struct history_result result;
        char name[40], digest[HASH_HEX_LENGTH];
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        history_run(&plan, &result);
        history_free(&plan);
        snprintf(name, sizeof name, "seed-%" PRIu64, seed);
        hash_hex(result.digest, HASH_BYTES / 2, digest);
        golden_line(golden, name, digest);
    }
    golden_check(golden, "Processes behave otherwise than before: compare what both builds print "
                         "for\nsyncopate verify --seed N --verbose");
    golden_free(golden);
}

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase,
                      3600); /* As many histories as asked for; run_tests.sh has the limit. */
}

int main(void)
{
    return suite_run("histories", add_tests);
}
