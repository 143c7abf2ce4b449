/* Crafted histories, one for each promise that random ones might keep by never meeting it. */
/* promises: bits checkpoints chunks serial slow ssp stop */

#include <stdlib.h>
#include <string.h>

#include "deploy/verify/history.h"
#include "tests/lib/suite.h"

/* A history of a fixed shape without mishaps; tests change what they are about. */
static struct history_plan calm(enum mode mode, enum work_kind kind, uint32_t servers,
                                uint32_t workers)
{
    struct history_plan plan;
    uint64_t seed = 1;
    for (;; seed++) { /* The first seed with variables enough for several chunks. */
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        if (plan.job.variable_count >= 3 && plan.kind == WORK_EXACT)
            break;
        history_free(&plan);
    }
    plan.kind = kind;
    plan.job.mode = mode;
    plan.job.backup_workers = mode == MODE_BACKUP;
    plan.job.use_locking = false;
    plan.job.micro_batch = 1;
    plan.job.batch = 4;
    plan.job.examples = 22; /* The last batch of an epoch has 2. */
    plan.job.steps = 30;
    plan.job.checkpoint_every = 0;
    plan.faults = (struct network_faults){.delay_min_us = 900, .delay_max_us = 1000};
    plan.queue_delay_us = 10;
    plan.compute_us = 20000;
    plan.phase_count = 1;
    struct history_phase *phase = &plan.phases[0];
    *phase = (struct history_phase){.servers = servers,
                                    .workers = workers,
                                    .owners_a_server = 2,
                                    .shared_disk = true,
                                    .chunk_bytes = 64};
    for (uint32_t i = 0; i < HISTORY_WORKERS_MAX; i++)
        phase->slow[i] = 1;
    return plan;
}

static void use_optimizer(struct history_plan *plan, const char *name)
{
    plan->job.optimizer = optimizer_find(name)->defaults;
    strcpy(plan->job.optimizer.name, name);
    plan->job.schedule.learning_rate = 0.01;
}

static struct history_result finish(struct history_plan *plan)
{
    struct history_result result;
    history_run(plan, &result);
    ck_assert_msg(!result.failed, "%s", result.failure);
    history_free(plan);
    return result;
}

TEST_PLAIN(one_asynchronous_worker_is_serial_training)
{
    /* A7: the witness applies gradients in the order they came; with one worker that is the order
     * of the batches, and each is made from all before it. */
    struct history_plan plan = calm(MODE_ASYNC, WORK_MIXED, 2, 1);
    use_optimizer(&plan, "adam");
    struct history_result result = finish(&plan);
    ck_assert_uint_eq(result.counts.staleness_max, 0);
    ck_assert_uint_eq(result.worker_batches[0], 30);
}

/* Mean staleness of W workers alike. */
static double staleness(uint32_t workers)
{
    struct history_plan plan = calm(MODE_ASYNC, WORK_EXACT, 1, workers);
    plan.job.steps = 200;
    struct history_result result = finish(&plan);
    ck_assert_uint_gt(result.counts.identities, 0); /* At the cut: no more and no less. */
    return (double)result.counts.staleness_sum / (double)result.counts.verdicts.applied;
}

TEST_PLAIN(equal_workers_are_stale_by_the_number_of_the_others)
{
    for (uint32_t workers = 1; workers <= 6; workers++) {
        double mean = staleness(workers), expected = workers - 1.0;
        ck_assert_double_ge(mean, expected * 0.85);
        ck_assert_double_le(mean, expected * 1.15);
    }
}

TEST_PLAIN(a_slow_worker_holds_up_nobody_in_async_mode)
{
    /* A2: worker 2 takes a hundred times as long, and the others do all the rest. */
    struct history_plan plan = calm(MODE_ASYNC, WORK_EXACT, 2, 3);
    plan.phases[0].slow[2] = 100;
    plan.job.steps = 90;
    struct history_result result = finish(&plan);
    ck_assert_uint_le(result.worker_batches[2], 2);
    ck_assert_uint_ge(result.worker_batches[0], 40);
    ck_assert_uint_ge(result.worker_batches[1], 40);
}

/* Workers of which the last is slow, and a bound. */
static struct history_result bounded(uint64_t bound, uint32_t workers, uint32_t slow)
{
    struct history_plan plan = calm(MODE_SSP, WORK_EXACT, 2, workers);
    plan.job.staleness_bound = bound;
    plan.job.steps = 120;
    plan.job.record = RECORDING_ON;
    plan.job.test_examples = 0; /* Who scores is a little behind, now the one and now the other. */
    plan.phases[0].slow[workers - 1] = slow;
    return finish(&plan);
}

TEST_PLAIN(at_bound_0_every_round_is_computed_from_its_own_versions)
{
    /* P5: what is computed from what, the record has. */
    for (uint32_t workers = 1; workers <= 6; workers++) {
        struct history_result result = bounded(0, workers, workers % 2 ? 1 : 7);
        ck_assert_uint_ge(result.counts.record.required, workers - 1);
        for (uint32_t i = 0; i < workers; i++) /* So nobody does more than others. */
            ck_assert_uint_eq(result.worker_batches[i], 120 / workers);
        /* In a round the k-th to be applied is at most k updates old. */
        ck_assert_uint_le(result.counts.staleness_max, workers - 1);
        ck_assert_uint_le(2 * result.counts.staleness_sum, result.counts.gradients * (workers - 1));
    }
}

TEST_PLAIN(clocks_differ_by_the_bound_when_one_is_slow_and_by_no_more)
{
    /* P1: seen, that the bound is reached; the record, that it is not passed. */
    static const uint64_t bounds[] = {1, 4, 9};
    for (unsigned i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct history_result result = bounded(bounds[i], 3, 30);
        ck_assert_uint_gt(result.counts.record.required, 0);
        ck_assert_uint_ge(result.worker_batches[0] + 1, result.worker_batches[2] + bounds[i]);
        ck_assert_uint_le(result.worker_batches[0], result.worker_batches[2] + bounds[i] + 1);
        ck_assert_uint_le(result.worker_batches[1], result.worker_batches[2] + bounds[i] + 1);
    }
}

TEST_PLAIN(equal_workers_are_as_stale_with_a_bound_as_without)
{
    /* What the bound limits is how far clocks are apart: where nobody waits the mean is async's. */
    struct history_result bounded_one = bounded(3, 4, 1);
    double mean =
        (double)bounded_one.counts.staleness_sum / (double)bounded_one.counts.verdicts.applied;
    ck_assert_double_ge(mean, 3 * 0.85);
    ck_assert_double_le(mean, 3 * 1.15);
}

/* A history of either mode that differs in nothing else. */
static struct history_result leased(enum mode mode, uint64_t bound, bool troubled)
{
    struct history_plan plan = calm(mode, WORK_EXACT, 2, 4);
    plan.job.staleness_bound = bound;
    plan.job.steps = 200;
    plan.job.checkpoint_every = 50;
    plan.phases[0].slow[3] = 5;
    if (troubled)
        plan.faults = (struct network_faults){
            .delay_min_us = 10, .delay_max_us = 20000, .overtake = 0.5, .repeat = 0.2};
    return finish(&plan);
}

TEST_PLAIN(without_a_bound_it_is_async)
{
    for (int troubled = 0; troubled < 2; troubled++) {
        struct history_result ssp = leased(MODE_SSP, MODE_UNBOUNDED, troubled);
        struct history_result async = leased(MODE_ASYNC, 0, troubled);
        ck_assert_uint_eq(ssp.virtual_us, async.virtual_us);
        ck_assert_uint_eq(ssp.events, async.events);
        ck_assert_mem_eq(ssp.worker_batches, async.worker_batches, sizeof ssp.worker_batches);
        ck_assert_mem_eq(&ssp.counts, &async.counts, sizeof ssp.counts);
        struct history_result one = leased(MODE_SSP, 1, troubled);
        ck_assert_uint_gt(one.virtual_us, async.virtual_us); /* With one they differ. */
    }
}

TEST_PLAIN(chunks_of_one_pull_differ_in_version_without_locking)
{
    /* A6: seen, so that the next test means something. */
    struct history_plan plan = calm(MODE_ASYNC, WORK_UNIFORM, 3, 4);
    plan.faults.delay_max_us = 20000;
    plan.compute_us = 2000;
    struct history_result result = finish(&plan);
    ck_assert_uint_gt(result.counts.skewed_pulls, 0);
}

TEST_PLAIN(with_locking_a_variable_is_one_chunk_on_a_server)
{
    /* What a chunk is, is read and applied as a unit: the witness checks that whatever the mode. */
    struct history_plan plan = calm(MODE_ASYNC, WORK_UNIFORM, 3, 4);
    plan.job.use_locking = true;
    plan.faults.delay_max_us = 20000;
    plan.compute_us = 2000;
    struct partition partition;
    uint64_t offsets[8];
    ck_assert_int_eq(partition_make(&partition, plan.job.variables, plan.job.variable_count, 3, 64,
                                    CHUNKS_LOCKED, NULL),
                     STATUS_OK);
    variables_layout(plan.job.variables, plan.job.variable_count, offsets);
    bool seen[8][3] = {{false}};
    for (uint32_t i = 0; i < partition.chunk_count; i++) {
        uint32_t variable = plan.job.variable_count - 1;
        while (offsets[variable] > partition.chunks[i].first)
            variable--;
        ck_assert(!seen[variable][partition.chunks[i].server]);
        seen[variable][partition.chunks[i].server] = true;
    }
    partition_free(&partition);
    finish(&plan);
}

TEST_PLAIN(the_bits_do_not_depend_on_how_the_work_is_spread)
{
    /* Against serial training each, so against one another. 4 leaves: runs of 1, 2, 3, ... */
    for (uint32_t servers = 1; servers <= 3; servers++)
        for (uint32_t workers = 1; workers <= 6; workers++) {
            struct history_plan plan = calm(MODE_SYNC, WORK_MIXED, servers, workers);
            use_optimizer(&plan, "adam");
            plan.faults = (struct network_faults){.delay_min_us = 10,
                                                  .delay_max_us = 20000,
                                                  .overtake = 0.5,
                                                  .repeat = 0.2,
                                                  .repeat_late_us = 200000};
            finish(&plan);
        }
}

TEST_PLAIN(one_leaf_leaves_all_but_one_worker_standing_by)
{
    struct history_plan plan = calm(MODE_SYNC, WORK_MIXED, 2, 4);
    plan.job.micro_batch = 4;
    plan.faults.straggle = 0.3; /* Some are left behind and have to catch up. */
    plan.compute_us = 100;
    struct history_result result = finish(&plan);
    ck_assert_uint_gt(result.counts.moved_on, 0);
}

TEST_PLAIN(a_stopped_job_goes_on_with_other_servers_and_workers)
{
    for (enum mode mode = 0; mode < MODE_COUNT; mode++)
        for (uint32_t at = 0; at < 10; at++) {
            struct history_plan plan =
                calm(mode, mode == MODE_SYNC ? WORK_MIXED : WORK_EXACT, 2, 3);
            if (mode == MODE_SYNC)
                use_optimizer(&plan, "adam");
            plan.phase_count = 2;
            plan.phases[1] = plan.phases[0];
            plan.phases[1].servers = 3;
            plan.phases[1].workers = 2;
            plan.phases[0].stop_after_us = 1 + at * 20000;
            plan.phases[0].stop_process = at % 5;
            struct history_result result = finish(&plan);
            ck_assert_uint_eq(result.stopped, 1);
        }
}

TEST_PLAIN(three_checkpoints_are_kept)
{
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        struct history_plan plan = calm(mode, WORK_EXACT, 2, 2);
        plan.job.checkpoint_every = 4;
        struct history_result result = finish(&plan);
        ck_assert_uint_eq(result.checkpoints, CHECKPOINTS_KEPT);
    }
}

/* Server 0 is killed as soon as one of the servers has heard of the end. worker/1, which is cut
 * off meanwhile, has not; and before it is back, a fresh worker/0 has declared the job anew. */
TEST_PLAIN(whoever_comes_from_a_run_that_has_ended_hears_how)
{
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        struct history_plan plan = calm(mode, WORK_EXACT, 2, 2);
        enum { PS_0, PS_1, WORKER_0, WORKER_1, SECOND = 1000000 };
        plan.on_worker_loss = LOSS_CONTINUE;
        plan.phases[0].faulty = true;
        plan.phases[0].faults = (struct fault_plan){
            .faults = {{.kind = FAULT_PARTITION, .hosts = 1u << WORKER_1, .for_us = 3 * SECOND},
                       {.kind = FAULT_CRASH, .host = WORKER_0, .for_us = SECOND},
                       {.kind = FAULT_CRASH, .host = PS_0, .for_us = SECOND / 2}},
            .count = 3,
            .calm_us = 10 * SECOND,
        };
        for (uint32_t i = 0; i < 3; i++) {
            plan.phases[0].faults.faults[i].time = FAULT_MESSAGES;
            plan.phases[0].faults.faults[i].message = i < 2 ? MESSAGE_CUT : MESSAGE_FINISHED;
            plan.phases[0].faults.faults[i].count = 1;
        }
        struct history_result result = finish(&plan);
        ck_assert_uint_eq(result.faults[FAULT_CRASH], 2);
        ck_assert_uint_eq(result.faults[FAULT_PARTITION], 1);
        ck_assert_uint_eq(result.phases, 1); /* It was done. */
    }
}

/* Server 0 is stopped with reports in its queue. Another one begins anew and ends with a clean stop.
 * Then the first goes on and closes a step by itself: of what leaves is for no other to know. */
TEST_PLAIN(a_server_0_whose_place_was_taken_may_close_a_step_by_itself)
{
    for (uint32_t at = 0; at < 20; at++) {
        struct history_plan plan = calm(MODE_BACKUP, WORK_EXACT, 1, 3);
        enum { SECOND = 1000000 };
        plan.job.steps = 300;
        plan.job.record = RECORDING_ON;
        plan.queue_delay_us = 5000;
        plan.phase_count = 2;
        plan.phases[1] = plan.phases[0];
        plan.phases[0].stop_after_us = 7 * SECOND;
        plan.phases[0].stop_process = 1; /* Of the workers. */
        plan.phases[0].faulty = true;
        plan.phases[0].faults = (struct fault_plan){
            .faults = {{.kind = FAULT_REPLACE,
                        .at_us = SECOND + at * 1000,
                        .for_us = 8 * SECOND,
                        .number = 5 * SECOND}},
            .count = 1,
            .calm_us = 20 * SECOND,
        };
        plan.start_within_us = 1000;
        struct history_result result = finish(&plan);
        ck_assert_uint_eq(result.faults[FAULT_REPLACE], 1);
        ck_assert_uint_eq(result.stopped, 1);
    }
}

int main(void)
{
    return suite_run("promises", NULL);
}
