/* warm_up.c - the options of a configuration, shortened. */

#include "deploy/compare/warm_up.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file/folder.h"
#include "deploy/launcher/launch.h"
#include "deploy/trace/run_trace.h"
#include "worker/workload.h"

#define STEPS_TRACED 20

void warm_up_options(struct warm_up *warm_up, const struct config_plan *config, uint32_t steps,
                     const char *folder)
{
    struct options *options = &warm_up->options;
    *options = config->options;
    snprintf(warm_up->out, sizeof warm_up->out, "%.*s/" WARM_UP_FOLDER "/%s",
             (int)(sizeof warm_up->out - sizeof "/" WARM_UP_FOLDER "/" - CONFIG_TEXT_MAX), folder,
             config->config.name);
    options->out = warm_up->out;
    options->job.steps = steps;
    options->job.checkpoint_every = 0;
    options->job.record = RECORDING_OFF;
    options->job.keep_scored = false;
    options->job.report_every = 0;
    options->traced = true; /* It perturbs no run that counts. */
    options->trace_steps = STEPS_TRACED;
}

/* The counted runs will say it again. */
static void say_nothing(void *context, const char *line)
{
    (void)context;
    (void)line;
}

/* A failed one is removed: the counted runs will fail as well, and remain. */
static void take_away(const char *out)
{
    char above[DISK_PATH_MAX];
    folder_remove(out, NULL);
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(out, '/') - out), out);
    rmdir(above); /* Succeeds only when it is empty. */
}

/* Without a trace the page lacks a picture, and nothing else. */
static void keep_trace(const struct warm_up *warm_up, const struct run_trace *trace)
{
    char line[DISK_PATH_MAX + 200];
    if (trace->file >= 0)
        run_trace_finish(trace, warm_up->out, warm_up->options.trace_steps, line, sizeof line,
                         NULL);
}

int warm_up_run(const struct warm_up *warm_up, struct error *error)
{
    const struct launch_watch watch = {.say = say_nothing};
    struct options options = warm_up->options;
    struct run_trace trace;
    if (folder_remove(warm_up->out, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    if (run_trace_open(&trace, &options, NULL) != STATUS_OK)
        options.trace = NULL;
    struct launch_result result;
    char initial[DISK_PATH_MAX];
    int code = workload_ask(&options, warm_up->out, initial, error);
    if (code == EXIT_DONE)
        code = launch_job(&options, warm_up->out, NULL, &watch, &result, error);
    if (code == EXIT_DONE)
        keep_trace(warm_up, &trace);
    else
        take_away(warm_up->out);
    run_trace_close(&trace);
    if (code == EXIT_DONE && result.stop_code != EXIT_DONE) {
        error_set(error, STATUS_INTERRUPTED, "stopped");
        code = result.stop_code;
    }
    return code;
}
