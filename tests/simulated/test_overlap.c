/* Random histories in which gradients leave while the rest of them is computed, and the next step begins
 * with what is back of its parameters: crashes, overtaking and all, they end with the bits of serial
 * training, and nobody writes what is read. */
/* promises: bits-early */

#include <inttypes.h>
#include <stdio.h>

#include "deploy/verify/history.h"
#include "tests/lib/suite.h"

#define HISTORIES 60 /* Of each mode. */

static void plays_with_overlap(enum mode mode, bool leaves_early)
{
    uint64_t early = 0, gone_on = 0, crashes = 0, overtaking = 0, histories = 0;
    for (uint64_t seed = 1; histories < HISTORIES; seed++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        if (plan.job.mode == mode) {
            plan.overlap = true;
            history_run(&plan, &result);
            ck_assert_msg(!result.failed, "seed %" PRIu64 ": %s", seed, result.failure);
            histories++;
            early += result.early;
            gone_on += result.gone_on;
            crashes += result.faults[FAULT_CRASH];
            overtaking += result.network.overtaking;
        }
        history_free(&plan);
    }
    ck_assert_uint_gt(crashes, 0);
    ck_assert_uint_gt(overtaking, 0);
    ck_assert_uint_gt(gone_on, HISTORIES);
    if (leaves_early)
        ck_assert_uint_gt(early, 10 * HISTORIES);
    else
        ck_assert_uint_eq(early, 0);
}

TEST_PLAIN(sync_gradients_leave_as_they_come_and_make_the_same_bits)
{
    plays_with_overlap(MODE_SYNC, true);
}

TEST_PLAIN(allreduce_gradients_leave_as_they_come_and_make_the_same_bits)
{
    plays_with_overlap(MODE_ALLREDUCE, true);
}

TEST_PLAIN(backup_gradients_leave_as_they_come_and_make_the_same_bits)
{
    plays_with_overlap(MODE_BACKUP, true);
}

TEST_PLAIN(what_may_be_left_out_whole_leaves_whole_and_the_next_begins_early_all_the_same)
{
    plays_with_overlap(MODE_ASYNC, false);
    plays_with_overlap(MODE_SSP, false);
}

int main(void)
{
    return suite_run("overlap", NULL);
}
