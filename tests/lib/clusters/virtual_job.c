#include "tests/lib/clusters/virtual_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool so, const char *what)
{
    if (so)
        return;
    fprintf(stderr, "a job in virtual time: %s\n", what);
    abort();
}

static enum status compute_gradient(void *context, const struct step_shape *shape, struct node node,
                                    const float *parameters, float *out,
                                    struct computing_report *report, struct error *error)
{
    uint64_t step = shape->step;
    struct virtual_job *it = context;
    (void)parameters;
    (void)error;
    if (step < VIRTUAL_STEPS_MOST && it->begun_ns[step] == 0)
        it->begun_ns[step] = it->engine.now_ns;
    it->gradients++;
    memset(out, 0, it->engine.partition.elements * sizeof *out);
    report->score.examples = node.leaf_count;
    return STATUS_OK;
}

static enum status compute_score(void *context, const struct message_work *work,
                                 const float *values, struct computing_report *report,
                                 struct error *error)
{
    (void)context;
    (void)work;
    (void)values;
    (void)report;
    (void)error;
    return STATUS_OK;
}

static uint64_t no_time(void *context, struct random_sequence *random,
                        const struct simulated_process *process)
{
    (void)context;
    (void)random;
    (void)process;
    return 0;
}

static void make_job(struct job *job, const struct virtual_job_options *options)
{
    *job =
        (struct job){.mode = options->mode,
                     .seed = 7,
                     .model = "dense 4",
                     .optimizer = optimizer_find("sgd")->defaults,
                     .schedule = {.kind = SCHEDULE_CONSTANT, .learning_rate = 1, .decay_factor = 1},
                     .data = "none",
                     .examples = 100000,
                     .batch = options->workers,
                     .micro_batch = 1,
                     .steps = options->steps,
                     .chunk_bytes = options->chunk_floats * sizeof(float),
                     .worker_count = options->workers,
                     .server_count = options->servers,
                     .variables = calloc(1, sizeof *job->variables),
                     .variable_count = 1,
                     .servers = calloc(options->servers, sizeof *job->servers)};
    expect(job->variables != NULL && job->servers != NULL, "out of memory");
    snprintf(job->optimizer.name, sizeof job->optimizer.name, "sgd");
    job->variables[0] = (struct variable){
        "dense1/bias", 1, {options->servers * options->chunk_floats}, INITIALIZER_ZEROS, 0, 0, 0};
    for (uint32_t i = 0; i < options->servers; i++)
        snprintf(job->servers[i], ADDRESS_MAX, "127.0.0.1:%u", 2000 + i);
}

static void make_nics(struct virtual_job *it, const struct virtual_job_options *options)
{
    struct cluster usual;
    struct error error;
    cluster_init(&usual);
    const struct cluster *cluster = options->cluster != NULL ? options->cluster : &usual;
    expect(layout_make(&it->layout, cluster, options->servers, options->workers, &error) ==
               STATUS_OK,
           "no layout");
    it->nics = nics_create(cluster, &it->layout, options->seed);
    expect(it->nics != NULL, "out of memory");
    cluster_free(&usual);
}

void virtual_job_open(struct virtual_job *it, const struct virtual_job_options *options)
{
    struct error error = {STATUS_OK, ""};
    memset(it, 0, sizeof *it);
    make_job(&it->job, options);
    if (options->channel.carry == NULL)
        make_nics(it, options);
    simulated_disk_init(&it->disk, 1, 1);
    for (uint32_t i = 0; i < options->servers; i++)
        it->disks[i] = &it->disk;
    it->storage.disks = it->disks;
    struct engine_options engine = {
        .seed = 1,
        .job = &it->job,
        .owners_a_server = 1,
        .owners_inline = true,
        .computing = {.context = it, .gradient = compute_gradient, .score = compute_score},
        .timing = options->timing.queue_ns != NULL
                      ? options->timing
                      : (struct timing){.queue_ns = no_time, .compute_ns = no_time},
        .channel = it->nics != NULL ? nics_channel(it->nics) : options->channel,
        .share_frames = true,
        .start_within_us = 1000,
        .storage = simulated_storage(&it->storage),
        .unchecked = options->unchecked,
        .restore = "auto",
        .deadlines = {.start = 600, .silence = 60, .recovery = 600, .progress = 600, .stop = 60},
    };
    enum status status = engine_init(&it->engine, &engine, &error);
    expect(status == STATUS_OK, error.text);
}

void virtual_job_run(struct virtual_job *it)
{
    struct engine *e = &it->engine;
    expect(engine_run(e), e->failure);
    for (uint32_t i = 0; i < e->process_count; i++)
        expect(e->processes[i]->exit_code == EXIT_DONE, e->processes[i]->reason);
}

void virtual_job_close(struct virtual_job *it)
{
    nics_free(it->nics);
    engine_free(&it->engine);
    simulated_disk_free(&it->disk);
    layout_free(&it->layout);
    job_free(&it->job);
}
