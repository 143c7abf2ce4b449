/* syncopate run: one job on this machine, or for launch at a venue, from the plan to the summary.
 *
 * Errors that can be detected in advance are reported before any process starts. Errors that only a
 * worker detects, which reads all of the data, come back as its exit code. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
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
#include "common/watch/http_token.h"
#include "deploy/command/command.h"
#include "deploy/command/run_venue.h"
#include "deploy/explain/narration.h"
#include "deploy/launcher/launch.h"
#include "deploy/launcher/ports.h"
#include "deploy/launcher/teaching.h"
#include "deploy/page/page.h"
#include "deploy/run/run_json.h"
#include "deploy/run/run_plan.h"
#include "deploy/serve/folder_pages.h"
#include "deploy/trace/run_trace.h"
#include "worker/workload.h"

struct plan {
    struct run_plan run;
    const struct run_venue *venue;
    int log; /* With --explain: the log of all children. */
    char log_name[16];
    struct run_trace trace;
    const char *serve; /* Where the page is; NULL: nowhere. */
    int page_port;     /* Held for server 0, which says how the job is; -1: none is. */
    char server_0[32], page[HTTP_URL_MAX], without_token[HTTP_URL_MAX];
    struct folder_pages pages;
    struct teaching teaching;
    struct http_server *http;
    double began; /* The command, by clock_now_seconds. */
};

/* --- checks ---------------------------------------------------------------------------------- */

/* Without servers there is one process, whatever the default number of workers is. */
static enum status check_alone(struct plan *plan, struct error *error)
{
    struct options *options = &plan->run.options;
    if (options->ps > 0)
        return STATUS_OK;
    if (options->workers != 1 && options_given(options, OPTION_RUN, "workers"))
        return error_set(error, STATUS_INVALID,
                         "--workers=%u: without servers (--ps 0) there is one worker",
                         options->workers);
    options->workers = 1;
    return STATUS_OK;
}

/* An exit code; the most likely mistakes are checked first. */
static int check(struct plan *plan, struct error *error)
{
    if (check_alone(plan, error) != STATUS_OK ||
        options_slow_check(plan->run.options.slow, plan->run.options.workers, error) != STATUS_OK)
        return EXIT_USAGE;
    int code = workload_look(&plan->run.workload, &plan->run.options, error);
    if (code != EXIT_DONE)
        return code;
    if (plan->run.options.keys != NULL)
        code = command_check_keys(plan->run.options.keys, plan->run.options.workers, error);
    if (code != EXIT_DONE)
        return code;
    enum status status = restore_check(plan->run.options.out, plan->run.options.restore,
                                       &plan->run.workload.job, error);
    if (status == STATUS_OK)
        status = run_plan_find_out(&plan->run, error);
    return status == STATUS_INVALID ? EXIT_CANNOT_OPEN : command_exit_code(status);
}

/* --- the page (--serve) ----------------------------------------------------------------------- */

/* Server 0 says how the job is, at a port of loopback that is held meanwhile, as that of a server
 * (ports.h). */
static enum status hold_page_port(struct plan *plan, struct error *error)
{
    if (plan->run.options.serve == NULL)
        return STATUS_OK;
    plan->page_port = port_hold(&plan->pages.server_0_port);
    if (plan->page_port < 0)
        return error_set(error, STATUS_IO, "--serve: there is no free port: %s", strerror(errno));
    snprintf(plan->server_0, sizeof plan->server_0, "127.0.0.1:%u", plan->pages.server_0_port);
    plan->serve = plan->run.options.serve;
    plan->run.options.serve = plan->server_0;
    return STATUS_OK;
}

static enum status open_page(struct plan *plan, struct error *error)
{
    struct http_place place;
    char token[HTTP_TOKEN_DIGITS + 1] = "";
    enum status status = STATUS_OK;
    if (plan->serve == NULL || !http_place_read(plan->serve, &place))
        return STATUS_OK;
    plan->pages.folder = plan->run.out;
    plan->pages.trace = plan->trace.file;
    if (plan->run.options.teach) {
        plan->pages.teaching = &plan->teaching;
        status = teaching_open(&plan->teaching, &plan->run.options, error);
    }
    if (status == STATUS_OK && (plan->run.options.teach || !http_place_is_loopback(&place)))
        status = http_token_open(plan->run.out, token, error);
    if (status == STATUS_OK)
        status =
            http_server_start(&plan->http, &place, token, folder_pages_answer, &plan->pages, error);
    if (status != STATUS_OK)
        return status;
    http_place_url(http_server_place(plan->http), token, plan->page);
    http_place_url(http_server_place(plan->http), "", plan->without_token);
    plan->run.page = plan->page;
    plan->run.options.page = plan->without_token;
    return STATUS_OK;
}

/* --- running --------------------------------------------------------------------------------- */

struct audience {
    const struct plan *plan;
    struct progress progress;
    bool gone; /* Output is closed (`syncopate run | head -1`), which was reported. */
};

static void notice_absence(struct audience *audience, const char *then)
{
    struct error error;
    char text[sizeof error.text + 32];
    if (output_finish(&error) == STATUS_OK || audience->gone)
        return;
    audience->gone = true;
    snprintf(text, sizeof text, "%s%s", error.text, then);
    command_say(audience->plan->venue->program, LOG_WARNING, text);
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

/* Server 0's own words. */
static void watch_tell(void *context, const char *line)
{
    const struct audience *audience = context;
    fprintf(audience->plan->run.voice, "%s\n", line);
    fflush(audience->plan->run.voice);
}

static int launch(const struct plan *plan, struct audience *audience, struct launch_result *result,
                  struct error *error)
{
    const struct options *options = &plan->run.options;
    const struct run_venue *venue = plan->venue;
    const struct site *site = venue->site != NULL ? venue->site(venue->context) : NULL;
    /* On another host server 0 reports progress. */
    struct progress_style style = progress_style_of(plan->run.voice, options->quiet || site != NULL,
                                                    options->verbose, options->log_every);
    progress_open(&audience->progress, plan->run.voice, style, plan->run.out, clock_now_seconds());
    struct launch_watch watch = {audience, watch_tick, watch_say, watch_tell, plan->pages.teaching};
    struct options theirs = *options;
    if (site != NULL)
        theirs.keys = NULL; /* Which the site gives them. */
    int code = launch_job(&theirs, plan->run.out, site, &watch, result, error);
    progress_close(&audience->progress);
    return code;
}

/* --- narration (--explain) -------------------------------------------------------------------- */

#define LOG_FROM 64 /* Descriptors below it are the children's own (CHILD_WORD). */

/* One log in memory that all children inherit: nothing is left of it, however this ends. */
static enum status open_log(struct plan *plan, struct error *error)
{
    if (!plan->run.options.explain)
        return STATUS_OK;
    int file = memfd_create("syncopate-log", 0);
    plan->log = file >= 0 ? fcntl(file, F_DUPFD, LOG_FROM) : -1;
    if (plan->log < 0)
        error_set(error, STATUS_IO, "cannot make a process log (--explain): %s", strerror(errno));
    if (file >= 0)
        close(file);
    snprintf(plan->log_name, sizeof plan->log_name, "fd:%d", plan->log);
    plan->run.options.diary = plan->log_name;
    return plan->log >= 0 ? STATUS_OK : STATUS_IO;
}

/* Also of a run that failed: then it says how far it came. */
static void tell_log(struct plan *plan)
{
    struct error error;
    if (!plan->run.options.explain)
        return;
    const struct narration narration = {&plan->run.workload.job, &plan->run.workload.partition,
                                        plan->run.options.verbose};
    if (narration_print(plan->run.voice, &narration, plan->log, &error) != STATUS_OK)
        command_say(plan->venue->program, LOG_WARNING, error.text);
    close(plan->log);
}

/* The same for a trace: that of a failed run is even more useful. */
static void write_trace(const struct plan *plan)
{
    struct error error;
    char line[DISK_PATH_MAX + 200];
    if (plan->trace.file < 0)
        return;
    if (run_trace_finish(&plan->trace, plan->run.out, plan->run.options.trace_steps, line,
                         sizeof line, &error) != STATUS_OK)
        command_say(plan->venue->program, LOG_WARNING, error.text);
    else if (!plan->run.options.quiet)
        wording_wrap(plan->run.voice, line, fprintf(plan->run.voice, "  trace          "), 17);
}

/* What became of it, for people; of a result that is not here there is none. Of a run that failed the reason is said
 * alone: it may be that nothing can be written. */
static void write_page(const struct plan *plan, int code)
{
    struct error error;
    if (page_write_run(&disk_posix, plan->run.out, &error) != STATUS_OK && code == EXIT_DONE)
        command_say(plan->venue->program, LOG_WARNING, error.text);
}

/* Facts that run.json cannot have: the time of ending. It has the phases of server 0's last
 * process; after restarts the rest is unknown. */
static void print_command(const struct plan *plan, const struct run_phases *phases,
                          uint32_t restarts)
{
    double seconds = clock_now_seconds() - plan->began;
    double outside = fmax(seconds - run_phases_total(phases), 0);
    if (phases->begun && restarts == 0)
        fprintf(plan->run.voice, "  this command   %s, of which %s to start and end processes\n",
                wording_duration(seconds).text, wording_duration(outside).text);
}

/* The table, when there is a summary. */
static enum status print_summary(const struct plan *plan, uint32_t restarts, struct error *error)
{
    struct record record;
    enum status status = record_read(&record, plan->run.out, error);
    if (status == STATUS_OK && !plan->run.options.quiet) {
        summary_print(plan->run.voice, &record, restarts);
        print_command(plan, &record.summary.phases, restarts);
    }
    record_free(&record);
    return status;
}

static void say_how_to_go_on(const struct plan *plan)
{
    char text[DISK_PATH_MAX + 128];
    if (plan->run.options.quiet)
        return;
    if (plan->run.out_made)
        snprintf(text, sizeof text, "the same command with --out %s goes on from there",
                 plan->run.out);
    else
        snprintf(text, sizeof text, "the same command goes on from there");
    command_say(plan->venue->program, LOG_INFO, text);
}

/* The result has to be here, however the job ended; after a failure a missing result is no news. */
static int bring(struct plan *plan, const struct launch_result *result, int code,
                 struct error *error)
{
    const struct run_venue *venue = plan->venue;
    struct error trouble = {0};
    if (venue->bring == NULL || !result->claimed)
        return code;
    int brought = venue->bring(venue->context, &plan->run, &trouble);
    if (brought == EXIT_DONE)
        return code;
    if (code != EXIT_DONE) {
        command_say(venue->program, LOG_WARNING, trouble.text);
        return code;
    }
    *error = trouble;
    return brought;
}

static int run(struct plan *plan, struct launch_result *result, struct error *error)
{
    struct error no_summary = {0};
    const char *program = plan->venue->program;
    if (open_log(plan, error) != STATUS_OK ||
        run_trace_open(&plan->trace, &plan->run.options, error) != STATUS_OK ||
        open_page(plan, error) != STATUS_OK)
        return command_fail(program, EXIT_CANNOT_OPEN, error);
    if (!plan->run.options.quiet)
        run_plan_print(&plan->run);
    source_close(&plan->run.workload.source); /* A program that was looked at has done its work. */
    struct audience audience = {.plan = plan};
    int code = launch(plan, &audience, result, error);
    code = bring(plan, result, code, error);
    tell_log(plan);
    bool stop = code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
    enum status status = STATUS_OK;
    if (code == EXIT_DONE || stop)
        status = print_summary(plan, result->restarts, &no_summary);
    http_server_stop(&plan->http);
    write_trace(plan);
    run_trace_close(&plan->trace);
    if (result->claimed)
        write_page(plan, code);
    if (code == EXIT_DONE && status == STATUS_OK)
        run_plan_print_next(&plan->run);
    notice_absence(&audience, "");
    if (code == EXIT_DONE && status != STATUS_OK) {
        *error = no_summary;
        code = EXIT_CANNOT_OPEN;
    }
    if (code != EXIT_DONE)
        command_fail(program, code, error);
    if (stop && status == STATUS_OK)
        say_how_to_go_on(plan);
    return code;
}

static void print_json(const struct plan *plan, int code, const struct launch_result *result,
                       const struct error *error)
{
    struct run_outcome outcome = {
        .exit_code = code,
        .path = plan->run.out[0] != '\0' ? plan->run.out : plan->run.options.out,
        .claimed = result->claimed,
        .reason = code == EXIT_DONE ? "" : error->text,
        .restarts = result->restarts,
        .seconds = clock_now_seconds() - plan->began,
    };
    struct error lost;
    enum status status = run_json_print(stdout, &outcome);
    if (status != STATUS_OK)
        error_set(&lost, status, "out of memory for the result");
    else
        status = output_finish(&lost);
    if (status != STATUS_OK)
        command_fail(plan->venue->program, code, &lost);
}

/* Before anything is started. */
static int make_ready(struct plan *plan, struct error *error)
{
    const struct run_venue *venue = plan->venue;
    int code = EXIT_DONE;
    if (venue->begin != NULL)
        code = venue->begin(venue->context, &plan->run.options, error);
    if (code == EXIT_DONE)
        code = check(plan, error);
    if (code == EXIT_DONE)
        code = command_exit_code(hold_page_port(plan, error));
    if (code == EXIT_DONE && venue->open != NULL)
        code = venue->open(venue->context, &plan->run, error);
    return code;
}

/* Prints its own errors: before the hint to resume, and before the result in JSON. */
int run_at(const struct run_venue *venue, const struct command_call *call)
{
    struct plan plan = {.run.options = call->options,
                        .venue = venue,
                        .page_port = -1,
                        .began = clock_now_seconds()};
    struct launch_result result = {0};
    struct error error = {0};
    plan.run.voice = plan.run.options.json ? stderr : stdout;
    int code = make_ready(&plan, &error);
    code = code != EXIT_DONE ? command_fail(venue->program, code, &error)
                             : run(&plan, &result, &error);
    if (plan.run.options.json)
        print_json(&plan, code, &result, &error);
    if (venue->close != NULL)
        venue->close(venue->context);
    run_plan_free(&plan.run);
    if (plan.page_port >= 0)
        close(plan.page_port);
    teaching_close(&plan.teaching);
    return code;
}

int command_run(const struct command_call *call, struct error *unused)
{
    static const struct run_venue here = {.program = "syncopate run"};
    (void)unused;
    return run_at(&here, call);
}
