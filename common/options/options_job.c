/* options_job.c - the declaration that options amount to; what the model and the data add comes in
 * workload.c. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/job_fields.h"
#include "common/options/options.h"

void options_data_text(const struct options *options, char text[OPTIONS_DATA_MAX])
{
    static const char *const names[] = DATA_SETTING_NAMES;
    text[0] = '\0';
    wording_append(text, OPTIONS_DATA_MAX, "%s", options->data);
    for (unsigned i = 0; i < DATA_SETTING_COUNT; i++)
        if (options->data_settings[i] != NULL)
            wording_append(text, OPTIONS_DATA_MAX, " --%s %s", names[i], options->data_settings[i]);
}

/* Settings that were not given are the optimizer's. */
static void fill_optimizer(struct job *job, const struct optimizer *optimizer)
{
    struct job defaults = {.optimizer = optimizer->defaults};
    for (size_t i = 0; i < job_field_count; i++) {
        const struct job_field *field = &job_fields[i];
        bool setting = field->offset >= offsetof(struct job, optimizer) &&
                       field->offset < offsetof(struct job, optimizer) + sizeof job->optimizer;
        if (setting && job_field_is_real(field) && isnan(job_field_real(field, job)))
            memcpy(job_field_in(field, job), job_field_at(field, &defaults), field->size);
    }
}

static enum status job_optimizer(struct job *job, struct error *error)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    if (optimizer == NULL)
        return optimizer_name_check(job->optimizer.name, error);
    fill_optimizer(job, optimizer);
    /* The default is a float: widen its shortest decimal, so that 0.001f and --learning-rate 0.001
     * declare the same job. */
    if (isnan(job->schedule.learning_rate)) {
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)optimizer->default_learning_rate);
        job->schedule.learning_rate = strtod(text, NULL);
    }
    enum status status = job_fields_check(job, "optimizer.", error);
    return status != STATUS_OK ? status : optimizer_settings_check(&job->optimizer, error);
}

static enum status job_schedule(struct job *job, double warmup_epochs, struct error *error)
{
    struct schedule *schedule = &job->schedule;
    if (warmup_epochs >= 0) /* Not where it was not said. */
        schedule->warmup_steps = (uint64_t)ceil(warmup_epochs * (double)job_steps_per_epoch(job));
    bool step = schedule->kind == SCHEDULE_STEP, constant = schedule->kind == SCHEDULE_CONSTANT;
    if (schedule->decay_steps == 0 && !constant)
        schedule->decay_steps = step ? job_steps_per_epoch(job) : job->steps;
    if (isnan(schedule->decay_factor))
        schedule->decay_factor = step ? 0.5 : 0;
    enum status status = job_fields_check(job, "schedule.", error);
    return status != STATUS_OK ? status : schedule_check(schedule, error);
}

static enum status job_work(const struct options *options, uint64_t examples, struct job *job,
                            struct error *error)
{
    if (examples == 0 && job->steps == 0)
        return error_set(
            error, STATUS_INVALID,
            "--steps: examples are a stream, which has no epochs: give a number of steps");
    bool alone = !job_mode(job)->steps; /* An update is of one worker. */
    job_forget_unused(job);
    bool own = alone && options->worker_batch;
    job->batch = own ? options->worker_batch : options->global_batch;
    job->examples = examples > 0 ? examples : STREAM_STEPS * (uint64_t)job->batch;
    if (job->batch > job->examples)
        return error_set(error, STATUS_INVALID,
                         "--%s-batch=%" PRIu32 ": an update cannot have more examples than there "
                         "are to train on, %" PRIu64,
                         own ? "worker" : "global", job->batch, examples);
    /* A leaf is never larger than its batch. */
    job->micro_batch = job->micro_batch < job->batch ? job->micro_batch : job->batch;
    if (job->steps == 0 &&
        __builtin_mul_overflow(options->epochs, job_steps_per_epoch(job), &job->steps))
        return error_set(error, STATUS_INVALID, "%" PRIu64 " epochs are too many", options->epochs);
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

/* As it was given; cut, visibly, where it does not fit. */
static void copy_given(char *to, size_t size, const char *given)
{
    int length = snprintf(to, size, "%s", given != NULL ? given : "");
    if ((size_t)length >= size)
        memcpy(to + size - 4, "...", 4);
}

enum status options_job(const struct options *options, uint64_t examples, struct job *job,
                        struct error *error)
{
    *job = options->job;
    copy_given(job->compute, sizeof job->compute, options->compute);
    copy_given(job->slow, sizeof job->slow, options->slow);
    copy_given(job->straggle, sizeof job->straggle, options->straggle);
    copy_given(job->pause, sizeof job->pause, options->pause);
    copy_given(job->policy, sizeof job->policy, options->policy);
    enum status status = job_work(options, examples, job, error);
    if (status == STATUS_OK)
        status = job_optimizer(job, error);
    if (status == STATUS_OK)
        status = job_schedule(job, options->warmup_epochs, error);
    if (status == STATUS_OK)
        status = job_processes(options, job, error);
    return status;
}
