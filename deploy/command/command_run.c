/* syncopate run: one job on this machine, from the plan to the summary.
 *
 * What can be known to be wrong is said before any process is started; what only a worker finds
 * out, who reads the data to their end, comes back as its exit code. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/job/compensation.h"
#include "common/options/options.h"
#include "common/process/log.h"
#include "common/process/output.h"
#include "common/progress/progress.h"
#include "common/progress/summary.h"
#include "common/store/occupancy.h"
#include "common/store/restore.h"
#include "common/store/run_directory.h"
#include "deploy/command/command.h"
#include "deploy/command/run_json.h"
#include "deploy/explain/telling.h"
#include "deploy/launcher/launch.h"
#include "worker/workload.h"

#define PROGRAM "syncopate run"

struct plan {
    struct options options;
    struct workload workload; /* Looked at. */
    char out[DISK_PATH_MAX];
    FILE *voice; /* Where people are told about it. */
    int diary;   /* With --explain: what all children write to. */
    char diary_name[16];
    bool out_made; /* By us, empty: to be taken away again when nothing comes into it. */
};

/* --- checks ---------------------------------------------------------------------------------- */

/* Without servers there is one process, whatever the default number of workers is. */
static enum status check_alone(struct plan *plan, struct error *error)
{
    struct options *options = &plan->options;
    if (options->ps > 0)
        return STATUS_OK;
    if (options->workers != 1 && options_given(options, OPTION_RUN, "workers"))
        return error_set(error, STATUS_INVALID,
                         "--workers=%u: without servers (--ps 0) there is one worker",
                         options->workers);
    options->workers = 1;
    return STATUS_OK;
}

/* "runs/sync-20240229-235959", with "-2" and so on when that one is taken. Made here, so that two
 * runs of the same second do not take the same name. */
static enum status make_out(struct plan *plan, struct error *error)
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

static enum status check_out(struct plan *plan, struct error *error)
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

/* An exit code; what comes first is what a person most likely got wrong. */
static int check(struct plan *plan, struct error *error)
{
    if (check_alone(plan, error) != STATUS_OK ||
        options_slow_check(plan->options.slow, plan->options.workers, error) != STATUS_OK)
        return EXIT_USAGE;
    int code = workload_look(&plan->workload, &plan->options, error);
    if (code != EXIT_DONE)
        return code;
    if (plan->options.keys != NULL)
        code = command_check_keys(plan->options.keys, plan->options.workers, error);
    if (code != EXIT_DONE)
        return code;
    enum status status =
        restore_check(plan->options.out, plan->options.restore, &plan->workload.job, error);
    if (status == STATUS_OK)
        status = check_out(plan, error);
    return status == STATUS_INVALID ? EXIT_CANNOT_OPEN : command_exit_code(status);
}

/* --- what will be run ------------------------------------------------------------------------ */

static void print_field(const struct plan *plan, const char *name, const char *text)
{
    int column = fprintf(plan->voice, "  %-9s  ", name);
    wording_wrap(plan->voice, text, column, column);
}

static void print_learning_rate(const struct plan *plan)
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
    fprintf(plan->voice, "\n");
}

static void print_work(const struct plan *plan)
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

static void print_step_remarks(const struct plan *plan)
{
    uint32_t leaves = job_leaves_max(&plan->workload.job);
    uint32_t workers = plan->options.workers;
    if (workers > leaves)
        fprintf(plan->voice, "  note       an update has %s: %u of %u workers %s by\n",
                wording_counted(leaves, "leaf", "leaves").text, workers - leaves, workers,
                workers - leaves == 1 ? "stands" : "stand");
    else if (leaves % workers != 0)
        fprintf(plan->voice, "  note       %u leaves do not divide evenly among %u workers\n",
                leaves, workers);
}

static void print_lease_remarks(const struct plan *plan)
{
    const struct options *options = &plan->options;
    bool bound = job_mode(&options->job)->bounds && options->job.staleness_bound != MODE_UNBOUNDED;
    if (options->workers > 1)
        fprintf(plan->voice, "  note       with %u workers a gradient is about %s old %s\n",
                options->workers, wording_counted(options->workers - 1, "update", "updates").text,
                bound ? "at most, on the mean" : "when it is applied");
    if (options->workers > 1 && bound)
        fprintf(plan->voice, "  note       nobody gets more than %s ahead of the slowest worker\n",
                wording_counted(options->job.staleness_bound, "batch", "batches").text);
    uint32_t batch = plan->workload.job.batch;
    if (batch != options->global_batch)
        fprintf(plan->voice, "  note       a sync update has %s (--global-batch), one here %u\n",
                wording_counted(options->global_batch, "example", "examples").text, batch);
}

/* A cosine ends where it ends, however long the run goes on. */
static void print_rate_remark(const struct plan *plan)
{
    const struct job *job = &plan->workload.job;
    const struct schedule *schedule = &job->schedule;
    if (schedule->kind == SCHEDULE_COSINE && schedule->decay_factor == 0 &&
        schedule->decay_steps < job->steps)
        fprintf(plan->voice,
                "  note       the learning rate is 0 after update %s (--decay-steps)\n",
                wording_count(schedule->decay_steps).text);
}

static void print_remarks(const struct plan *plan)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (plan->options.remarks[0] != '\0')
        fprintf(plan->voice, "  note       %s\n", plan->options.remarks);
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
    if (plan->options.slow != NULL)
        fprintf(plan->voice, "  note       slowed down on purpose: %s (worker:factor)\n",
                plan->options.slow);
    if (processors > 0 && plan->options.workers > (unsigned long)processors)
        fprintf(plan->voice, "  note       %u workers share %s\n", plan->options.workers,
                wording_counted((uint64_t)processors, "processor", "processors").text);
}

static void print_model(const struct plan *plan)
{
    const struct job *job = &plan->workload.job;
    uint64_t parameters = variables_elements(job->variables, job->variable_count);
    char text[sizeof job->model + 64];
    snprintf(text, sizeof text, "%s (%s)", job->model,
             wording_counted(parameters, "parameter", "parameters").text);
    print_field(plan, "model", text);
}

static void print_dealt(const struct plan *plan)
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

static void print_plan(const struct plan *plan)
{
    const struct options *options = &plan->options;
    fprintf(plan->voice, "%s training on %s, ", job_mode_text(&options->job).text, options->data);
    if (options->ps == 0)
        fprintf(plan->voice, "one process without servers\n");
    else
        fprintf(plan->voice, "%s and %s\n", wording_counted(options->ps, "server", "servers").text,
                wording_counted(options->workers, "worker", "workers").text);
    print_model(plan);
    print_dealt(plan);
    print_work(plan);
    print_learning_rate(plan);
    if (options->keys != NULL)
        fprintf(plan->voice, "  keys       %s: encrypted, and only for whoever has one of them\n",
                options->keys);
    fprintf(plan->voice, "  out        %s\n", plan->out);
    print_remarks(plan);
    fflush(plan->voice);
}

/* --- running --------------------------------------------------------------------------------- */

/* Who looks on. */
struct audience {
    struct progress progress;
    bool gone; /* What is printed goes nowhere (`syncopate run | head -1`), and we said so. */
};

static void notice_absence(struct audience *audience, const char *then)
{
    struct error error;
    char text[sizeof error.text + 32];
    if (output_finish(&error) == STATUS_OK || audience->gone)
        return;
    audience->gone = true;
    snprintf(text, sizeof text, "%s%s", error.text, then);
    command_say(PROGRAM, LOG_WARNING, text);
}

static void watch_tick(void *context, const char *out)
{
    struct audience *audience = context;
    (void)out;
    progress_tick(&audience->progress, clock_now_seconds());
    notice_absence(audience, "; the job goes on");
}

static void watch_say(void *context, const char *line)
{
    struct audience *audience = context;
    progress_say(&audience->progress, line);
}

static int launch(const struct plan *plan, struct audience *audience, struct launch_result *result,
                  struct error *error)
{
    const struct options *options = &plan->options;
    struct progress_style style =
        progress_style_of(plan->voice, options->quiet, options->verbose, options->log_every);
    progress_open(&audience->progress, plan->voice, style, plan->out, clock_now_seconds());
    struct launch_watch watch = {audience, watch_tick, watch_say};
    int code = launch_job(options, plan->out, &watch, result, error);
    progress_close(&audience->progress);
    return code;
}

/* --- telling it (--explain) ------------------------------------------------------------------ */

#define DIARY_FROM 64 /* Descriptors below it are the children's own (CHILD_WORD). */

/* One diary in memory that all children inherit: nothing is left of it, however this ends. */
static enum status open_diary(struct plan *plan, struct error *error)
{
    if (!plan->options.explain)
        return STATUS_OK;
    int file = memfd_create("syncopate-diary", 0);
    plan->diary = file >= 0 ? fcntl(file, F_DUPFD, DIARY_FROM) : -1;
    if (plan->diary < 0)
        error_set(error, STATUS_IO, "cannot make a diary (--explain): %s", strerror(errno));
    if (file >= 0)
        close(file);
    snprintf(plan->diary_name, sizeof plan->diary_name, "fd:%d", plan->diary);
    plan->options.diary = plan->diary_name;
    return plan->diary >= 0 ? STATUS_OK : STATUS_IO;
}

/* Also of a run that failed: then it says how far it came. */
static void tell_diary(struct plan *plan)
{
    struct error error;
    if (!plan->options.explain)
        return;
    const struct telling telling = {&plan->workload.job, &plan->workload.partition,
                                    plan->options.verbose};
    if (telling_print(plan->voice, &telling, plan->diary, &error) != STATUS_OK)
        command_say(PROGRAM, LOG_WARNING, error.text);
    close(plan->diary);
}

/* The table, when there is something to sum up. */
static enum status print_summary(const struct plan *plan, uint32_t restarts, struct error *error)
{
    struct record record;
    enum status status = record_read(&record, plan->out, error);
    if (status == STATUS_OK && !plan->options.quiet)
        summary_print(plan->voice, &record, restarts);
    record_free(&record);
    return status;
}

static void say_how_to_go_on(const struct plan *plan)
{
    char text[DISK_PATH_MAX + 128];
    if (plan->options.quiet)
        return;
    if (plan->out_made)
        snprintf(text, sizeof text, "the same command with --out %s goes on from there", plan->out);
    else
        snprintf(text, sizeof text, "the same command goes on from there");
    command_say(PROGRAM, LOG_INFO, text);
}

static int run(struct plan *plan, struct launch_result *result, struct error *error)
{
    struct error no_summary = {0};
    if (open_diary(plan, error) != STATUS_OK)
        return command_fail(PROGRAM, EXIT_CANNOT_OPEN, error);
    if (!plan->options.quiet)
        print_plan(plan);
    struct audience audience = {.gone = false};
    int code = launch(plan, &audience, result, error);
    tell_diary(plan);
    bool stop = code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
    enum status status = STATUS_OK;
    if (code == EXIT_DONE || stop)
        status = print_summary(plan, result->restarts, &no_summary);
    notice_absence(&audience, "");
    if (code == EXIT_DONE && status != STATUS_OK) {
        *error = no_summary;
        code = EXIT_CANNOT_OPEN;
    }
    if (code != EXIT_DONE)
        command_fail(PROGRAM, code, error);
    if (stop && status == STATUS_OK)
        say_how_to_go_on(plan);
    return code;
}

static void print_json(const struct plan *plan, int code, const struct launch_result *result,
                       const struct error *error)
{
    struct run_outcome outcome = {
        .exit_code = code,
        .path = plan->out[0] != '\0' ? plan->out : plan->options.out,
        .claimed = result->claimed,
        .reason = code == EXIT_DONE ? "" : error->text,
        .restarts = result->restarts,
    };
    struct error lost;
    enum status status = run_json_print(stdout, &outcome);
    if (status != STATUS_OK)
        error_set(&lost, status, "out of memory for the result");
    else
        status = output_finish(&lost);
    if (status != STATUS_OK)
        command_fail(PROGRAM, code, &lost);
}

/* Says what went wrong itself: before how to go on, and before the result in JSON. */
int command_run(const struct command_call *call, struct error *unused)
{
    struct plan plan = {.options = call->options};
    struct launch_result result = {0};
    struct error error = {0};
    (void)unused;
    plan.voice = plan.options.json ? stderr : stdout;
    int code = check(&plan, &error);
    code = code != EXIT_DONE ? command_fail(PROGRAM, code, &error) : run(&plan, &result, &error);
    if (plan.options.json)
        print_json(&plan, code, &result, &error);
    if (plan.out_made)
        rmdir(plan.out); /* Goes through only when nothing came into it. */
    workload_free(&plan.workload);
    return code;
}
