/* options_job.c - the declaration that options amount to; what the model and the data add comes in
 * workload.c. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options/options.h"

static void overlay(float *setting, double value)
{
    if (!isnan(value))
        *setting = (float)value;
}

static enum status job_optimizer(const struct options *options, struct job *job,
                                 struct error *error)
{
    const struct optimizer *optimizer = optimizer_find(options->optimizer);
    if (optimizer == NULL)
        return error_set(error, STATUS_INVALID, "optimizer '%s' is not one of %s",
                         options->optimizer, optimizer_names());
    struct optimizer_settings *settings = &job->optimizer;
    *settings = optimizer->defaults;
    snprintf(settings->name, sizeof settings->name, "%s", optimizer->name);
    overlay(&settings->momentum, options->momentum);
    overlay(&settings->beta1, options->beta1);
    overlay(&settings->beta2, options->beta2);
    overlay(&settings->rho, options->rho);
    overlay(&settings->epsilon, options->epsilon);
    overlay(&settings->initial_accumulator, options->initial_accumulator);
    /* The default is a float: widen its shortest decimal, so that 0.001f and --learning-rate 0.001
     * declare the same job. */
    job->schedule.learning_rate = options->learning_rate;
    if (isnan(options->learning_rate)) {
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)optimizer->default_learning_rate);
        job->schedule.learning_rate = strtod(text, NULL);
    }
    return optimizer_settings_check(settings, error);
}

static enum status job_schedule(const struct options *options, struct job *job, struct error *error)
{
    struct schedule *schedule = &job->schedule;
    if (schedule_kind_parse(options->schedule, &schedule->kind) != STATUS_OK)
        return error_set(error, STATUS_INVALID, "there is no schedule '%s'", options->schedule);
    schedule->warmup_steps = options->warmup_steps;
    if (schedule->kind != SCHEDULE_CONSTANT) {
        bool step = schedule->kind == SCHEDULE_STEP;
        schedule->decay_steps = options->decay_steps;
        if (schedule->decay_steps == 0)
            schedule->decay_steps = step ? job_steps_per_epoch(job) : job->steps;
        schedule->decay_factor = options->decay_factor;
        if (isnan(schedule->decay_factor))
            schedule->decay_factor = step ? 0.5 : 0;
    }
    return schedule_check(schedule, error);
}

static enum status job_work(const struct options *options, uint64_t examples, struct job *job,
                            struct error *error)
{
    if (examples == 0)
        return error_set(error, STATUS_INVALID, "the training set is empty");
    bool async = options->mode == MODE_ASYNC;
    job->mode = options->mode;
    job->use_locking = async && options->use_locking;
    job->seed = options->seed;
    job->examples = examples;
    bool own = async && options->worker_batch;
    job->batch = own ? options->worker_batch : options->global_batch;
    if (job->batch > examples)
        return error_set(error, STATUS_INVALID,
                         "--%s-batch=%" PRIu32 ": an update cannot have more examples than there "
                         "are to train on, %" PRIu64,
                         own ? "worker" : "global", job->batch, examples);
    /* A leaf is never larger than its batch. */
    job->micro_batch = options->micro_batch < job->batch ? options->micro_batch : job->batch;
    job->steps = options->steps;
    if (job->steps == 0 &&
        __builtin_mul_overflow(options->epochs, job_steps_per_epoch(job), &job->steps))
        return error_set(error, STATUS_INVALID, "%" PRIu64 " epochs are too many", options->epochs);
    job->checkpoint_every = options->checkpoint_every;
    if (job->checkpoint_every == UINT64_MAX)
        job->checkpoint_every = job_steps_per_epoch(job);
    job->chunk_bytes = options->chunk_bytes;
    return STATUS_OK;
}

static enum status job_processes(const struct options *options, struct job *job,
                                 struct error *error)
{
    job->worker_count = options->workers;
    if (options->worker_hosts != NULL) {
        enum status status =
            options_hosts(options->worker_hosts, NULL, JOB_WORKERS_MAX, &job->worker_count, error);
        if (status != STATUS_OK)
            return status;
    }
    if (options->ps_hosts == NULL)
        return STATUS_OK;
    job->servers = calloc(JOB_SERVERS_MAX, sizeof *job->servers);
    if (job->servers == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    return options_hosts(options->ps_hosts, job->servers, JOB_SERVERS_MAX, &job->server_count,
                         error);
}

enum status options_job(const struct options *options, uint64_t examples, struct job *job,
                        struct error *error)
{
    memset(job, 0, sizeof *job);
    enum status status = job_work(options, examples, job, error);
    if (status == STATUS_OK)
        status = job_optimizer(options, job, error);
    if (status == STATUS_OK)
        status = job_schedule(options, job, error);
    if (status == STATUS_OK)
        status = job_processes(options, job, error);
    return status;
}
