/* virtual_runs.c - starts, watches and ends children, one a run. */

#include "deploy/compare/virtual_runs.h"

#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "deploy/launcher/arguments.h"
#include "deploy/launcher/child_end.h"
#include "deploy/launcher/programs.h"

#define LOOK_MS            50
#define STOP_EXTRA_SECONDS 5

extern char **environ;

/* Those that this process may use. */
static size_t processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (size_t)count : 1;
}

/* Options are passed by command line only. */
static enum status make_environment(struct virtual_runs *runs, struct error *error)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL)
        count++;
    runs->environment = calloc(count + 1, sizeof *runs->environment);
    if (runs->environment == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (!arguments_environment_is_option(environ[i]))
            runs->environment[used++] = environ[i];
    return STATUS_OK;
}

enum status virtual_runs_open(struct virtual_runs *runs, size_t count, double stop_timeout,
                              struct error *error)
{
    char folder[PATH_MAX];
    runs->count = count;
    runs->next = 0;
    runs->side_by_side = processors();
    runs->signals.file = -1;
    runs->stop_signal = 0;
    runs->request = (struct stop_request){0};
    runs->stop_timeout = stop_timeout;
    runs->kill_at = INFINITY;
    runs->environment = NULL;
    runs->children = calloc(count, sizeof *runs->children);
    if (runs->children == NULL) {
        runs->count = 0;
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++)
        child_init(&runs->children[i]);
    enum status status = programs_find(folder, error);
    if (status == STATUS_OK) {
        int length = snprintf(runs->program, sizeof runs->program, "%s/syncopate", folder);
        if (length < 0 || (size_t)length >= sizeof runs->program)
            status = error_set(error, STATUS_INVALID, "path is too long: %.300s...", folder);
    }
    if (status == STATUS_OK)
        status = make_environment(runs, error);
    return status == STATUS_OK ? signal_file_open(&runs->signals, error) : status;
}

void virtual_runs_close(struct virtual_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        child_signal(&runs->children[i], SIGKILL);
        child_free(&runs->children[i]);
    }
    while (runs->signals.file >= 0 && signal_file_next(&runs->signals) != 0)
        continue; /* An impatient third Ctrl-C does not cut the table off. */
    signal_file_close(&runs->signals);
    free(runs->children);
    free(runs->environment);
}

/* --- starting --------------------------------------------------------------------------------- */

static enum status start(struct virtual_runs *runs, size_t index, const struct options *options,
                         const char *out, const char *name, struct error *error)
{
    static char simulate[] = "simulate";
    struct arguments arguments;
    arguments_init(&arguments, "syncopate");
    arguments_add_options(&arguments, options, OPTION_SIMULATE);
    if (options->job.colocated)
        arguments_add(&arguments, "ps", "colocated");
    else
        arguments_add(&arguments, "ps", "%u", options->ps);
    arguments_add(&arguments, "workers", "%u", options->workers);
    if (options->data_settings[DATA_SETTING_LOSS] != NULL) /* Its row is that of a link's loss. */
        arguments_add(&arguments, "loss", "%s", options->data_settings[DATA_SETTING_LOSS]);
    arguments_add(&arguments, "out", "%s", out);
    arguments_add(&arguments, "quiet", "true");
    char *const *list = arguments_list(&arguments);
    char **argv = list != NULL ? calloc(arguments.count + 2, sizeof *argv) : NULL;
    enum status status = STATUS_MEMORY;
    if (argv != NULL) {
        argv[0] = list[0];
        argv[1] = simulate;
        memcpy(argv + 2, list + 1, (arguments.count - 1) * sizeof *argv);
        const struct child_program program = {
            .path = runs->program, .arguments = argv, .environment = runs->environment};
        status = child_start(&runs->children[index], name, &program, clock_now_seconds(), error);
    } else {
        error_set(error, STATUS_MEMORY, "out of memory");
    }
    free(argv);
    arguments_free(&arguments);
    return status;
}

static size_t running(const struct virtual_runs *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->next; i++)
        count += runs->children[i].running;
    return count;
}

/* As many as there is room for. A failed start is reported when its run is waited for. */
static void start_next(struct virtual_runs *runs)
{
    while (runs->next < runs->count && runs->stop_signal == 0 &&
           running(runs) < runs->side_by_side) {
        struct options options;
        struct error why = {0};
        char out[DISK_PATH_MAX], name[160];
        size_t index = runs->next++;
        if (runs->run(runs->context, index, &options, out, sizeof out, name, sizeof name) &&
            start(runs, index, &options, out, name, &why) != STATUS_OK)
            snprintf(runs->children[index].error, sizeof runs->children[index].error, "%s",
                     why.text);
    }
}

/* --- watching --------------------------------------------------------------------------------- */

static void signal_all(struct virtual_runs *runs, int signal)
{
    for (size_t i = 0; i < runs->next; i++)
        if (runs->children[i].running)
            child_signal(&runs->children[i], signal);
}

static void read_signals(struct virtual_runs *runs, double now)
{
    for (int signal = 0; (signal = signal_file_next(&runs->signals)) != 0;) {
        enum stop_action action = stop_request_take(&runs->request, signal, now);
        if (action == STOP_AT_ONCE)
            runs->kill_at = now;
        if (action != STOP_CLEANLY)
            continue;
        runs->stop_signal = signal;
        runs->kill_at = now + runs->stop_timeout + STOP_EXTRA_SECONDS;
        signal_all(runs, SIGTERM);
    }
}

static void hear(void *context, const char *line, enum log_level level)
{
    const struct virtual_runs *runs = context;
    if (level == LOG_WARNING)
        runs->say(runs->context, line);
}

static void look(struct virtual_runs *runs)
{
    struct pollfd signals = {runs->signals.file, POLLIN, 0};
    poll(&signals, 1, LOOK_MS);
    double now = clock_now_seconds();
    read_signals(runs, now);
    if (now >= runs->kill_at)
        signal_all(runs, SIGKILL);
    for (size_t i = 0; i < runs->next; i++) {
        if (!runs->children[i].running)
            continue;
        child_read(&runs->children[i], hear, runs);
        child_reap(&runs->children[i], now);
        if (!runs->children[i].running)
            child_read(&runs->children[i], hear, runs); /* Its last output. */
    }
    start_next(runs);
}

static int explain(const struct child *child, struct error *error)
{
    char text[300];
    if (child->pid == 0) {
        error_set(error, STATUS_IO, "%.300s", child->error);
        return EXIT_TRAINING_FAILED;
    }
    int code = child_exit_code(child);
    static const char program[] = "syncopate simulate: ";
    const char *last =
        child->tail_count > 0 ? child->tail[(child->tail_count - 1) % CHILD_TAIL] : "";
    if (code > 0 && strncmp(last, program, sizeof program - 1) == 0) {
        error_set(error, STATUS_IO, "%.300s", last + sizeof program - 1);
    } else if (child->error[0] != '\0') {
        error_set(error, STATUS_IO, "%.300s", child->error);
    } else {
        child_explain(child, text, sizeof text);
        error_set(error, STATUS_IO, "%s", text);
    }
    return code > 0 ? code : EXIT_TRAINING_FAILED;
}

int virtual_runs_await(struct virtual_runs *runs, size_t index, double *seconds,
                       struct error *error)
{
    struct child *child = &runs->children[index];
    start_next(runs);
    while (child->running || (index >= runs->next && runs->stop_signal == 0))
        look(runs);
    *seconds = child->pid != 0 ? child->ended - child->started : 0;
    if (child->pid != 0 && child_exit_code(child) == EXIT_DONE)
        return EXIT_DONE;
    if (runs->stop_signal == 0)
        return explain(child, error);
    while (running(runs) > 0)
        look(runs);
    error_set(error, STATUS_INTERRUPTED, "stopped");
    return runs->stop_signal == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
}
