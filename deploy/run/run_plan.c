/* run_plan.c - finds the folder, and prints the lines that open a run. */

#include "deploy/run/run_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/job/compensation.h"
#include "common/process/log.h"
#include "common/store/initial.h"
#include "common/store/occupancy.h"
#include "common/store/run_directory.h"

/* --- the folder ------------------------------------------------------------------------------ */

/* "runs/sync-20240229-235959", with "-2" and so on when that one is taken. Created here: two runs
 * of the same second must not take the same name. */
static enum status make_out(struct run_plan *plan, struct error *error)
{
    time_t now = time(NULL);
    struct tm local;
    char date[32];
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &local);
    if (mkdir("runs", 0777) != 0 && errno != EEXIST)
        return error_set(error, STATUS_IO, "cannot make the folder runs here: %s (use --out)",
                         strerror(errno));
    for (unsigned n = 1; n < 1000; n++) {
        int used = snprintf(plan->out, sizeof plan->out, "runs/%s-%s",
                            job_mode_text(&plan->options.job).text, date);
        if (n > 1)
            snprintf(plan->out + used, sizeof plan->out - (size_t)used, "-%u", n);
        plan->out_made = mkdir(plan->out, 0777) == 0;
        if (plan->out_made)
            return STATUS_OK;
        if (errno != EEXIST)
            break;
    }
    return error_set(error, STATUS_IO, "cannot make the folder %s: %s", plan->out, strerror(errno));
}

static void say_wait(void *context, const char *line)
{
    char remark[LOG_LINE_MAX];
    (void)context;
    log_remark(LOG_WARNING, line, remark);
    fprintf(stderr, "%s\n", remark);
}

static enum status find_out(struct run_plan *plan, struct error *error)
{
    const char *out = plan->options.out;
    if (out == NULL)
        return make_out(plan, error);
    if (strlen(out) >= sizeof plan->out)
        return error_set(error, STATUS_INVALID, "--out: the path is too long");
    snprintf(plan->out, sizeof plan->out, "%s", out);
    enum status status = occupancy_await(
        plan->out, occupancy_patience(plan->options.deadlines.stop), say_wait, NULL, error);
    if (status != STATUS_OK)
        return status;
    return run_directory_check(&disk_posix, plan->out, &plan->workload.job, NULL, error);
}

/* A clock that begins now, as virtual time does. */
enum status run_plan_find_out(struct run_plan *plan, struct error *error)
{
    enum status status = find_out(plan, error);
    if (status == STATUS_OK)
        status = workload_give(&plan->workload, &plan->options, plan->out, plan->initial, error);
    if (status == STATUS_OK)
        status = board_place_find(&plan->board, plan->options.tensorboard,
                                  plan->options.tensorboard_run, plan->out, 0, error);
    return status;
}

void run_plan_free(struct run_plan *plan)
{
    if (plan->initial[0] != '\0')
        initial_drop(&disk_posix, plan->out);
    if (plan->out_made)
        rmdir(plan->out); /* Goes through only when nothing came into it. */
    workload_free(&plan->workload);
}

/* --- the lines -------------------------------------------------------------------------------- */

static void print_field(const struct run_plan *plan, const char *name, const char *text)
{
    int column = fprintf(plan->voice, "  %-9s  ", name);
    wording_wrap(plan->voice, text, column, column);
}

static void print_learning_rate(const struct run_plan *plan)
{
    const struct schedule *schedule = &plan->workload.job.schedule;
    const struct options *options = &plan->options;
    fprintf(plan->voice, "  optimizer  %s, learning rate %g", options->job.optimizer.name,
            schedule->learning_rate);
    if (schedule->kind == SCHEDULE_STEP && options->job.schedule.decay_steps == 0)
        fprintf(plan->voice, ", times %g after every epoch", schedule->decay_factor);
    if (schedule->kind == SCHEDULE_STEP && options->job.schedule.decay_steps != 0)
        fprintf(plan->voice, ", times %g every %s", schedule->decay_factor,
                wording_counted(schedule->decay_steps, "update", "updates").text);
    if (schedule->kind == SCHEDULE_COSINE)
        fprintf(plan->voice, ", down to %g of it along a cosine", schedule->decay_factor);
    if (schedule->warmup_steps > 0)
        fprintf(plan->voice, ", rising over the first %s",
                wording_counted(schedule->warmup_steps, "update", "updates").text);
    if (schedule->warmup_steps > 0 && schedule->warmup_from > 0)
        fprintf(plan->voice, " from %g", schedule->learning_rate * schedule->warmup_from);
    fprintf(plan->voice, "\n");
}

static void print_work(const struct run_plan *plan)
{
    const struct options *options = &plan->options;
    const struct job *job = &plan->workload.job;
    uint32_t leaves = job_leaves_max(job);
    if (job_mode(&options->job)->steps)
        fprintf(plan->voice, "  update     %s in %s of %u, added up over all workers\n",
                wording_counted(job->batch, "example", "examples").text,
                wording_counted(leaves, "leaf", "leaves").text, job->micro_batch);
    else
        fprintf(plan->voice, "  update     %s of one worker, applied %s\n",
                wording_counted(job->batch, "example", "examples").text,
                options->job.use_locking ? "as it arrives, a variable at a time" : "as it arrives");
    if (job->staleness_rate != STALENESS_RATE_NONE)
        fprintf(plan->voice, "  staleness  the learning rate is divided by %s\n",
                job->staleness_rate == STALENESS_RATE_INVERSE
                    ? "each gradient's staleness, per chunk"
                    : "one less than the workers, for all gradients alike");
    if (job->delay_compensation > 0)
        fprintf(plan->voice, "  staleness  gradients are compensated for it, strength %s\n",
                compensation_text(job).text);
    if (job->max_staleness > 0)
        fprintf(plan->voice, "  staleness  a gradient more than %s old %s\n",
                wording_counted(job->max_staleness, "update", "updates").text,
                job->staleness_loses ? "is lost" : "is computed again");
    if (job_accumulates(job))
        fprintf(plan->voice, "  sums       %s make one update, as they come\n",
                wording_counted(job->accumulate, "gradient", "gradients").text);
    if (options->job.steps > 0)
        fprintf(plan->voice, "  length     %s",
                wording_counted(options->job.steps, "update", "updates").text);
    else
        fprintf(plan->voice, "  length     %s",
                wording_counted(options->epochs, "epoch", "epochs").text);
    fprintf(plan->voice, ", seed %" PRIu64 "\n", options->job.seed);
}

static void print_step_remarks(const struct run_plan *plan)
{
    uint32_t leaves = job_leaves_max(&plan->workload.job);
    uint32_t workers = plan->options.workers;
    if (workers <= leaves && leaves % workers != 0)
        fprintf(plan->voice, "  note       %u leaves do not divide evenly among %u workers\n",
                leaves, workers);
    if (workers > leaves)
        fprintf(plan->voice, "  note       an update has %s: %u of %u workers %s by\n",
                wording_counted(leaves, "leaf", "leaves").text, workers - leaves, workers,
                workers - leaves == 1 ? "stands" : "stand");
    if (workers > leaves && plan->options.job.backup_workers > 0)
        print_field(
            plan, "note",
            "with fewer leaves than workers a step waits for all that have one, and there are no "
            "backups: a smaller --micro-batch makes more leaves");
}

static void print_lease_remarks(const struct run_plan *plan)
{
    const struct options *options = &plan->options;
    bool bound = job_mode(&options->job)->bounds && options->job.staleness_bound != MODE_UNBOUNDED;
    char text[200];
    snprintf(text, sizeof text, "with %u workers a gradient is about %s old %s", options->workers,
             wording_counted(options->workers - 1, "update", "updates").text,
             bound ? "at most, on the mean" : "when it is applied");
    if (options->workers > 1)
        print_field(plan, "note", text);
    if (options->workers > 1 && bound)
        fprintf(plan->voice, "  note       no worker gets more than %s ahead of the slowest\n",
                wording_counted(options->job.staleness_bound, "batch", "batches").text);
    uint32_t batch = plan->workload.job.batch;
    if (batch != options->global_batch)
        fprintf(plan->voice, "  note       a sync update has %s (--global-batch), one here %u\n",
                wording_counted(options->global_batch, "example", "examples").text, batch);
}

/* A cosine ends where it ends, however long the run goes on. */
static void print_rate_remark(const struct run_plan *plan)
{
    const struct job *job = &plan->workload.job;
    const struct schedule *schedule = &job->schedule;
    if (schedule->kind == SCHEDULE_COSINE && schedule->decay_factor == 0 &&
        schedule->decay_steps < job->steps)
        fprintf(plan->voice,
                "  note       the learning rate is 0 after update %s (--decay-steps)\n",
                wording_count(schedule->decay_steps).text);
}

static void print_remarks(const struct run_plan *plan)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (plan->options.remarks[0] != '\0')
        fprintf(plan->voice, "  note       %s\n", plan->options.remarks);
    const struct source *source = plan->workload.source;
    if (source->first_class > 0)
        fprintf(plan->voice, "  note       labels %u to %u of the data are classes 0 to %u\n",
                source->first_class, source->first_class + source->classes - 1,
                source->classes - 1);
    if (job_mode(&plan->options.job)->steps)
        print_step_remarks(plan);
    else
        print_lease_remarks(plan);
    print_rate_remark(plan);
    if (plan->options.compute != NULL)
        fprintf(plan->voice, "  note       a leaf of %s takes %s%s%s\n",
                wording_counted(plan->workload.job.micro_batch, "example", "examples").text,
                plan->options.compute, plan->options.straggle != NULL ? ", stragglers " : "",
                plan->options.straggle != NULL ? plan->options.straggle : "");
    if (plan->options.pause != NULL)
        fprintf(plan->voice, "  note       pauses now and then: %s\n", plan->options.pause);
    if (plan->options.slow != NULL)
        fprintf(plan->voice, "  note       slowed down on purpose: %s (worker:factor)\n",
                plan->options.slow);
    if (plan->cluster == NULL && plan->hosts == NULL && processors > 0 &&
        plan->options.workers > (unsigned long)processors)
        fprintf(plan->voice, "  note       %u workers share %s\n", plan->options.workers,
                wording_counted((uint64_t)processors, "processor", "processors").text);
}

static void print_model(const struct run_plan *plan)
{
    const struct job *job = &plan->workload.job;
    uint64_t parameters = variables_elements(job->variables, job->variable_count);
    char text[sizeof job->model + 64];
    snprintf(text, sizeof text, "%s (%s)", job->model,
             wording_counted(parameters, "parameter", "parameters").text);
    print_field(plan, "model", text);
}

static void print_dealt(const struct run_plan *plan)
{
    const struct partition *partition = &plan->workload.partition;
    char text[256];
    if (partition->chunk_count == 0)
        return;
    snprintf(text, sizeof text, "%s up to %s, about %s a server, max/mean %.3f",
             wording_counted(partition->chunk_count, "chunk", "chunks").text,
             wording_bytes(partition->chunk_elements * sizeof(float)).text,
             wording_bytes(partition_server_bytes(partition, 0)).text,
             partition_imbalance(partition));
    print_field(plan, "dealt", text);
}

static void print_board(const struct run_plan *plan)
{
    char text[2 * DISK_PATH_MAX + 64];
    snprintf(text, sizeof text, "%s, for tensorboard --logdir %s", plan->board.folder,
             plan->options.tensorboard);
    print_field(plan, "board", text);
}

static void print_processes(const struct run_plan *plan)
{
    const struct options *options = &plan->options;
    if (options->ps == 0)
        fprintf(plan->voice, "one process without servers\n");
    else if (options->job.colocated)
        fprintf(plan->voice, "%s, %swith a server beside it\n",
                wording_counted(options->workers, "worker", "workers").text,
                options->workers > 1 ? "each " : "");
    else
        fprintf(plan->voice, "%s and %s\n", wording_counted(options->ps, "server", "servers").text,
                wording_counted(options->workers, "worker", "workers").text);
}

void run_plan_print(const struct run_plan *plan)
{
    const struct options *options = &plan->options;
    fprintf(plan->voice, "%s training on %s%s, ", job_mode_text(&plan->workload.job).text,
            plan->workload.job.data, plan->cluster != NULL ? " in virtual time" : "");
    print_processes(plan);
    print_model(plan);
    print_dealt(plan);
    print_work(plan);
    print_learning_rate(plan);
    if (plan->cluster != NULL)
        print_field(plan, "cluster", plan->cluster);
    if (plan->memory != NULL)
        print_field(plan, "memory", plan->memory);
    if (plan->hosts != NULL)
        print_field(plan, "hosts", plan->hosts);
    if (options->keys != NULL)
        fprintf(plan->voice, "  keys       %s: encrypted, and only for holders of one of them\n",
                options->keys);
    fprintf(plan->voice, "  out        %s\n", plan->out);
    if (plan->board.folder[0] != '\0')
        print_board(plan);
    if (plan->page != NULL)
        fprintf(plan->voice, "  page       %s\n", plan->page);
    print_remarks(plan);
    fflush(plan->voice);
}

void run_plan_print_next(const struct run_plan *plan)
{
    if (!plan->options.quiet)
        fprintf(plan->voice, "next: %s serve %s\n", program_invocation_name, plan->out);
}
