/* syncopate compare: the same work in several modes, with several numbers of workers and whatever else is
 * varied, one run after another; table and report are written anew after each.
 *
 * Seeds are the outer loop, so that whatever changes on the machine in the course of the day meets
 * every mode alike, and a comparison that is ended early has whole rounds; and every round begins with
 * another arm, so that none is always the first. A run that fails is named, and the others are made.
 *
 * In a folder that holds a comparison of the same settings (settings.h) it goes on: runs that are done
 * are kept, one that is not is resumed, and those that are missing are made.
 */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/file/folder.h"
#include "common/kernels/kernels.h"
#include "common/options/options.h"
#include "common/progress/progress.h"
#include "common/store/occupancy.h"
#include "common/store/run_directory.h"
#include "deploy/answer/comparison.h"
#include "deploy/command/command.h"
#include "deploy/compare/arms.h"
#include "deploy/compare/settings.h"
#include "deploy/compare/virtual_runs.h"
#include "deploy/launcher/launch.h"
#include "deploy/report/answer_table.h"
#include "deploy/report/arm.h"
#include "deploy/report/report.h"
#include "deploy/report/table.h"
#include "worker/workload.h"

#define PROGRAM       "syncopate compare"
#define COMMAND_BYTES 4096
#define RUNS          "runs" /* The folder with the folders of the runs. */

extern char **environ;

struct plan {
    struct options options;
    struct arms arms;
    size_t run_count;                 /* In all. */
    bool kept[COMPARISON_RUNS_MAX];   /* It was there already. */
    double took[COMPARISON_RUNS_MAX]; /* Seconds, from start to end; 0: not made now, or failed. */
    char out[DISK_PATH_MAX];
    int occupied;  /* It is ours as long as this is open; -1: there are no such locks. */
    bool out_made; /* By us: to be taken away again when nothing comes into it. */
    bool goes_on;  /* There is a comparison of the same settings already ... */
    bool begun;    /* ... or this is its beginning, and the settings are written there. */
    struct settings settings;
    FILE *told; /* Where all is told but the object of --json. */
    struct progress_style style;
    struct virtual_runs *virtual_runs; /* NULL: in real time. */
};

/* One of the runs. */
struct run {
    struct options options;
    struct arm arm;               /* "sync-w2", "ssp-3-w2" */
    char name[ARM_TEXT_MAX + 32]; /* "sync-w2-s1" */
    char out[DISK_PATH_MAX];
};

/* --- what was asked for ---------------------------------------------------------------------- */

/* Which arm it is of: the first round has them in order, each later one begins with the next. */
static size_t arm_of(const struct plan *plan, size_t index)
{
    size_t arms = plan->arms.count;
    assert(arms > 0); /* A list has one item at least. */
    return (index % arms + index / arms) % arms;
}

/* Run number index, from 0. */
static void make_run(struct run *run, const struct plan *plan, size_t index)
{
    const struct arm_plan *arm = &plan->arms.list[arm_of(plan, index)];
    run->options = arm->options;
    run->arm = arm->arm;
    struct options *options = &run->options;
    options->job.seed += index / plan->arms.count;
    snprintf(run->name, sizeof(run->name), "%s-s%" PRIu64, run->arm.name, options->job.seed);
    snprintf(run->out, sizeof(run->out), "%.*s/" RUNS "/%s",
             (int)(sizeof(run->out) - sizeof(run->name) - sizeof("/" RUNS "/")), plan->out,
             run->name);
    options->out = run->out;
}

/* What is wrong with any of the runs is said before the first one starts; the seed does not matter.
 * An exit code. */
static int check_runs(const struct plan *plan, struct error *error)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < plan->arms.count && code == EXIT_DONE; i++) {
        struct run run;
        struct workload workload;
        make_run(&run, plan, i);
        code = workload_look(&workload, &run.options, error);
        workload_free(&workload);
    }
    return code;
}

static uint32_t workers_most(const struct plan *plan)
{
    uint32_t most = 0;
    for (size_t i = 0; i < plan->arms.count; i++)
        most =
            plan->arms.list[i].options.workers > most ? plan->arms.list[i].options.workers : most;
    return most;
}

static int check_keys(const struct plan *plan, struct error *error)
{
    const char *keys = plan->options.keys;
    return keys != NULL ? command_check_keys(keys, workers_most(plan), error) : EXIT_DONE;
}

static enum status read_plan(struct plan *plan, const struct command_call *call,
                             struct error *error)
{
    enum status status = arms_make(&plan->arms, &plan->options, call->argc, call->argv, error);
    if (status == STATUS_OK)
        status = options_slow_check(plan->options.slow, workers_most(plan), error);
    if (status != STATUS_OK)
        return status;
    if (plan->options.target_loss > 0 && plan->options.target_accuracy > 0)
        return error_set(error, STATUS_INVALID,
                         "--target-loss and --target-accuracy: one target at a time");
    size_t round = plan->arms.count;
    if (plan->options.seeds > COMPARISON_RUNS_MAX / round) {
        return error_set(error, STATUS_INVALID, "--seeds=%u: more than %d runs in all",
                         plan->options.seeds, COMPARISON_RUNS_MAX);
    }
    for (size_t i = 0; i < round; i++)
        if (plan->arms.list[i].options.ps == 0)
            return error_set(error, STATUS_INVALID,
                             "--ps=0: there is nothing to compare without servers");
    plan->run_count = round * plan->options.seeds;
    plan->style = progress_style_of(plan->told, plan->options.quiet, plan->options.verbose,
                                    plan->options.log_every);
    return STATUS_OK;
}

/* --- the folder ------------------------------------------------------------------------------ */

static void note_entry(void *argument, const char *name)
{
    (void)name;
    *(bool *)argument = true;
}

/* Of a folder that has something in it. */
static enum status look_at_earlier(struct plan *plan, struct error *error)
{
    enum status status = settings_check(&plan->settings, &disk_posix, plan->out, error);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_EXISTS,
                         "%s: something is there already and is not overwritten", plan->out);
    plan->goes_on = status == STATUS_OK;
    return status;
}

/* The folder is made here, at once, so that one that cannot be written is known before hours of
 * training. */
static enum status make_out(struct plan *plan, struct error *error)
{
    if (plan->options.out != NULL) {
        if (strlen(plan->options.out) + sizeof(((struct run *)NULL)->name) + 32 > DISK_PATH_MAX)
            return error_set(error, STATUS_INVALID, "--out: the path is too long");
        snprintf(plan->out, sizeof(plan->out), "%s", plan->options.out);
    } else {
        char date[32];
        time_t now = time(NULL);
        struct tm local;
        localtime_r(&now, &local);
        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
        snprintf(plan->out, sizeof(plan->out), "runs/compare-%s", date);
    }
    bool taken = false;
    enum status status = folder_check(plan->out, error);
    if (status != STATUS_OK)
        return status;
    status = disk_posix.list_directory(disk_posix.context, plan->out, note_entry, &taken, error);
    if (taken)
        return look_at_earlier(plan, error);
    plan->out_made = status == STATUS_NOT_FOUND;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        status = disk_posix.make_directory(disk_posix.context, plan->out, error);
    return status;
}

/* Two in one folder would each make what the other is about to. */
static enum status occupy_out(struct plan *plan, struct error *error)
{
    plan->occupied = occupancy_take(plan->out, true);
    if (plan->occupied >= 0)
        return STATUS_OK;
    plan->occupied = occupancy_take(plan->out, false); /* Not where there are no locks at all. */
    if (plan->occupied < 0)
        return STATUS_OK;
    plan->out_made = false;
    return error_set(error, STATUS_EXISTS, "%s: another comparison is under way there", plan->out);
}

/* These go through only where nothing came into a folder. */
static void remove_empty(const struct plan *plan)
{
    char runs[DISK_PATH_MAX + sizeof("/" RUNS)],
        settings[DISK_PATH_MAX + sizeof("/" SETTINGS_FILE)];
    snprintf(runs, sizeof(runs), "%s/" RUNS, plan->out);
    snprintf(settings, sizeof(settings), "%s/" SETTINGS_FILE, plan->out);
    if ((rmdir(runs) == 0 || errno == ENOENT) && plan->begun)
        unlink(settings);
    if (plan->out_made)
        rmdir(plan->out);
}

/* --- the runs -------------------------------------------------------------------------------- */

static void watch_tick(void *context, const char *out)
{
    (void)out;
    progress_tick(context, clock_now_seconds());
}

static void watch_say(void *context, const char *line)
{
    progress_say(context, line);
}

static void print_strong(const struct plan *plan, const char *text)
{
    fprintf(plan->told, plan->style.colour ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

/* How long the runs from this one on will take, by those of the same arm, else by all; 0: not known. */
static double seconds_left(const struct plan *plan, size_t from)
{
    double all = 0, left = 0;
    size_t made = 0;
    for (size_t i = 0; i < from; i++) {
        all += plan->took[i];
        made += plan->took[i] > 0;
    }
    for (size_t i = from; i < plan->run_count && made > 0; i++) {
        if (plan->kept[i])
            continue;
        double of_arm = 0;
        size_t count = 0;
        for (size_t before = 0; before < from; before++) {
            bool same = arm_of(plan, before) == arm_of(plan, i) && plan->took[before] > 0;
            of_arm += same ? plan->took[before] : 0;
            count += same;
        }
        left += count > 0 ? of_arm / (double)count : all / (double)made;
    }
    return plan->virtual_runs != NULL ? left / (double)plan->virtual_runs->side_by_side : left;
}

static void print_heading(const struct plan *plan, const struct run *run, size_t index)
{
    char text[320] = "";
    wording_append(text, sizeof(text), "run %zu of %zu: %s, %s, %s%s%s, seed %" PRIu64, index + 1,
                   plan->run_count, job_mode_text(&run->options.job).text,
                   wording_counted(run->options.workers, "worker", "workers").text,
                   run->options.job.colocated
                       ? "servers beside them"
                       : wording_counted(run->options.ps, "server", "servers").text,
                   run->arm.varied[0] != '\0' ? ", " : "", run->arm.varied, run->options.job.seed);
    double left = seconds_left(plan, index);
    if (left > 0)
        wording_append(text, sizeof(text), " (about %s left)", wording_duration(left).text);
    print_strong(plan, text);
    fflush(plan->told);
}

static void print_result(const struct plan *plan, const struct record *record)
{
    fprintf(plan->told, "  done in %s", wording_duration(record->summary.seconds).text);
    if (isfinite(record->summary.train_loss))
        fprintf(plan->told, ", loss %.4f", record->summary.train_loss);
    if (isfinite(record->summary.test_accuracy))
        fprintf(plan->told, ", test accuracy %.2f %%", record->summary.test_accuracy * 100);
    fprintf(plan->told, "\n");
    fflush(plan->told);
}

/* See virtual_run_fn. */
static bool tell_run(void *context, size_t index, struct options *options, char *out,
                     size_t out_bytes, char *name, size_t name_bytes)
{
    const struct plan *plan = context;
    struct run run;
    make_run(&run, plan, index);
    *options = run.options;
    snprintf(out, out_bytes, "%s", run.out);
    snprintf(name, name_bytes, "%s", run.name);
    return !plan->kept[index];
}

static void say_line(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static int launch(struct plan *plan, const struct run *run, size_t index, struct error *error)
{
    struct progress progress;
    if (plan->virtual_runs != NULL)
        return virtual_runs_await(plan->virtual_runs, index, &plan->took[index], error);
    double began = clock_now_seconds();
    progress_open(&progress, plan->told, plan->style, run->out, clock_now_seconds());
    struct launch_watch watch = {&progress, watch_tick, watch_say};
    int code = launch_job(&run->options, run->out, &watch, NULL, error);
    progress_close(&progress);
    plan->took[index] = clock_now_seconds() - began;
    return code;
}

/* --- the end --------------------------------------------------------------------------------- */

/* The command as it can be typed again; what the environment decided is part of it. */
static void describe_command(char *text, size_t bytes, const struct command_call *call)
{
    static char name[] = "syncopate", compare[] = "compare";
    char *words[256];
    int count = 0;
    for (char **variable = environ; *variable != NULL && count < 64; variable++)
        if (strncmp(*variable, "SYNCOPATE_", 10) == 0)
            words[count++] = *variable;
    words[count++] = name;
    words[count++] = compare;
    for (int i = 1; i < call->argc && count < 256; i++)
        words[count++] = call->argv[i];
    report_command(text, bytes, count, words);
}

static struct question question_of(const struct plan *plan)
{
    return (struct question){.target_loss = plan->options.target_loss,
                             .target_accuracy = plan->options.target_accuracy,
                             .margin = plan->options.margin};
}

/* By all processes, which are of this machine: the widest that it has, or what was asked for. */
static const char *instructions_in_use(const struct options *options)
{
    kernels_init();
    enum kernels_instructions widest = kernels_instructions();
    for (unsigned i = 0; options->instructions != NULL && i < (unsigned)widest; i++)
        if (strcmp(options->instructions,
                   kernels_instructions_word((enum kernels_instructions)i)) == 0)
            widest = (enum kernels_instructions)i;
    return kernels_instructions_name(widest);
}

static enum status write_report(const struct plan *plan, const struct answer *answer,
                                const char *remark, const struct command_call *call,
                                struct error *error)
{
    char command[COMMAND_BYTES];
    char machine[512];
    char date[64];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M %z", &local);
    describe_command(command, sizeof(command), call);
    report_machine(machine, sizeof(machine));
    struct report_facts facts = {.command = command,
                                 .machine = machine,
                                 .date = date,
                                 .colocated = plan->options.job.colocated,
                                 .transport = plan->options.transport,
                                 .instructions = instructions_in_use(&plan->options),
                                 .compute = plan->options.compute,
                                 .slow = plan->options.slow,
                                 .straggle = plan->options.straggle,
                                 .pause = plan->options.pause,
                                 .remark = remark};
    return report_write(&disk_posix, plan->out, answer, &facts, error);
}

static void report_so_far(const struct plan *plan, const struct comparison *comparison,
                          const struct command_call *call)
{
    struct answer answer;
    struct error no_report = {0};
    struct question question = question_of(plan);
    if (answer_make(&answer, comparison, &question, &no_report) == STATUS_OK)
        write_report(plan, &answer, "", call, &no_report);
    answer_free(&answer);
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool was_ended(int code)
{
    return code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
}

/* Whether the run is there, whole: then no figure of it would come out otherwise. */
static bool is_done(const struct run *run)
{
    struct workload workload;
    struct error why;
    struct run_found found;
    bool done =
        workload_look(&workload, &run->options, &why) == EXIT_DONE &&
        run_directory_check(&disk_posix, run->out, &workload.job, NULL, &why) == STATUS_EXISTS &&
        run_directory_find(&found, &disk_posix, run->out, &why) == STATUS_OK;
    if (done) {
        done = found.state == RUN_DONE && found.job.steps == workload.job.steps;
        job_free(&found.job);
    }
    workload_free(&workload);
    return done;
}

/* Which runs need not be made. */
static void look_for_kept(struct plan *plan)
{
    for (size_t i = 0; i < plan->run_count; i++) {
        struct run run;
        make_run(&run, plan, i);
        plan->kept[i] = is_done(&run);
    }
}

/* An exit code; error says which run failed, and why. */
static int make_one(struct plan *plan, size_t index, struct comparison *comparison,
                    struct error *error)
{
    struct run run;
    struct error why = {0};
    make_run(&run, plan, index);
    if (!plan->options.quiet)
        print_heading(plan, &run, index);
    if (plan->kept[index] && !plan->options.quiet)
        fprintf(plan->told, "  is there already\n");
    int code = plan->kept[index] ? EXIT_DONE : launch(plan, &run, index, &why);
    if (code != EXIT_DONE)
        rmdir(run.out); /* Goes through only when it is empty. */
    else
        code = command_exit_code(comparison_add(comparison, &run.arm, run.out, &why));
    if (code != EXIT_DONE) {
        plan->took[index] = 0;
        error_set(error, why.status, "%s: %.400s", run.name, why.text);
        if (!was_ended(code) &&
            comparison_fail(comparison, run.name, code, why.text, &why) != STATUS_OK)
            return command_exit_code(error_set(error, why.status, "%.400s", why.text));
        return code;
    }
    if (!plan->options.quiet)
        print_result(plan, comparison->records[comparison->record_count - 1]);
    return code;
}

/* All of them, but when they are ended: then it stops with that one. The first exit code that is not
 * EXIT_DONE; error says one line of all. */
static int make_each(struct plan *plan, struct comparison *comparison,
                     const struct command_call *call, struct error *error)
{
    int first = EXIT_DONE;
    bool said = false;
    for (size_t i = 0; i < plan->run_count; i++) {
        struct error why = {0};
        int code = make_one(plan, i, comparison, &why);
        if (was_ended(code)) {
            error_set(error, why.status, "%.400s; the same command with --out %.150s goes on",
                      why.text, plan->out);
            return code;
        }
        if (first == EXIT_DONE && code != EXIT_DONE) {
            first = code;
            *error = why;
        }
        if (i + 1 == plan->run_count)
            break; /* The end has its own. */
        if (code != EXIT_DONE) {
            command_say(PROGRAM, LOG_ERROR, why.text);
            said = true;
        }
        if (comparison->record_count > 0) /* The last one says it when none can be written. */
            report_so_far(plan, comparison, call);
    }
    if (said)
        error_set(error, error->status, "%zu of %zu runs failed", comparison->failed_count,
                  plan->run_count);
    return first;
}

static int make_all(struct plan *plan, struct comparison *comparison,
                    const struct command_call *call, struct error *error)
{
    struct virtual_runs runs = {.run = tell_run, .context = plan, .say = say_line};
    if (plan->goes_on)
        look_for_kept(plan);
    if (!plan->options.virtual_time)
        return make_each(plan, comparison, call, error);
    enum status status =
        virtual_runs_open(&runs, plan->run_count, plan->options.deadlines.stop, error);
    plan->virtual_runs = &runs;
    int code =
        status == STATUS_OK ? make_each(plan, comparison, call, error) : command_exit_code(status);
    plan->virtual_runs = NULL;
    virtual_runs_close(&runs);
    return code;
}

static void print_end(const struct plan *plan, const struct answer *answer)
{
    const struct comparison *comparison = answer->comparison;
    struct bits_verdict bits;
    comparison_bits(comparison, &bits);
    fprintf(plan->told, "\n");
    table_write_missing(plan->told, comparison);
    answer_write_text(plan->told, answer);
    fprintf(plan->told, "\n");
    if (plan->options.job.colocated)
        fprintf(plan->told, "each worker with a server beside it (--ps colocated)\n");
    table_write_text(plan->told, comparison);
    arms_write_effects(plan->told, comparison);
    table_write_bound(plan->told, comparison);
    if (bits.seeds > 0) {
        fprintf(plan->told, "\n");
        print_strong(plan, bits.text);
    }
    fprintf(plan->told, "\nreport: %s/report.html\n", plan->out);
    fflush(plan->told);
}

/* What is in compare.json. */
static enum status print_json(const struct answer *answer, const struct command_call *call,
                              struct error *error)
{
    char command[COMMAND_BYTES];
    describe_command(command, sizeof(command), call);
    char *text = table_json(answer, command);
    if (text == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    fputs(text, stdout); /* Whether it came through the program's end asks. */
    free(text);
    return STATUS_OK;
}

static int compare(struct plan *plan, const struct command_call *call, struct error *error)
{
    struct comparison comparison;
    struct error no_report = {0};
    char remark[640] = "";
    comparison_init(&comparison);
    comparison.planned = plan->run_count;
    if (plan->options.remarks[0] != '\0' && !plan->options.quiet)
        fprintf(plan->told, "note: %s\n", plan->options.remarks);
    if (plan->options.slow != NULL && plan->options.compute == NULL && !plan->options.quiet &&
        !plan->options.virtual_time)
        fprintf(
            plan->told,
            "note: whoever is slowed down sleeps, and leaves its processor to the others, who get "
            "faster by it; with --compute times are everybody's own\n");
    int code = make_all(plan, &comparison, call, error);
    if (was_ended(code))
        snprintf(remark, sizeof(remark), "Ended early: %s", error->text);
    enum status status = STATUS_OK;
    if (comparison.record_count > 0) {
        struct answer answer;
        struct question question = question_of(plan);
        status = answer_make(&answer, &comparison, &question, &no_report);
        if (status == STATUS_OK) {
            status = write_report(plan, &answer, remark, call, &no_report);
            print_end(plan, &answer);
        }
        if (plan->options.json && status == STATUS_OK)
            status = print_json(&answer, call, &no_report);
        answer_free(&answer);
    }
    comparison_free(&comparison);
    if (status != STATUS_OK)
        command_say(PROGRAM, LOG_ERROR, no_report.text);
    return code != EXIT_DONE ? code : command_exit_code(status);
}

int command_compare(const struct command_call *call, struct error *error)
{
    struct plan plan = {
        .options = call->options, .occupied = -1, .told = call->options.json ? stderr : stdout};
    enum status status = read_plan(&plan, call, error);
    int code = status == STATUS_OK       ? EXIT_DONE
               : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                         : EXIT_USAGE;
    if (code == EXIT_DONE)
        code = check_runs(&plan, error);
    if (code == EXIT_DONE)
        code = check_keys(&plan, error);
    if (code == EXIT_DONE)
        code = command_exit_code(
            settings_take(&plan.settings, &call->options, call->argc, call->argv, error));
    if (code == EXIT_DONE)
        code = command_exit_code(make_out(&plan, error));
    if (code == EXIT_DONE)
        code = command_exit_code(occupy_out(&plan, error));
    if (code == EXIT_DONE && !plan.goes_on) {
        code = command_exit_code(settings_write(&plan.settings, &disk_posix, plan.out, error));
        plan.begun = code == EXIT_DONE;
    }
    if (code == EXIT_DONE)
        code = compare(&plan, call, error);
    remove_empty(&plan);
    if (plan.occupied >= 0)
        close(plan.occupied);
    settings_free(&plan.settings);
    arms_free(&plan.arms);
    return code;
}
