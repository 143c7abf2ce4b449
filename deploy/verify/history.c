/* history.c - draws a job and its faults, runs it phase by phase, and checks after each what is on
 * the disk and what was computed. */

#include "deploy/verify/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/compensation.h"
#include "common/store/generation.h"
#include "common/store/model_file.h"
#include "common/store/run_directory.h"
#include "deploy/verify/mode_invariants.h"
#include "ps/mode/shard_mode.h"

#define BETWEEN_US 100000000u /* From one phase to the next, for the disks. */
#define SUB_PLAN   16         /* Sub-streams of the seed: plan, disks, faults, staleness. */
#define SUB_DISK   32
#define SUB_FAULTS 48
#define SUB_STALE  64

/* --- drawing --------------------------------------------------------------------------------- */

static uint32_t from_to(struct random_sequence *random, uint32_t least, uint32_t most)
{
    return least + random_below(random, most - least + 1);
}

static bool one_in(struct random_sequence *random, uint32_t n)
{
    return random_below(random, n) == 0;
}

static enum status draw_variables(struct job *job, struct random_sequence *random, bool zeros)
{
    job->variable_count = from_to(random, 1, 5);
    job->variables = calloc(job->variable_count, sizeof *job->variables);
    if (job->variables == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        struct variable *variable = &job->variables[i];
        snprintf(variable->name, sizeof variable->name, "layer%u/kernel", i);
        variable->rank = from_to(random, 1, 2);
        variable->shape[0] = from_to(random, 1, 20);
        variable->shape[1] = variable->rank == 2 ? from_to(random, 1, 6) : 0;
        variable->initializer =
            zeros || one_in(random, 3) ? INITIALIZER_ZEROS : INITIALIZER_GLOROT_UNIFORM;
        variable->fan_in = variable->fan_out = 5;
    }
    return STATUS_OK;
}

static void draw_optimizer(struct job *job, struct random_sequence *random, enum work_kind kind)
{
    unsigned count = 0;
    while (optimizer_at(count) != NULL)
        count++;
    const struct optimizer *optimizer = kind != WORK_MIXED ? optimizer_find("sgd")
                                        : one_in(random, 2)
                                            ? optimizer_find("adam")
                                            : optimizer_at(random_below(random, count));
    job->optimizer = optimizer->defaults;
    snprintf(job->optimizer.name, sizeof job->optimizer.name, "%s", optimizer->name);
    job->schedule = (struct schedule){.kind = SCHEDULE_CONSTANT, .learning_rate = 1.0};
    if (kind != WORK_MIXED)
        return;
    job->schedule.learning_rate = 0.01;
    if (one_in(random, 3))
        job->schedule = (struct schedule){SCHEDULE_STEP, 0.02, 3, 4, 0.5, 0};
}

/* Sums stay exact when every update has a power of two of examples. */
static void draw_batches(struct job *job, struct random_sequence *random, enum work_kind kind)
{
    static const uint32_t leaves[] = {1, 2, 3, 4, 4, 4, 5, 6, 8, 8, 13};
    uint32_t count = leaves[random_below(random, sizeof leaves / sizeof *leaves)];
    uint32_t ragged;
    if (kind != WORK_MIXED) {
        job->micro_batch = 1;
        job->batch = 1u << random_below(random, 4);
        ragged = 1u << random_below(random, 3);
        ragged = ragged > job->batch ? job->batch : ragged;
    } else {
        job->micro_batch = from_to(random, 1, 4);
        job->batch = count * job->micro_batch - random_below(random, job->micro_batch);
        ragged = from_to(random, 1, job->batch);
    }
    job->steps = from_to(random, 1, one_in(random, 4) ? 40 : 16);
    job->examples = (uint64_t)from_to(random, 0, 7) * job->batch + ragged;
    job->test_examples = random_below(random, 20);
    job->score_piece = job->seed % 4;
    job->checkpoint_every = one_in(random, 3) ? 0 : from_to(random, 1, 6);
}

static enum status draw_job(struct history_plan *plan, struct random_sequence *random)
{
    struct job *job = &plan->job;
    job->mode = (enum mode)from_to(random, 0, MODE_COUNT - 1);
    job->staleness_bound = !job_mode(job)->bounds ? 0
                           : one_in(random, 10)   ? MODE_UNBOUNDED
                                                  : random_below(random, 5);
    job->backup_workers = job_mode(job)->sets ? from_to(random, 1, 2) : 0;
    job->use_locking = !job_mode(job)->steps && one_in(random, 3);
    job->record = plan->seed % 6 == 0 ? RECORDING_OFF : RECORDING_ON;
    job->keep_scored = plan->seed % 5 < 2;
    job->verify_every = job_mode(job)->replicates ? plan->seed % 3 : 0;
    job->report_every = plan->seed % 7 < 4 ? plan->seed % 11 : 0;
    plan->kind = one_in(random, 2) ? WORK_MIXED : one_in(random, 3) ? WORK_UNIFORM : WORK_EXACT;
    job->seed = plan->seed;
    snprintf(job->model, sizeof job->model, "simulated");
    snprintf(job->data, sizeof job->data, "simulated");
    draw_optimizer(job, random, plan->kind);
    draw_batches(job, random, plan->kind);
    return draw_variables(job, random, plan->kind != WORK_MIXED);
}

/* In a sequence of their own, so that a history is otherwise what it is without. Sums that are to
 * come out exact are of gradients as they are. */
static void draw_staleness(struct history_plan *plan)
{
    struct random_sequence random;
    struct job *job = &plan->job;
    random_sequence_init(&random, plan->seed, RANDOM_STREAM_SIMULATOR, SUB_STALE);
    if (plan->kind != WORK_MIXED)
        return;
    if (one_in(&random, 2))
        job->staleness_rate = (enum staleness_rate)random_below(&random, STALENESS_RATE_COUNT);
    if (one_in(&random, 3)) {
        job->delay_compensation = 0.25f * (float)from_to(&random, 1, 8);
        job->compensation_adapts = one_in(&random, 2);
    }
    if (one_in(&random, 3)) {
        job->max_staleness = from_to(&random, 1, 4);
        job->staleness_loses = one_in(&random, 2);
    }
    if (one_in(&random, 4))
        job->accumulate = from_to(&random, 2, 5);
    if (one_in(&random, 3))
        job->loss_scale = LOSS_SCALE_GLOBAL_BATCH;
    if (one_in(&random, 4))
        job->l2 = 0.125f * (float)from_to(&random, 1, 4);
    job_forget_unused(job);
    /* It decides in place of a bound, and when a group is closed. */
    bool any = !job_mode(job)->steps && !job_mode(job)->bounds && !job_accumulates(job) &&
               !shard_mode_of(job)->too_stale(job, UINT64_MAX);
    if (any && one_in(&random, 3))
        snprintf(job->policy, sizeof job->policy, "rates");
}

static void draw_faults(struct history_plan *plan, struct random_sequence *random)
{
    static const uint64_t delays_us[] = {200, 2000, 20000, 100000};
    static const uint64_t queues_us[] = {0, 100, 3000, 30000};
    static const uint64_t computes_us[] = {50, 1000, 20000, 200000};
    static const uint64_t latencies_us[] = {0, 1000, 20000, 200000};
    uint64_t delay = delays_us[random_below(random, 4)];
    plan->faults = (struct network_faults){
        .delay_min_us = delay / 10,
        .delay_max_us = delay,
        .straggle = one_in(random, 2) ? 0 : 0.02,
        .overtake = one_in(random, 3) ? 0 : 0.1 * from_to(random, 1, 10),
        .repeat = one_in(random, 3) ? 0 : 0.05 * from_to(random, 1, 8),
        .repeat_late_us = delay * (one_in(random, 2) ? 2 : 40),
        .share_frames = one_in(random, 3),
    };
    plan->queue_delay_us = queues_us[random_below(random, 4)];
    plan->compute_us = computes_us[random_below(random, 4)];
    plan->start_within_us = one_in(random, 2) ? 300000 : 3000000;
    plan->disk_latency_us = latencies_us[random_below(random, 4)];
    plan->bad_one_in = one_in(random, 4) ? from_to(random, 2, 10) : 0;
    plan->on_worker_loss = one_in(random, 4)   ? LOSS_WAIT
                           : one_in(random, 6) ? LOSS_FAIL
                                               : LOSS_CONTINUE;
    plan->deadlines = (struct deadlines){
        .start = 60,
        .silence = one_in(random, 2) ? 5 : 2,
        .recovery = one_in(random, 8) ? 8 : 60,
        .progress = 30,
        /* Where some are too stale the slow may have to do theirs again. */
        .stop = shard_mode_of(&plan->job)->too_stale(&plan->job, UINT64_MAX) ? 60 : 20,
    };
}

static void draw_phase(struct history_plan *plan, struct history_phase *phase,
                       struct random_sequence *random, uint32_t pieces)
{
    phase->servers =
        from_to(random, 1, pieces < HISTORY_SERVERS_MAX ? pieces : HISTORY_SERVERS_MAX);
    phase->workers = from_to(random, 1, one_in(random, 4) ? HISTORY_WORKERS_MAX : 4);
    if (phase->workers <= plan->job.backup_workers)
        phase->workers = plan->job.backup_workers + 1;
    phase->owners_a_server = from_to(random, 1, 3);
    phase->owners_inline = one_in(random, 4);
    if (phase->owners_inline)
        phase->owners_a_server = 1;
    phase->shared_disk = one_in(random, 2);
    phase->chunk_bytes = 64u * from_to(random, 1, 8);
    for (uint32_t i = 0; i < HISTORY_WORKERS_MAX; i++)
        phase->slow[i] = one_in(random, 5) ? from_to(random, 2, 20) : 1;
    /* Anywhere from the start to after the end. */
    uint64_t about_us = plan->job.steps * (2 * plan->compute_us + 3 * plan->faults.delay_max_us +
                                           4 * plan->queue_delay_us);
    phase->stop_after_us = 1 + random_below(random, (uint32_t)about_us);
    phase->stop_process = random_below(random, phase->servers + phase->workers);
}

/* Of some a server is beside each worker. Nothing is drawn, so that all others are what they were. */
static void place_together(const struct history_plan *plan, struct history_phase *phase)
{
    phase->colocated = plan->seed % 4 == 1 && phase->servers > plan->job.backup_workers;
    if (!phase->colocated)
        return;
    phase->workers = phase->servers;
    phase->stop_process %= phase->servers + phase->workers;
}

/* In a sequence of their own, so that a history with faults is the quiet one with faults. */
static void draw_phase_faults(struct history_plan *plan, struct history_phase *phase,
                              struct random_sequence *random)
{
    uint64_t about_us = plan->start_within_us +
                        plan->job.steps * (2 * plan->compute_us + 2 * plan->faults.delay_max_us +
                                           2 * plan->queue_delay_us);
    phase->faulty = !one_in(random, 4);
    fault_plan_draw(&phase->faults, random, phase->servers, phase->workers, about_us);
    if (phase->colocated)
        fault_plan_lose_hosts(&phase->faults);
}

enum status history_draw(struct history_plan *plan, uint64_t seed)
{
    struct random_sequence random;
    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    random_sequence_init(&random, seed, RANDOM_STREAM_SIMULATOR, SUB_PLAN);
    if (draw_job(plan, &random) != STATUS_OK)
        return STATUS_MEMORY;
    draw_staleness(plan);
    draw_faults(plan, &random);
    struct simulated_work work;
    if (simulated_work_init(&work, &plan->job, plan->kind) != STATUS_OK)
        return STATUS_MEMORY;
    uint32_t pieces = (uint32_t)(work.elements / PARAMETER_ALIGNMENT);
    simulated_work_free(&work);
    plan->phase_count = one_in(&random, 2) ? 1 : from_to(&random, 2, HISTORY_PHASES_MAX);
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        draw_phase(plan, &plan->phases[i], &random, pieces);
        place_together(plan, &plan->phases[i]);
    }
    plan->phases[plan->phase_count - 1].stop_after_us = 0;
    random_sequence_init(&random, seed, RANDOM_STREAM_SIMULATOR, SUB_FAULTS);
    for (uint32_t i = 0; i < plan->phase_count; i++)
        draw_phase_faults(plan, &plan->phases[i], &random);
    return STATUS_OK;
}

void history_free(struct history_plan *plan)
{
    job_free(&plan->job);
    memset(plan, 0, sizeof *plan);
}

void history_describe(const struct history_plan *plan, char *text, size_t size)
{
    static const char *const kinds[] = {"exact", "uniform", "mixed"};
    const struct job *job = &plan->job;
    snprintf(text, size, "%s%s", job_mode_text(job).text, job->use_locking ? "+locking" : "");
    if (job->staleness_rate != STALENESS_RATE_NONE)
        wording_append(text, size, "+rate:%s", staleness_rate_numbered(job->staleness_rate));
    if (job->delay_compensation > 0)
        wording_append(text, size, "+compensation:%s", compensation_text(job).text);
    if (job->max_staleness > 0)
        wording_append(text, size, "+most:%s", job_max_staleness_text(job).text);
    if (job_accumulates(job))
        wording_append(text, size, "+accumulate:%" PRIu32, job->accumulate);
    if (job->loss_scale != LOSS_SCALE_EXAMPLES)
        wording_append(text, size, "+scale:%s", loss_scale_numbered(job->loss_scale));
    if (job->l2 > 0)
        wording_append(text, size, "+l2");
    if (job->keep_scored)
        wording_append(text, size, "+kept");
    wording_append(text, size, " %s %s steps=%" PRIu64 " leaves=%u", job->optimizer.name,
                   kinds[plan->kind], job->steps, job_leaves_max(job));
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        const struct history_phase *phase = &plan->phases[i];
        wording_append(text, size, " %sps=%u workers=%u owners=%u%s", i > 0 ? "then " : "",
                       phase->servers, phase->workers, phase->owners_a_server,
                       phase->shared_disk ? "" : " own-disks");
        if (phase->colocated)
            wording_append(text, size, " colocated");
        if (!phase->faulty)
            continue;
        wording_append(text, size, ": ");
        fault_plan_describe(&phase->faults, phase->servers, text, size);
    }
}

/* --- running --------------------------------------------------------------------------------- */

struct running {
    const struct history_plan *plan;
    struct history_result *result;
    struct simulated_disk disks[HISTORY_SERVERS_MAX];
    struct model_state model; /* As of `step`. */
    uint64_t step;
};

static void fail(struct running *r, const char *text)
{
    if (!r->result->failed)
        snprintf(r->result->failure, sizeof r->result->failure, "phase %u: %s", r->result->phases,
                 text);
    r->result->failed = true;
}

static enum status phase_job(const struct history_plan *plan, const struct history_phase *phase,
                             struct job *job)
{
    enum status status = job_copy(job, &plan->job);
    if (status != STATUS_OK)
        return status;
    job->server_count = phase->servers;
    job->worker_count = phase->workers;
    job->colocated = phase->colocated;
    job->chunk_bytes = phase->chunk_bytes;
    job->chunks_at_layers = plan->seed % 4 == 3;
    free(job->servers);
    job->servers = calloc(phase->servers, sizeof *job->servers);
    for (uint32_t i = 0; i < phase->servers && job->servers != NULL; i++)
        snprintf(job->servers[i], ADDRESS_MAX, "simulated:%u", i);
    return job->servers == NULL ? STATUS_MEMORY : STATUS_OK;
}

static void add_counts(struct history_result *result, const struct check_run *x)
{
    oracle_counts_add(&result->counts, &x->oracle.counts);
    network_counts_add(&result->network, &x->engine.network.counts);
    result->events += x->engine.events;
    result->virtual_us += x->engine.now_us;
    transcript_join(result->digest, x->engine.transcript.digest);
    result->processes += x->engine.process_count;
    for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
        result->faults[i] += x->injector.counts[i];
    if (x->options.plan != NULL && x->engine.now_us > x->options.plan->calm_us + result->healing_us)
        result->healing_us = x->engine.now_us - x->options.plan->calm_us;
    for (uint32_t i = 0; i < x->engine.process_count; i++) {
        result->early += x->engine.processes[i]->worker.early;
        result->gone_on += x->engine.processes[i]->worker.gone_on;
        result->paced += x->engine.processes[i]->worker.paced;
    }
    memset(result->worker_batches, 0, sizeof result->worker_batches);
    for (uint32_t i = 0; i < x->engine.process_count; i++)
        if (!x->engine.processes[i]->is_server &&
            x->engine.processes[i]->index < HISTORY_WORKERS_MAX)
            result->worker_batches[x->engine.processes[i]->index] +=
                x->engine.processes[i]->worker.batches;
}

/* The model of a checkpoint on server 0's disk, which must be whole. The caller frees it. */
static bool read_checkpoint(struct running *r, uint64_t step, struct model_state *model)
{
    struct checkpoint_reader reader;
    struct error error;
    char path[DISK_PATH_MAX], text[600];
    memset(model, 0, sizeof *model);
    checkpoint_path(path, SIMULATED_OUT, step);
    if (checkpoint_open(&reader, &r->disks[0].disk, path, &error) != STATUS_OK) {
        snprintf(text, sizeof text, "a checkpoint does not open: %s", error.text);
        fail(r, text);
        return false;
    }
    model->array_count = reader.array_count;
    model->elements = reader.elements;
    for (uint32_t array = 0; array < reader.array_count; array++) {
        model->arrays[array] = reader.arrays[array];
        reader.arrays[array] = NULL;
    }
    checkpoint_close(&reader);
    return true;
}

/* The witness is told of every checkpoint that there is when a phase begins, unless it has trained serially
 * to all of them. */
static void tell_checkpoints(struct running *r, struct oracle *oracle)
{
    uint64_t steps[2 * CHECKPOINTS_KEPT];
    struct model_state model;
    if (oracle->mode_invariants->serial && oracle->sets.states == NULL)
        return;
    size_t count = checkpoint_list(&r->disks[0].disk, SIMULATED_OUT, steps, 2 * CHECKPOINTS_KEPT);
    for (size_t i = 0; i < count; i++) {
        if (read_checkpoint(r, steps[i], &model) &&
            oracle_know(oracle, steps[i], &model) != STATUS_OK)
            fail(r, "out of memory");
        model_state_free(&model);
    }
}

/* The model that was kept as scored after so many batches; false: there is none. A file that is there
 * is whole. */
static bool read_kept(struct running *r, uint64_t batches, struct model_file *model)
{
    char path[DISK_PATH_MAX], text[600];
    struct error error;
    snprintf(path, sizeof path, "%s/scored/epoch-%" PRIu64 ".safetensors", SIMULATED_OUT,
             job_epoch_ended(&r->plan->job, batches));
    if (simulated_disk_find(&r->disks[0], path) == NULL)
        return false;
    if (model_file_open(model, &r->disks[0].disk, path, &error) == STATUS_OK)
        return true;
    snprintf(text, sizeof text, "a model that is kept does not open: %s", error.text);
    fail(r, text);
    return false;
}

/* The witness is told of every model that was kept when a phase begins. */
static void tell_kept(struct running *r, struct oracle *oracle)
{
    const struct job *job = &r->plan->job;
    struct model_file model;
    for (uint64_t batches = 1; batches <= job->steps; batches++)
        if (job_scores_at(job, batches) && read_kept(r, batches, &model)) {
            oracle_know_kept(oracle, batches, model.parameters);
            model_file_close(&model);
        }
}

/* Those that are kept are what all chunks had when they were scored. */
static void check_kept(struct running *r, const struct oracle *oracle)
{
    const struct job *job = &r->plan->job;
    struct model_file model;
    char text[200];
    r->result->kept = 0;
    for (uint64_t batches = 1; batches <= job->steps && !r->result->failed; batches++) {
        if (!job_scores_at(job, batches) || !read_kept(r, batches, &model))
            continue;
        r->result->kept++;
        snprintf(text, sizeof text,
                 "the model that is kept as scored after %" PRIu64 " batches is another%s", batches,
                 job->keep_scored ? "" : ", and none was to be kept");
        if (!job->keep_scored || !oracle_knows_kept(oracle, batches, model.parameters))
            fail(r, text);
        model_file_close(&model);
    }
}

/* How many checkpoints more there may be than are kept: whoever is killed between writing one and
 * removing another leaves one more, which a successor removes, and so does whoever had no memory to list
 * them after the last; a disk may refuse to remove any. */
static size_t spare_checkpoints(const struct check_run *x, int code)
{
    if (x->options.plan == NULL)
        return x->oracle.scarce;
    return x->injector.counts[FAULT_DISK] > 0 ? CHECKPOINTS_KEPT : code != EXIT_DONE;
}

/* The checkpoints on server 0's disk: all whole, and of models that there were; at `step` the
 * newest, which becomes the model of this history. */
static void check_checkpoints(struct running *r, uint64_t step, size_t spare,
                              const struct oracle *oracle)
{
    uint64_t steps[2 * CHECKPOINTS_KEPT];
    char text[200];
    struct model_state model;
    size_t count = checkpoint_list(&r->disks[0].disk, SIMULATED_OUT, steps, 2 * CHECKPOINTS_KEPT);
    r->result->checkpoints = count;
    if (count == 0 || steps[0] != step)
        fail(r, "the newest checkpoint is not that of the end");
    if (count > CHECKPOINTS_KEPT + spare)
        fail(r, "there are too many checkpoints");
    for (size_t i = 0; i < count && !r->result->failed; i++) {
        if (read_checkpoint(r, steps[i], &model) && !oracle_knows(oracle, steps[i], &model)) {
            snprintf(text, sizeof text,
                     "the checkpoint at step %" PRIu64 " has other bits than it should", steps[i]);
            fail(r, text);
        }
        if (i == 0) {
            model_state_free(&r->model);
            r->model = model;
            r->step = step;
        } else {
            model_state_free(&model);
        }
    }
}

static bool server_0_said(const struct check_run *x, const char *text)
{
    for (uint32_t i = 0; i < x->engine.process_count; i++)
        if (x->engine.processes[i]->host == 0 &&
            strstr(x->engine.processes[i]->reason, text) != NULL)
            return true;
    return false;
}

/* Where the phase has left the job. */
static void check_phase(struct running *r, struct check_run *x, int code)
{
    uint64_t step = r->step;
    uint64_t newest;
    bool any = checkpoint_list(&r->disks[0].disk, SIMULATED_OUT, &newest, 1) > 0;
    if (code == EXIT_DONE)
        step = r->plan->job.steps;
    else if (any)
        step = newest;
    /* A stop that something went wrong with leaves the last whole checkpoint. */
    if (code == EXIT_DONE || x->options.plan == NULL)
        oracle_finish(&x->oracle, step);
    if (x->oracle.failed) {
        fail(r, x->oracle.failure);
        return;
    }
    if (any || code == EXIT_DONE)
        check_checkpoints(r, step, spare_checkpoints(x, code), &x->oracle);
    if (!r->result->failed)
        check_kept(r, &x->oracle);
    char path[DISK_PATH_MAX];
    snprintf(path, sizeof path, "%s/model.safetensors", SIMULATED_OUT);
    /* Whoever computes for long may be waited for too long when the job is to stop; then what stands
     * is the last checkpoint, and nothing is exported. */
    bool late = server_0_said(x, "stopping took longer");
    if ((code == EXIT_DONE || (any && x->options.plan == NULL && !late)) &&
        simulated_disk_find(&r->disks[0], path) == NULL)
        fail(r, "no model was exported");
}

/* Within which time a phase must come to its end when nothing goes wrong any more: what there is to
 * compute, by the slowest worker alone; what there is to say and to write; and every deadline once,
 * because each of them may have to pass before the next thing is done. */
static uint64_t bound_us(const struct history_plan *plan, const struct history_phase *phase)
{
    const struct job *job = &plan->job;
    const struct deadlines *deadlines = &plan->deadlines;
    double slowest = 20;
    for (uint32_t i = 0; i < phase->workers; i++)
        slowest = phase->slow[i] > slowest ? phase->slow[i] : slowest;
    uint64_t node_us = (uint64_t)(2 * slowest * (double)plan->compute_us);
    uint64_t round_us =
        20 * plan->faults.delay_max_us + plan->faults.repeat_late_us + 6 * plan->queue_delay_us;
    uint64_t snapshot_us = 100 * plan->disk_latency_us + 4 * round_us;
    double waits = deadlines->start + deadlines->silence + deadlines->recovery +
                   deadlines->progress + 2 * deadlines->stop;
    return job->steps * (job_leaves_max(job) * node_us + round_us + snapshot_us) +
           (uint64_t)(waits * 1e6) + plan->start_within_us + 10 * round_us;
}

static void repair(struct simulated_disk *disk, uint64_t latency_us)
{
    disk->full = disk->read_only = false;
    disk->failing = 0;
    disk->latency_us = latency_us;
    simulated_disk_unlock(disk, SIMULATED_ANYBODY);
}

/* Whether the run is done, though the phase before did not come to hear of it. */
static bool is_done(struct running *r)
{
    struct run_found found;
    if (run_directory_find(&found, &r->disks[0].disk, SIMULATED_OUT, NULL) != STATUS_OK)
        return false;
    job_free(&found.job);
    return found.state == RUN_DONE;
}

static int run_phase(struct running *r, const struct history_phase *phase, const struct job *job)
{
    const struct history_plan *plan = r->plan;
    struct simulated_disk *disks[HISTORY_SERVERS_MAX];
    for (uint32_t i = 0; i < HISTORY_SERVERS_MAX; i++)
        disks[i] = phase->shared_disk ? &r->disks[0] : &r->disks[i];
    struct check_run_options options = {
        .seed = plan->seed * HISTORY_PHASES_MAX + r->result->phases,
        .job = job,
        .kind = plan->kind,
        .owners_a_server = phase->owners_a_server,
        .owners_inline = phase->owners_inline,
        .faults = plan->faults,
        .queue_delay_us = plan->queue_delay_us,
        .start_within_us = plan->start_within_us,
        .compute_us = plan->compute_us,
        .slow = phase->slow,
        .disks = disks,
        .disk_latency_us = plan->disk_latency_us,
        .disks_us = r->result->virtual_us + r->result->phases * BETWEEN_US,
        .restore = "auto",
        .deadlines = plan->deadlines,
        .on_worker_loss = plan->on_worker_loss,
        .bad_one_in = plan->bad_one_in,
        .plan = phase->faulty ? &phase->faults : NULL,
        .stop_after_us = phase->stop_after_us,
        .stop_host = phase->stop_process,
        .time_limit_us = plan->time_limit_us > 0 ? plan->time_limit_us : bound_us(plan, phase),
        .tamper = plan->tamper,
        .overlap = plan->overlap,
        .scarce = plan->scarce,
        .verbose = plan->verbose,
    };
    struct check_run check_run;
    struct generation generation;
    struct error error = {STATUS_OK, ""};
    int code = -1;
    if (generation_read(&generation, &r->disks[0].disk, SIMULATED_OUT, &error) == STATUS_OK)
        options.generation = generation.number;
    if (check_run_init(&check_run, &options, &error) != STATUS_OK) {
        fail(r, error.text);
    } else {
        tell_checkpoints(r, &check_run.oracle);
        tell_kept(r, &check_run.oracle);
        code = r->result->failed ? -1 : check_run_execute(&check_run);
        if (code == -1)
            fail(r, check_run.oracle.failure);
        else
            check_phase(r, &check_run, code);
        add_counts(r->result, &check_run);
    }
    /* Each ended those whom it had; and one that was stopped before a worker came has none. */
    bool others = check_run.injector.two_coordinators ||
                  server_0_said(&check_run, "stopped before training started");
    check_run_free(&check_run);
    for (uint32_t i = 0; i < HISTORY_SERVERS_MAX; i++) /* Somebody has looked after them. */
        repair(&r->disks[i], plan->disk_latency_us);
    if (code == EXIT_INTERRUPTED && !others && !r->result->failed && is_done(r))
        fail(r, "the run is done, and who was in it was told that it was interrupted");
    return code;
}

/* In exact work the end is known without any model of what happened on the way. */
static void check_sums(struct running *r)
{
    const struct history_plan *plan = r->plan;
    struct simulated_work work;
    if (plan->kind == WORK_MIXED || job_mode(&plan->job)->sets ||
        simulated_work_init(&work, &plan->job, plan->kind) != STATUS_OK)
        return;
    work.bad_one_in = plan->bad_one_in;
    for (uint64_t i = 0; i < work.elements && !r->result->failed; i++) {
        double sum = 0; /* Multiples of 1/8 far below 2^50: exact. */
        for (uint64_t step = 0; work.used[i] && step < plan->job.steps; step++) {
            if (simulated_work_is_bad(&work, step))
                continue;
            struct batch_range batch = job_batch(&plan->job, step);
            for (uint32_t leaf = 0; leaf < batch.leaves; leaf++)
                sum += (double)simulated_work_integer(&work, step, leaf, i) / batch.examples;
        }
        if ((double)r->model.arrays[0][i] != -sum)
            fail(r, "the final values are not minus the sum of all gradients");
    }
    simulated_work_free(&work);
}

/* The whole run made again from its record. */
static void check_replay(struct running *r)
{
    const struct history_plan *plan = r->plan;
    struct simulated_work work;
    struct job job;
    struct error error;
    char text[300];
    if (plan->job.record != RECORDING_ON || plan->scarce)
        return;
    if (phase_job(plan, &plan->phases[plan->phase_count - 1], &job) != STATUS_OK ||
        simulated_work_init(&work, &job, plan->kind) != STATUS_OK) {
        fail(r, "out of memory");
        return;
    }
    work.bad_one_in = plan->bad_one_in;
    if (record_check(&r->disks[0], SIMULATED_OUT, &work, r->step, r->model.arrays[0],
                     &r->result->counts.record, &error) != STATUS_OK) {
        snprintf(text, sizeof text, "replay: %.280s", error.text);
        fail(r, text);
    }
    simulated_work_free(&work);
    job_free(&job);
}

/* Nothing is started for a run that is done; whatever else a phase leaves can be gone on with. */
static int begin_phase(struct running *r, const struct history_phase *phase)
{
    struct job job;
    struct error error;
    int code = -1;
    r->result->phases++;
    if (phase_job(r->plan, phase, &job) != STATUS_OK)
        fail(r, "out of memory");
    else if (run_directory_check(&r->disks[0].disk, SIMULATED_OUT, &job, NULL, &error) == STATUS_OK)
        code = run_phase(r, phase, &job);
    else if (is_done(r))
        code = EXIT_DONE;
    else
        fail(r, error.text);
    r->result->stopped += code == EXIT_INTERRUPTED;
    r->result->ended += code != EXIT_INTERRUPTED && code != EXIT_DONE && !r->result->failed;
    job_free(&job);
    return code;
}

void history_run(const struct history_plan *plan, struct history_result *result)
{
    struct running r = {.plan = plan, .result = result};
    memset(result, 0, sizeof *result);
    for (uint32_t i = 0; i < HISTORY_SERVERS_MAX; i++) {
        simulated_disk_init(&r.disks[i], plan->seed, SUB_DISK + i);
        repair(&r.disks[i], plan->disk_latency_us);
    }
    if (model_state_init(&r.model, &plan->job) != STATUS_OK)
        fail(&r, "out of memory");
    int code = EXIT_INTERRUPTED;
    for (uint32_t i = 0; i < plan->phase_count && code != EXIT_DONE && !result->failed; i++)
        code = begin_phase(&r, &plan->phases[i]);
    if (plan->scarce && result->failed) { /* All are gone as if killed; what they left must do. */
        result->failed = false;
        result->ended++;
    }
    if (code != EXIT_DONE && !result->failed) { /* Once more, in peace. */
        struct history_phase last = plan->phases[plan->phase_count - 1];
        last.faulty = false;
        code = begin_phase(&r, &last);
    }
    if (!result->failed && code != EXIT_DONE)
        fail(&r, "the job does not come to its end");
    if (!result->failed)
        check_sums(&r);
    if (!result->failed)
        check_replay(&r);
    for (uint32_t i = 0; i < HISTORY_SERVERS_MAX; i++)
        simulated_disk_free(&r.disks[i]);
    model_state_free(&r.model);
}
