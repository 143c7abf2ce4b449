/* syncopate simulate: one job on a simulated cluster, from the plan to the summary. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/kernels/kernels.h"
#include "common/process/log.h"
#include "common/process/output.h"
#include "common/process/signals.h"
#include "common/progress/progress.h"
#include "common/progress/summary.h"
#include "common/store/occupancy.h"
#include "common/store/restore.h"
#include "deploy/cluster/cluster_file.h"
#include "deploy/cluster/quantity.h"
#include "deploy/command/command.h"
#include "deploy/page/page.h"
#include "deploy/run/run_json.h"
#include "deploy/run/run_plan.h"
#include "deploy/simulate/account.h"
#include "deploy/simulate/load.h"
#include "deploy/simulate/simulation.h"
#include "deploy/trace/run_trace.h"

#define PROGRAM       "syncopate simulate"
#define QUIET_SECONDS 3.0   /* In which a cluster may begin without a word. */
#define LOOK_SECONDS  0.1   /* Between checks for output. */
#define WORTH_A_LINE  0.001 /* A share of the time. */

struct laboratory {
    struct run_plan plan;
    struct cluster cluster;
    struct failures failures;
    char about[300]; /* The cluster, for people. */
    char memory[64];
    struct simulation simulation;
    struct progress progress;
    double looked;      /* When progress was looked at last, */
    double quiet_until; /* and the time of a message about the wait; 0: printed. */
    bool gone;          /* Output is closed, which was reported. */
    bool kept;          /* cluster.json is there. */
    int occupied;       /* The run directory, locked against other processes; -1: not yet. */
    struct account account;
    struct run_trace trace;
    struct recorder *recorder; /* NULL: nothing is traced. */
};

/* --- options --------------------------------------------------------------------------------- */

static enum status take_texts(struct laboratory *l, struct error *error)
{
    static const char *const of_cluster[] = {"network", "link", "processors", "switch-buffer",
                                             "jitter",  "loss", "memory"};
    static const char *const of_failures[] = {"kill", "stop",  "partition",
                                              "join", "leave", "restart"};
    const struct options *options = &l->plan.options;
    enum status status = STATUS_OK;
    for (int i = 0; i < CLUSTER_TEXT_COUNT && status == STATUS_OK; i++)
        if (options->cluster[i] != NULL)
            status = cluster_option(&l->cluster, of_cluster[i], options->cluster[i], error);
    for (int i = 0; i < FAILURE_TEXT_COUNT && status == STATUS_OK; i++)
        if (options->failures[i] != NULL)
            status = failures_option(&l->failures, of_failures[i], options->failures[i], error);
    if (status == STATUS_OK && options->compute != NULL)
        status = cluster_option(&l->cluster, "compute", options->compute, error);
    if (status == STATUS_OK && options->straggle != NULL)
        status = cluster_option(&l->cluster, "straggle", options->straggle, error);
    if (status == STATUS_OK && options->pause != NULL)
        status = cluster_option(&l->cluster, "pause", options->pause, error);
    if (status == STATUS_OK && options->slow != NULL)
        status = cluster_option(&l->cluster, "slow", options->slow, error);
    return status;
}

/* An exit code. */
static int read_cluster(struct laboratory *l, struct error *error)
{
    const char *path = l->plan.options.cluster_file;
    cluster_init(&l->cluster);
    failures_init(&l->failures);
    if (path != NULL) {
        cluster_free(&l->cluster);
        if (cluster_read_file(&l->cluster, &disk_posix, path, error) != STATUS_OK) {
            cluster_init(&l->cluster);
            return EXIT_CANNOT_OPEN;
        }
    }
    enum status status = take_texts(l, error);
    return status == STATUS_OK       ? EXIT_DONE
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_USAGE;
}

static uint64_t memory_needed(const struct laboratory *l)
{
    const struct options *options = &l->plan.options;
    uint32_t workers = options->workers + failures_joining(&l->failures);
    uint64_t traced =
        options->traced ? run_trace_memory(options->ps + workers, options->trace_steps) : 0;
    return simulation_memory(&l->plan.workload, workers, options->ps) + traced;
}

static void describe_cluster(struct laboratory *l)
{
    const struct cluster *cluster = &l->cluster;
    const struct cluster_nic *nic = &cluster->usual.nic;
    snprintf(l->about, sizeof l->about, "%s, %s, %s apart, %s a host; a leaf takes %s",
             cluster->rest != CLUSTER_APART  ? "all processes on one host"
             : l->plan.options.job.colocated ? "every worker on a host with its server"
                                             : "every process on a host of its own",
             quantity_rate(nic->up_bytes_per_second).text, quantity_time(cluster->latency_ns).text,
             wording_counted(cluster->usual.processors, "processor", "processors").text,
             cluster->leaf_time);
    snprintf(l->memory, sizeof l->memory, "about %s of this machine",
             wording_bytes(memory_needed(l)).text);
    l->plan.memory = l->memory;
    l->plan.cluster = l->about;
}

static uint64_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : UINT64_MAX;
}

static int check_memory(const struct laboratory *l, struct error *error)
{
    uint64_t most = l->cluster.memory_bytes > 0 ? l->cluster.memory_bytes : default_memory();
    uint64_t needed = memory_needed(l);
    if (needed <= most)
        return EXIT_DONE;
    error_set(error, STATUS_MEMORY,
              "this cluster takes about %s of memory, and may take %s (--memory)",
              wording_bytes(needed).text, wording_bytes(most).text);
    return EXIT_USAGE;
}

/* A process that owns chunks stays. */
static enum status check_leaves(const struct laboratory *l, struct error *error)
{
    const struct options *options = &l->plan.options;
    for (size_t i = 0; options->job.colocated && i < l->failures.count; i++) {
        const struct failure *failure = &l->failures.list[i];
        for (uint32_t k = 0; failure->kind == FAILURE_LEAVE && k < places_count(&failure->places);
             k++) {
            struct place place = places_at(&failure->places, k);
            if (place.index < options->workers)
                return error_set(error, STATUS_INVALID,
                                 "--leave: with --ps=colocated the place of %s owns chunks, and "
                                 "cannot leave; --kill kills one",
                                 place_text(place).text);
        }
    }
    return STATUS_OK;
}

/* The processes that options and the cluster's file name. */
static enum status check_places(const struct laboratory *l, struct error *error)
{
    const struct options *options = &l->plan.options;
    struct error found;
    uint32_t most = options->workers + failures_joining(&l->failures);
    enum status status = failures_check(&l->failures, options->ps, options->workers, error);
    if (status != STATUS_OK || cluster_check(&l->cluster, options->ps, most, &found) == STATUS_OK)
        return status;
    bool by_option = options->cluster[CLUSTER_TEXT_LINK] != NULL || options->cluster_file == NULL;
    return error_set(error, STATUS_INVALID, "%.200s%s%.400s",
                     by_option ? "" : options->cluster_file, by_option ? "--" : ": ", found.text);
}

/* An exit code; the most likely mistakes are checked first. */
static int check(struct laboratory *l, struct error *error)
{
    struct run_plan *plan = &l->plan;
    int code = read_cluster(l, error);
    if (code == EXIT_DONE &&
        options_slow_check(plan->options.slow, plan->options.workers, error) != STATUS_OK)
        code = EXIT_USAGE;
    if (code == EXIT_DONE &&
        (check_leaves(l, error) != STATUS_OK || check_places(l, error) != STATUS_OK))
        code = error->status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_USAGE;
    if (code == EXIT_DONE)
        code = workload_look(&plan->workload, &plan->options, error);
    if (code == EXIT_DONE)
        code = check_memory(l, error);
    if (code != EXIT_DONE)
        return code;
    describe_cluster(l);
    enum status status =
        restore_check(plan->options.out, plan->options.restore, &plan->workload.job, error);
    if (status == STATUS_OK)
        status = run_plan_find_out(plan, error);
    return status == STATUS_INVALID ? EXIT_CANNOT_OPEN : command_exit_code(status);
}

/* --- running --------------------------------------------------------------------------------- */

static void notice_absence(struct laboratory *l)
{
    struct error error;
    if (output_finish(&error) == STATUS_OK || l->gone)
        return;
    l->gone = true;
    command_say(PROGRAM, LOG_WARNING, error.text);
}

/* OUT/virtual.json: the planned failures and, with its load, the result. */
static void keep_account(const struct laboratory *l, const struct load *load)
{
    struct error error;
    if (account_write(&l->account, load, l->plan.out, &error) != STATUS_OK)
        command_say(PROGRAM, LOG_WARNING, error.text);
}

/* OUT/cluster.json and the failures, beside a run that has begun. */
static void keep_cluster(struct laboratory *l)
{
    char path[DISK_PATH_MAX + 16];
    struct json_writer writer;
    struct error error = {0};
    snprintf(path, sizeof path, "%s/run.json", l->plan.out);
    if (l->kept || disk_posix.look(disk_posix.context, path) != DISK_FILE)
        return;
    l->kept = true;
    keep_account(l, NULL);
    snprintf(path, sizeof path, "%s/cluster.json", l->plan.out);
    json_writer_init(&writer, false);
    cluster_write(&l->cluster, &writer, NULL);
    json_writer_raw(&writer, "\n", 1);
    const struct disk_piece piece = {writer.text, writer.bytes};
    if (writer.failed)
        error_set(&error, STATUS_MEMORY, "no memory to write %.300s", path);
    else
        disk_posix.write_file(disk_posix.context, path, &piece, 1, &error);
    if (error.text[0] != '\0')
        command_say(PROGRAM, LOG_WARNING, error.text);
    json_writer_free(&writer);
}

/* As soon as there is a folder: server 0 makes it. A folder that is locked and not occupied is
 * about to be left. */
static void occupy(struct laboratory *l)
{
    if (l->occupied < 0 && !l->kept)
        l->occupied = occupancy_take(l->plan.out, false);
}

/* Of many processes the first step takes long. */
static void say_what_it_does(struct laboratory *l, double now)
{
    char line[160];
    const struct options *options = &l->plan.options;
    if (l->quiet_until == 0 || now < l->quiet_until)
        return;
    l->quiet_until = 0;
    snprintf(line, sizeof line,
             "no update yet after %.0f s: %s and %s exchange messages one by one", QUIET_SECONDS,
             wording_counted(options->workers, "worker", "workers").text,
             wording_counted(options->ps, "server", "servers").text);
    if (!options->quiet && l->progress.state.step == l->progress.state.first_step)
        progress_say(&l->progress, line);
}

static void look(void *context)
{
    struct laboratory *l = context;
    double now = clock_now_seconds();
    occupy(l);
    if (now < l->looked + LOOK_SECONDS)
        return;
    l->looked = now;
    say_what_it_does(l, now);
    keep_cluster(l);
    progress_tick(&l->progress, now);
    notice_absence(l);
}

static void say(void *context, uint64_t at_ns, const char *text)
{
    struct laboratory *l = context;
    char line[FAULT_SCHEDULE_TEXT_MAX + 64];
    account_note(&l->account, at_ns, text);
    snprintf(line, sizeof line, "at %s of virtual time: %s",
             wording_duration((double)at_ns * 1e-9).text, text);
    if (!l->plan.options.quiet)
        progress_say(&l->progress, line);
}

static void stop(void *context, int exit_code)
{
    struct laboratory *l = context;
    simulation_request_stop(&l->simulation, exit_code);
}

/* The load of each part from START on, and the bottleneck. */
static void print_load(const struct laboratory *l, const struct load *load)
{
    FILE *voice = l->plan.voice;
    char text[200];
    bool first = true;
    for (unsigned part = 0; part < LOAD_PART_COUNT; part++) {
        const struct load_share *share = &load->shares[part];
        if (share->most < WORTH_A_LINE)
            continue;
        fprintf(voice, "  %-13s  %-18s %5.1f %% of the time, %s %5.1f %%\n", first ? "busy" : "",
                load_part_name((enum load_part)part), 100 * share->mean, share->busiest,
                100 * share->most);
        first = false;
    }
    load_bound(load, text, sizeof text);
    wording_wrap(voice, text, fprintf(voice, "  bound by       "), 17);
}

static void print_wrapped(const struct laboratory *l, const char *name, const char *text)
{
    int column = fprintf(l->plan.voice, "  %-15s", name);
    wording_wrap(l->plan.voice, text, column, column);
}

/* The lines that a real run does not have. */
static void print_virtual(const struct laboratory *l, const struct load *load)
{
    const struct simulation *s = &l->simulation;
    const struct network_counts *network = &s->engine.network.counts;
    double gradients = (double)(s->learning.real_ns + s->learning.score_ns) * 1e-9;
    char text[200];
    snprintf(text, sizeof text, "%s in %s of real time, of which %s gradients and scores",
             wording_duration((double)s->engine.now_us * 1e-6).text,
             wording_duration(s->real_seconds).text, wording_duration(gradients).text);
    print_wrapped(l, "virtual", text);
    fprintf(l->plan.voice, "  messages       %s; all else took %.1f us of real time for each\n",
            wording_count(network->delivered).text,
            network->delivered > 0
                ? 1e6 * (s->real_seconds - gradients) / (double)network->delivered
                : 0.0);
    fault_schedule_sum_up(&s->schedule, text, sizeof text);
    print_wrapped(l, "faults", text);
    print_load(l, load);
}

static void write_trace(struct laboratory *l)
{
    struct error error;
    char line[DISK_PATH_MAX + 200];
    recorder_close(&l->recorder);
    if (l->trace.file < 0)
        return;
    if (run_trace_finish(&l->trace, l->plan.out, l->plan.options.trace_steps, line, sizeof line,
                         &error) != STATUS_OK)
        command_say(PROGRAM, LOG_WARNING, error.text);
    else if (!l->plan.options.quiet)
        print_wrapped(l, "trace", line);
    run_trace_close(&l->trace);
}

static int print_end(struct laboratory *l, int code, struct error *error)
{
    struct record record;
    struct error no_summary = {0};
    struct load load;
    load_measure(&load, &l->simulation.timetable, l->simulation.nics,
                 simulation_ns(&l->simulation));
    if (l->kept)
        keep_account(l, &load);
    bool stopped = code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
    if (code == EXIT_DONE || (stopped && !l->simulation.engine.failed)) {
        enum status status = record_read(&record, l->plan.out, &no_summary);
        if (status == STATUS_OK && !l->plan.options.quiet) {
            summary_print(l->plan.voice, &record, 0);
            print_virtual(l, &load);
        }
        if (status != STATUS_OK && code == EXIT_DONE) {
            *error = no_summary;
            code = EXIT_CANNOT_OPEN;
        }
        record_free(&record);
    }
    write_trace(l);
    if (l->kept && page_write_run(&disk_posix, l->plan.out, &no_summary) != STATUS_OK)
        command_say(PROGRAM, LOG_WARNING, no_summary.text);
    if (code == EXIT_DONE)
        run_plan_print_next(&l->plan);
    notice_absence(l);
    if (code != EXIT_DONE)
        command_fail(PROGRAM, code, error);
    if (stopped && !l->plan.options.quiet) {
        char text[DISK_PATH_MAX + 128];
        snprintf(text, sizeof text, "the same command%s%s goes on from there",
                 l->plan.out_made ? " with --out " : "", l->plan.out_made ? l->plan.out : "");
        command_say(PROGRAM, LOG_INFO, text);
    }
    return code;
}

static int simulate(struct laboratory *l, struct error *error)
{
    struct simulation *s = &l->simulation;
    struct signals signals;
    const struct signals_options requests = {.context = l, .stop = stop};
    if (signals_start(&signals, &requests) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    struct progress_style style = progress_style_of(
        l->plan.voice, l->plan.options.quiet, l->plan.options.verbose, l->plan.options.log_every);
    progress_open(&l->progress, l->plan.voice, style, l->plan.out, clock_now_seconds());
    l->quiet_until = clock_now_seconds() + QUIET_SECONDS;
    l->occupied = -1;
    occupy(l);
    int code = simulation_run(s, error);
    if (l->occupied >= 0)
        close(l->occupied);
    keep_cluster(l);
    progress_tick(&l->progress, clock_now_seconds());
    progress_close(&l->progress);
    signals_stop(&signals);
    return print_end(l, code, error);
}

/* No process listens, but a declaration has an address for each, and workers on one host behave
 * differently. */
static enum status name_servers(struct run_plan *plan, bool together)
{
    struct job *job = &plan->workload.job;
    job->servers = calloc(plan->options.ps, sizeof *job->servers);
    if (job->servers == NULL)
        return STATUS_MEMORY;
    job->server_count = plan->options.ps;
    for (uint32_t i = 0; i < job->server_count; i++)
        if (together)
            snprintf(job->servers[i], sizeof job->servers[i], "127.0.0.1:%u", 1 + i);
        else
            snprintf(job->servers[i], sizeof job->servers[i], "ps-%u.virtual:1", i);
    return STATUS_OK;
}

/* A description for a person who finds the run later. */
static void label(struct laboratory *l)
{
    struct job *job = &l->plan.workload.job;
    snprintf(job->cluster, sizeof job->cluster, "%.250s", l->about);
    if (job->compute[0] == '\0')
        snprintf(job->compute, sizeof job->compute, "%.120s", l->cluster.leaf_time);
}

/* An exit code: the data are read, and the cluster is made. */
static int prepare(struct laboratory *l, struct error *error)
{
    struct run_plan *plan = &l->plan;
    int code = workload_read(&plan->workload, &plan->options, error);
    if (code != EXIT_DONE)
        return code;
    if (name_servers(plan, l->cluster.rest == CLUSTER_TOGETHER) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "out of memory");
        return EXIT_TRAINING_FAILED;
    }
    label(l);
    account_init(&l->account, &l->failures, plan->options.policy);
    uint32_t processes = plan->options.ps + plan->options.workers + failures_joining(&l->failures);
    if (run_trace_recorder(&l->trace, processes, plan->options.trace_steps, &l->recorder, error) !=
        STATUS_OK)
        return EXIT_CANNOT_OPEN;
    const struct simulation_options options = {
        .options = &plan->options,
        .workload = &plan->workload,
        .cluster = &l->cluster,
        .failures = &l->failures,
        .out = plan->out,
        .board = &plan->board,
        .look = look,
        .say = say,
        .context = l,
        .explain = plan->options.explain ? plan->voice : NULL,
        .recorder = l->recorder,
    };
    enum status status = simulation_init(&l->simulation, &options, error);
    return status == STATUS_OK       ? EXIT_DONE
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_USAGE;
}

static int run(struct laboratory *l, struct error *error)
{
    int code = check(l, error);
    if (code == EXIT_DONE && !l->plan.options.quiet)
        run_plan_print(&l->plan);
    if (code == EXIT_DONE && run_trace_open(&l->trace, &l->plan.options, error) != STATUS_OK)
        code = EXIT_CANNOT_OPEN;
    if (code == EXIT_DONE)
        code = prepare(l, error);
    if (code != EXIT_DONE) {
        recorder_close(&l->recorder);
        return command_fail(PROGRAM, code, error);
    }
    code = simulate(l, error);
    simulation_free(&l->simulation);
    return code;
}

int command_simulate(const struct command_call *call, struct error *unused)
{
    struct laboratory *l = calloc(1, sizeof *l);
    struct error error = {0};
    double began = clock_now_seconds();
    (void)unused;
    if (l == NULL) {
        error_set(&error, STATUS_MEMORY, "out of memory");
        return command_fail(PROGRAM, EXIT_TRAINING_FAILED, &error);
    }
    signals_block();
    kernels_init();
    l->plan.options = call->options;
    l->trace.file = -1;
    kernels_limit(options_instructions(&l->plan.options));
    l->plan.voice = l->plan.options.json ? stderr : stdout;
    int code = run(l, &error);
    if (l->plan.options.json) {
        struct run_outcome outcome = {.exit_code = code,
                                      .path = l->plan.out[0] != '\0' ? l->plan.out : NULL,
                                      .claimed = l->kept,
                                      .seconds = clock_now_seconds() - began,
                                      .reason = code == EXIT_DONE ? "" : error.text};
        if (run_json_print(stdout, &outcome) != STATUS_OK)
            command_say(PROGRAM, LOG_WARNING, "out of memory for the result");
    }
    run_plan_free(&l->plan);
    cluster_free(&l->cluster);
    account_free(&l->account);
    failures_free(&l->failures);
    free(l);
    return code;
}
