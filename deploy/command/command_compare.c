/* syncopate compare: the same work in several modes, with several numbers of workers and other
 * varied options, one run after another (interleaving.h). Table and report are written again after
 * each. A failed run is reported, and the others continue.
 *
 * A folder with a comparison of the same plan (plan_file.h) is resumed: finished runs are kept, an
 * unfinished one is resumed (in virtual time repeated, renewal.h), and missing ones are made. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/options/options.h"
#include "common/progress/progress.h"
#include "common/store/initial.h"
#include "deploy/command/command.h"
#include "deploy/compare/comparison_folder.h"
#include "deploy/compare/interleaving.h"
#include "deploy/compare/machine_watch.h"
#include "deploy/compare/renewal.h"
#include "deploy/compare/results.h"
#include "deploy/compare/virtual_runs.h"
#include "deploy/compare/warm_up.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/launcher/launch.h"
#include "deploy/launcher/signal_file.h"
#include "deploy/report/compare_report.h"
#include "deploy/report/report.h"
#include "worker/workload.h"

#define PROGRAM      "syncopate compare"
#define STEPS_TRACED 5 /* In virtual time: one is drawn. */

struct comparing {
    struct options options;
    char *declares; /* What its program has declared; owned. NULL: it has none. */
    struct plan plan;
    struct configs configs;
    struct comparison_folder folder;
    struct interleaving interleaving;
    struct results results;
    struct compare_report report;
    struct boards boards;
    bool lacks_means; /* It has been said that TensorBoard does. */
    FILE *output;     /* The stream of all output but the object of --json. */
    struct progress_style style;
    struct virtual_runs *virtual_runs; /* NULL: in real time. */
    /* Also between runs, and while the report is written, which is not cut off. */
    struct signal_file signals;
    int stop_code; /* Of a signal that came when a run was as good as done; EXIT_DONE: none did. */
};

/* --- checks ----------------------------------------------------------------------------------- */

/* A target that guessing reaches is refused. */
static int check_target(const struct options *options, unsigned classes, struct error *error)
{
    double target = options->target_loss, accuracy = options->target_accuracy;
    if (classes == 0) /* Not known. */
        return EXIT_DONE;
    if (target >= log(classes))
        error_set(error, STATUS_INVALID,
                  "--target-loss=%g: training starts with %.4g, the loss of guessing one of %u "
                  "classes; needs less",
                  target, log(classes), classes);
    else if (accuracy > 0 && accuracy <= 1.0 / classes)
        error_set(error, STATUS_INVALID,
                  "--target-accuracy=%g: guessing one of %u classes has %.4g; needs more", accuracy,
                  classes, 1.0 / classes);
    else
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* Any fault of a run is reported before the first one starts; the seed does not matter. An exit
 * code. */
static int check_runs(const struct comparing *comparing, struct error *error)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < comparing->configs.count && code == EXIT_DONE; i++) {
        struct interleaved_run run;
        struct workload workload;
        struct error why = {0};
        interleaving_run(&run, &comparing->interleaving, i);
        bool named = run.config.label[0] != '\0';
        code = workload_look(&workload, &run.options, &why);
        if (code == EXIT_DONE)
            code = check_target(&run.options, workload.source->classes, &why);
        if (code != EXIT_DONE)
            error_set(error, why.status, "%s%s%s%.400s", named ? "--arm " : "",
                      named ? run.config.name : "", named ? ": " : "", why.text);
        workload_free(&workload);
    }
    return code;
}

static uint32_t workers_most(const struct comparing *comparing)
{
    uint32_t most = 0;
    for (size_t i = 0; i < comparing->configs.count; i++) {
        uint32_t workers = comparing->configs.list[i].options.workers;
        most = workers > most ? workers : most;
    }
    return most;
}

static int check_keys(const struct comparing *comparing, struct error *error)
{
    const char *keys = comparing->options.keys;
    return keys != NULL ? command_check_keys(keys, workers_most(comparing), error) : EXIT_DONE;
}

static enum status read_plan(struct comparing *comparing, const struct command_call *call,
                             struct error *error)
{
    const struct options *options = &comparing->options;
    enum status status = plan_take(&comparing->plan, options, call->argc, call->argv, error);
    if (status == STATUS_OK)
        status = configs_make(&comparing->configs, &comparing->plan, options, error);
    if (status == STATUS_OK)
        status = options_slow_check(options->slow, workers_most(comparing), error);
    if (status == STATUS_OK)
        status = interleaving_init(&comparing->interleaving, &comparing->configs, options->seeds,
                                   comparing->folder.path, error);
    comparing->interleaving.tensorboard = options->tensorboard;
    if (status != STATUS_OK)
        return status;
    if (options->target_loss > 0 && options->target_accuracy > 0)
        return error_set(error, STATUS_INVALID,
                         "--target-loss and --target-accuracy: one target at a time");
    for (size_t i = 0; i < comparing->configs.count; i++)
        if (comparing->configs.list[i].options.ps == 0)
            return error_set(error, STATUS_INVALID,
                             "--ps=0: there is nothing to compare without servers");
    comparing->style =
        progress_style_of(comparing->output, options->quiet, options->verbose, options->log_every);
    return STATUS_OK;
}

/* --- the runs -------------------------------------------------------------------------------- */

static bool was_ended(int code)
{
    return code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
}

static void watch_tick(void *context, const char *out)
{
    (void)out;
    progress_tick(context, clock_now_seconds());
}

static void watch_say(void *context, const char *line)
{
    progress_say(context, line);
}

/* How long the runs from this one on will take; 0: not known. */
static double seconds_left(const struct comparing *comparing, size_t from)
{
    double left = interleaving_seconds_left(&comparing->interleaving, from);
    return comparing->virtual_runs != NULL ? left / (double)comparing->virtual_runs->side_by_side
                                           : left;
}

static void print_heading(const struct comparing *comparing, const struct interleaved_run *run,
                          size_t index)
{
    char text[320] = "";
    wording_append(
        text, sizeof(text), "run %zu of %zu: %s, %s, %s%s%s, seed %" PRIu64, index + 1,
        comparing->interleaving.run_count, job_mode_text(&run->options.job).text,
        wording_counted(run->options.workers, "worker", "workers").text,
        run->options.job.colocated ? "servers beside them"
                                   : wording_counted(run->options.ps, "server", "servers").text,
        run->config.varied[0] != '\0' ? ", " : "", run->config.varied, run->options.job.seed);
    double left = seconds_left(comparing, index);
    if (left > 0) /* It is an estimate without a meaningful fraction of a second. */
        wording_append(text, sizeof(text), " (about %s left)", wording_duration(ceil(left)).text);
    compare_report_strong(&comparing->report, text);
    fflush(comparing->output);
}

static void print_result(const struct comparing *comparing, const struct record *record)
{
    fprintf(comparing->output, "  done in %s%s", wording_duration(record->training_seconds).text,
            comparing->virtual_runs != NULL ? " of virtual time" : "");
    if (isfinite(record->summary.train.loss))
        fprintf(comparing->output, ", loss %.4f", record->summary.train.loss);
    if (isfinite(record->summary.test.accuracy))
        fprintf(comparing->output, ", test accuracy %.2f %%", record->summary.test.accuracy * 100);
    fprintf(comparing->output, "\n");
    fflush(comparing->output);
}

static void say_line(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* See virtual_run_fn. */
static bool tell_run(void *context, size_t index, struct options *options, char *out,
                     size_t out_bytes, char *name, size_t name_bytes)
{
    const struct comparing *comparing = context;
    struct interleaved_run run;
    interleaving_run(&run, &comparing->interleaving, index);
    *options = run.options;
    options->traced = index < comparing->configs.count; /* Each configuration's first run. */
    options->trace_steps = STEPS_TRACED;
    snprintf(out, out_bytes, "%s", run.out);
    snprintf(name, name_bytes, "%s", run.name);
    if (comparing->folder.goes_on && !comparing->interleaving.kept[index])
        renewal_prepare(&run.options, run.out, say_line, NULL);
    return !comparing->interleaving.kept[index];
}

/* Beside the run's own files. Without a run, or without space there, nothing is noted. */
static void note_machine(const struct interleaved_run *run, const struct machine_watch *before,
                         const struct machine_watch *after)
{
    struct run_noise noise;
    char said[DISK_PATH_MAX + 16];
    snprintf(said, sizeof said, "%s/run.json", run->out);
    machine_watch_between(before, after, &noise);
    report_machine(noise.machine, sizeof noise.machine);
    if (noise.processors > 0 && disk_posix.look(disk_posix.context, said) == DISK_FILE)
        run_noise_add(&noise, &disk_posix, run->out, NULL);
}

static int launch(struct comparing *comparing, struct interleaved_run *run, size_t index,
                  struct error *error)
{
    char initial[DISK_PATH_MAX];
    struct progress progress;
    if (comparing->virtual_runs != NULL)
        return virtual_runs_await(comparing->virtual_runs, index,
                                  &comparing->interleaving.took[index], error);
    int code = workload_ask(&run->options, run->out, initial, error);
    if (code != EXIT_DONE)
        return code;
    struct machine_watch before, after;
    machine_watch_look(&before);
    progress_open(&progress, comparing->output, comparing->style, run->out, clock_now_seconds());
    struct launch_watch watch = {.context = &progress, .tick = watch_tick, .say = watch_say};
    struct launch_result result;
    code = launch_job(&run->options, run->out, NULL, &watch, &result, error);
    comparing->stop_code = result.stop_code;
    progress_close(&progress);
    machine_watch_look(&after);
    comparing->interleaving.took[index] = after.at - before.at;
    note_machine(run, &before, &after);
    return code;
}

/* Whether a run of a configuration is still to be made. */
static bool has_runs_to_make(const struct comparing *comparing, size_t config)
{
    for (size_t i = 0; i < comparing->interleaving.run_count; i++)
        if (interleaving_config(&comparing->interleaving, i) == config &&
            !comparing->interleaving.kept[i])
            return true;
    return false;
}

/* A run of each configuration that is still to come. A failure is ignored: the first counted run
 * will report it. An exit code, EXIT_DONE unless it is interrupted. */
static int warm_up(const struct comparing *comparing, struct error *error)
{
    uint32_t steps = comparing->options.warm_up;
    bool said = comparing->options.quiet;
    for (size_t i = 0; i < comparing->configs.count && steps > 0; i++) {
        struct warm_up run;
        struct error why = {0};
        if (!has_runs_to_make(comparing, i))
            continue;
        if (!said)
            fprintf(comparing->output, "warm-up: %s of each arm, which count nowhere\n",
                    wording_counted(steps, "step", "steps").text);
        said = true;
        fflush(comparing->output);
        warm_up_options(&run, &comparing->configs.list[i], steps, comparing->folder.path);
        int code = warm_up_run(&run, &why);
        if (was_ended(code)) {
            error_set(error, why.status,
                      "%.300s, before the runs; the same command with --out %.150s goes on",
                      why.text, comparing->folder.path);
            return code;
        }
    }
    return EXIT_DONE;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* The mean of a configuration that has more runs than before. */
static void tell_mean(struct comparing *comparing, const char *config)
{
    const struct comparison *comparison = &comparing->results.all;
    struct error why;
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        if (strcmp(group->config.name, config) != 0 ||
            boards_tell_mean(&comparing->boards, group, &why) == STATUS_OK ||
            comparing->lacks_means)
            continue;
        char text[sizeof why.text + 64];
        snprintf(text, sizeof text, "TensorBoard lacks means: %s", why.text);
        command_say(PROGRAM, LOG_WARNING, text);
        comparing->lacks_means = true;
    }
}

/* An exit code; error says which run failed, and why. */
static int make_one(struct comparing *comparing, size_t index, struct error *error)
{
    struct results *results = &comparing->results;
    struct interleaved_run run;
    struct error why = {0};
    bool kept = comparing->interleaving.kept[index];
    interleaving_run(&run, &comparing->interleaving, index);
    if (!comparing->options.quiet)
        print_heading(comparing, &run, index);
    if (kept && !comparing->options.quiet)
        fprintf(comparing->output, "  is there already\n");
    int code = kept ? EXIT_DONE : launch(comparing, &run, index, &why);
    if (code != EXIT_DONE) {
        initial_drop(&disk_posix, run.out);
        rmdir(run.out); /* Succeeds only when it is empty. */
    } else
        code = command_exit_code(results_read(results, index, &why));
    if (code != EXIT_DONE) {
        comparing->interleaving.took[index] = 0;
        error_set(error, why.status, "%s: %.400s", run.name, why.text);
        if (!was_ended(code) && results_fail(results, index, code, why.text, &why) != STATUS_OK)
            return command_exit_code(error_set(error, why.status, "%.400s", why.text));
        return code;
    }
    if (!comparing->options.quiet)
        print_result(comparing, results->list[index].record);
    return code;
}

/* Table and report of the results so far. At the end a failure to write them is reported. */
static void report_so_far(struct comparing *comparing, size_t index)
{
    const struct results *results = &comparing->results;
    const char *config =
        comparing->configs.list[interleaving_config(&comparing->interleaving, index)].config.name;
    bool new_one = !comparing->interleaving.kept[index] && results->list[index].record != NULL;
    if (results_collect(&comparing->results, NULL) != STATUS_OK)
        return;
    if (new_one || interleaving_is_last(&comparing->interleaving, index))
        tell_mean(comparing, config);
    bool last = index + 1 == comparing->interleaving.run_count; /* The end has its own. */
    if (results->all.record_count > 0 && !last && !comparing->interleaving.kept[index])
        compare_report_write(&comparing->report, &results->all, "", NULL);
}

static void look_for_signal(struct comparing *comparing)
{
    int signal = signal_file_next(&comparing->signals);
    if (signal != 0)
        comparing->stop_code = signal == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
}

/* All of them, but when they are ended: then it stops with that one. The first exit code that is
 * not EXIT_DONE; error says one line of all. */
static int make_each(struct comparing *comparing, struct error *error)
{
    int first = EXIT_DONE;
    bool said = false;
    for (size_t i = 0; i < comparing->interleaving.run_count; i++) {
        struct error why = {0};
        look_for_signal(comparing);
        int code = comparing->stop_code;
        if (code == EXIT_DONE)
            code = make_one(comparing, i, &why);
        else
            error_set(&why, STATUS_INTERRUPTED, "stopped between two runs");
        if (was_ended(code)) {
            error_set(error, why.status, "%.400s; the same command with --out %.150s goes on",
                      why.text, comparing->folder.path);
            return code;
        }
        if (first == EXIT_DONE && code != EXIT_DONE) {
            first = code;
            *error = why;
        }
        if (code != EXIT_DONE && i + 1 < comparing->interleaving.run_count) {
            command_say(PROGRAM, LOG_ERROR, why.text);
            said = true;
        }
        report_so_far(comparing, i);
    }
    if (said)
        error_set(error, error->status, "%zu of %zu runs failed",
                  results_failed(&comparing->results), comparing->interleaving.run_count);
    return first;
}

static int make_virtual(struct comparing *comparing, struct error *error)
{
    struct virtual_runs runs = {.run = tell_run, .context = comparing, .say = say_line};
    enum status status = virtual_runs_open(&runs, comparing->interleaving.run_count,
                                           comparing->options.deadlines.stop, error);
    comparing->virtual_runs = &runs;
    int code = status == STATUS_OK ? make_each(comparing, error) : command_exit_code(status);
    comparing->virtual_runs = NULL;
    virtual_runs_close(&runs);
    return code;
}

static int make_all(struct comparing *comparing, struct error *error)
{
    if (comparing->options.virtual_time)
        return make_virtual(comparing, error);
    int code = warm_up(comparing, error);
    return code == EXIT_DONE ? make_each(comparing, error) : code;
}

static void print_remarks(const struct comparing *comparing)
{
    const struct options *options = &comparing->options;
    if (options->quiet)
        return;
    if (options->remarks[0] != '\0')
        fprintf(comparing->output, "note: %s\n", options->remarks);
    if (options->slow != NULL && options->compute == NULL && !options->virtual_time)
        fprintf(comparing->output,
                "note: a slowed worker sleeps, and leaves its processor to the others, "
                "which get faster; with --compute times are independent\n");
}

static int compare(struct comparing *comparing, struct error *error)
{
    struct results *results = &comparing->results;
    struct error no_report = {0};
    char remark[640] = "";
    if (comparing->folder.goes_on)
        interleaving_look(&comparing->interleaving);
    enum status status = results_init(results, &comparing->interleaving, error);
    if (status == STATUS_OK)
        status = signal_file_open(&comparing->signals, error);
    if (status != STATUS_OK)
        return command_exit_code(status);
    print_remarks(comparing);
    int code = make_all(comparing, error);
    if (was_ended(code))
        snprintf(remark, sizeof remark, "Ended early: %s", error->text);
    status = results_collect(results, &no_report);
    if (status == STATUS_OK && results->all.record_count > 0)
        status = compare_report_end(&comparing->report, &results->all, remark, &no_report);
    while (signal_file_next(&comparing->signals) != 0)
        continue; /* All is made and written by now, or it is ending. */
    signal_file_close(&comparing->signals);
    if (status != STATUS_OK)
        command_say(PROGRAM, LOG_ERROR, no_report.text);
    return code != EXIT_DONE ? code : command_exit_code(status);
}

/* All its runs are planned with what the program says once. */
static enum status look_at_program(struct comparing *comparing, struct error *error)
{
    struct options *options = &comparing->options;
    struct source *source = NULL;
    struct source_options of;
    struct error why;
    if (options->program == NULL)
        return STATUS_OK;
    enum status status = source_options_of(&of, options, error);
    of.look = true;
    if (status == STATUS_OK && (status = source_open(&source, &of, &why)) != STATUS_OK)
        return error_set(error, status, "--program \"%.100s\": %.380s", options->program, why.text);
    comparing->declares = strdup(source->declares);
    options->declares = comparing->declares;
    options->declared_by = options->program;
    source_close(&source);
    return comparing->declares != NULL ? STATUS_OK
                                       : error_set(error, STATUS_MEMORY, "out of memory");
}

int command_compare(const struct command_call *call, struct error *error)
{
    struct comparing comparing = {.options = call->options,
                                  .folder = {.occupied = -1},
                                  .signals = {.file = -1},
                                  .output = call->options.json ? stderr : stdout};
    enum status status = look_at_program(&comparing, error);
    if (status == STATUS_OK)
        status = read_plan(&comparing, call, error);
    comparing.report = (struct compare_report){.typed_count = call->typed_argc,
                                               .typed = call->typed,
                                               .options = &comparing.options,
                                               .folder = comparing.folder.path,
                                               .output = comparing.output,
                                               .colour = comparing.style.colour};
    int code = status == STATUS_INVALID ? EXIT_USAGE : command_exit_code(status);
    if (code == EXIT_DONE)
        code = check_runs(&comparing, error);
    if (code == EXIT_DONE)
        code = check_keys(&comparing, error);
    if (code == EXIT_DONE)
        code = command_exit_code(
            boards_open(&comparing.boards, call->options.tensorboard, &comparing.configs, error));
    if (code == EXIT_DONE)
        code = command_exit_code(
            comparison_folder_open(&comparing.folder, call->options.out, &comparing.plan, error));
    if (code == EXIT_DONE)
        code = compare(&comparing, error);
    comparison_folder_close(&comparing.folder);
    results_free(&comparing.results);
    interleaving_free(&comparing.interleaving);
    configs_free(&comparing.configs);
    plan_free(&comparing.plan);
    free(comparing.declares);
    return code;
}
