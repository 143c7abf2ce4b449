/* Random histories of models so large that workers keep together on the way to a server: what waits for
 * the small window (exchange.c) leaves in the end, whoever crashes, overtakes or comes anew meanwhile,
 * and the bits are those of serial training. */
/* promises: bits-together */

#include <inttypes.h>
#include <stdio.h>

#include "deploy/verify/history.h"
#include "tests/lib/suite.h"

#define HISTORIES   6 /* Of each mode. */
#define STEPS_MAX   6
#define SHARD_BYTES (768u << 10) /* More than the least window of four workers. */
#define CHUNK_BYTES (60u << 10)

/* Of few servers and several workers, none of them on one host. */
static bool may_be_paced(const struct history_plan *plan)
{
    bool may = plan->job.steps <= STEPS_MAX;
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        const struct history_phase *phase = &plan->phases[i];
        may = may && phase->servers <= 2 && phase->workers >= 4 && !phase->colocated;
    }
    return may;
}

static void make_large(struct history_plan *plan)
{
    uint32_t servers = 1;
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        plan->phases[i].chunk_bytes = CHUNK_BYTES;
        if (plan->phases[i].servers > servers)
            servers = plan->phases[i].servers;
    }
    struct variable *variable = &plan->job.variables[0];
    variable->rank = 2;
    variable->shape[0] = 256;
    variable->shape[1] = servers * SHARD_BYTES / sizeof(float) / 256;
}

static void plays_large(enum mode mode)
{
    uint64_t reached = 0, crashes = 0, overtaking = 0, histories = 0;
    for (uint64_t seed = 1; histories < HISTORIES; seed++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        if (plan.job.mode == mode && may_be_paced(&plan)) {
            make_large(&plan);
            history_run(&plan, &result);
            ck_assert_msg(!result.failed, "seed %" PRIu64 ": %s", seed, result.failure);
            histories++;
            reached += result.paced > 0;
            crashes += result.faults[FAULT_CRASH];
            overtaking += result.network.overtaking;
        }
        history_free(&plan);
    }
    ck_assert_uint_gt(crashes, 0);
    ck_assert_uint_gt(overtaking, 0);
    /* One step, or a crash in the first, may be over before the window is full. */
    ck_assert_uint_gt(2 * reached, HISTORIES);
}

TEST_PLAIN(sync_workers_that_keep_together_make_the_same_bits)
{
    plays_large(MODE_SYNC);
}

TEST_PLAIN(allreduce_workers_that_keep_together_make_the_same_bits)
{
    plays_large(MODE_ALLREDUCE);
}

TEST_PLAIN(backup_workers_that_keep_together_make_the_bits_of_the_record)
{
    plays_large(MODE_BACKUP);
}

int main(void)
{
    return suite_run("paced", NULL);
}
