/* syncopate task: becomes the process of a job that its environment describes. deploy/place
 * decides; this file acts: the process is replaced by that of the role, and signals, exit codes and
 * its number are the role's own. Where a place is a worker and a server, both are children. */

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/clock.h"
#include "common/process/log.h"
#include "common/process/parent.h"
#include "common/store/initial.h"
#include "deploy/command/command.h"
#include "deploy/launcher/arguments.h"
#include "deploy/launcher/colocated_pair.h"
#include "deploy/launcher/folder_rendezvous.h"
#include "deploy/launcher/ports.h"
#include "deploy/launcher/programs.h"
#include "deploy/place/place.h"
#include "deploy/run/program_values.h"

extern char **environ;

struct task {
    struct options *options;
    struct place place;
    char host[ADDRESS_MAX]; /* The name of this host. */
    char programs[PATH_MAX];
    char meet[PATH_MAX]; /* Folder of addresses; "": none. */
    double waited;       /* Seconds, for others to leave theirs. */
};

/* --- options ---------------------------------------------------------------------------------- */

static bool given(const struct options *options, const char *name)
{
    return options_given(options, OPTION_TASK, name);
}

static enum place_source wanted_source(const struct options *options)
{
    unsigned source = 0;
    while (strcmp(place_source_word(source), options->cluster_from) != 0)
        source++;
    return (enum place_source)source;
}

/* Workers, of whichever option has them. */
static enum status count_workers(const struct options *options, uint32_t *workers,
                                 struct error *error)
{
    *workers = given(options, "workers") ? options->workers : 0;
    if (options->worker_hosts == NULL)
        return STATUS_OK;
    uint32_t named;
    enum status status = options_hosts(options->worker_hosts, NULL, JOB_WORKERS_MAX, &named, error);
    if (status == STATUS_OK && *workers > 0 && named != *workers)
        return error_set(error, STATUS_INVALID,
                         "--workers=%" PRIu32 ", but --worker-hosts names %" PRIu32, *workers,
                         named);
    *workers = named;
    return status;
}

/* The folder where servers leave their addresses when these are not known otherwise. */
static void name_meeting(struct task *task)
{
    const struct options *options = task->options;
    if (options->meet != NULL)
        snprintf(task->meet, sizeof task->meet, "%s", options->meet);
    else if (options->out != NULL)
        snprintf(task->meet, sizeof task->meet, "%.*s.addresses",
                 (int)(strlen(options->out) -
                       (strlen(options->out) > 1 && options->out[strlen(options->out) - 1] == '/')),
                 options->out);
}

static enum status find_place(struct task *task, struct error *error)
{
    const struct options *options = task->options;
    bool counted = given(options, "ps") && !options->job.colocated;
    struct place_request request = {
        .environment = (const char *const *)environ,
        .host = task->host,
        .source = wanted_source(options),
        .job_name = options->job_name,
        .index = given(options, "task-index") ? (int64_t)options->task_index : -1,
        .servers = counted ? (int64_t)options->ps : -1,
        .colocated = options->job.colocated,
        .ps_hosts = options->ps_hosts,
        .port_base = given(options, "port-base") ? options->port_base : 0,
        .meeting = task->meet[0] != '\0',
        .must_meet = options->meet != NULL,
    };
    enum status status = count_workers(options, &request.workers, error);
    return status == STATUS_OK ? place_find(&task->place, &request, error) : status;
}

/* --- addresses by a folder ------------------------------------------------------------------- */

/* A port of this host is held for the server, which inherits the socket. */
static enum status leave_address(struct task *task, struct error *error)
{
    const struct options *options = task->options;
    char address[ADDRESS_MAX + 8];
    uint16_t port =
        given(options, "port-base") ? (uint16_t)(options->port_base + task->place.server) : 0;
    if (given(options, "port-base") && options->port_base + task->place.server > UINT16_MAX)
        return error_set(error, STATUS_INVALID,
                         "--port-base=%" PRIu32 ": server %" PRIu32 " would have no port",
                         options->port_base, task->place.server);
    if (port == 0 && port_keep(&port) < 0)
        return error_set(error, STATUS_IO, "no port is free");
    snprintf(address, sizeof address, "%s:%u", task->place.host, port);
    return folder_rendezvous_leave(task->meet, task->place.job, task->place.server, address, error);
}

static int meet(struct task *task, struct error *error)
{
    struct place *place = &task->place;
    double began = clock_now_seconds();
    enum status status = place->serves ? leave_address(task, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = folder_rendezvous_gather(task->meet, place->job, place->servers,
                                          task->options->deadlines.start, &place->ps_hosts, error);
    task->waited = clock_now_seconds() - began;
    if (task->waited >= 1) /* Of the same patience. */
        task->options->deadlines.start = fmax(task->options->deadlines.start - task->waited, 0.001);
    return status == STATUS_TIMEOUT   ? EXIT_START_TIMEOUT
           : status == STATUS_MEMORY  ? EXIT_TRAINING_FAILED
           : status == STATUS_INVALID ? EXIT_USAGE
                                      : command_exit_code(status);
}

/* --- becoming it ----------------------------------------------------------------------------- */

/* The role's arguments: its place, then the other given options. */
static void add_role(struct arguments *arguments, const struct task *task, bool server)
{
    const struct place *place = &task->place;
    const struct options *options = task->options;
    arguments_add(arguments, "job-name", server ? "ps" : "worker");
    arguments_add(arguments, "task-index", "%" PRIu32, server ? place->server : place->worker);
    if (place->alone)
        arguments_add(arguments, "ps", "0");
    else
        arguments_add(arguments, "ps-hosts", "%s", place->ps_hosts);
    if (!place->alone && place->job_id[0] != '\0' && !given(options, "job-id"))
        arguments_add(arguments, "job-id", "%s", place->job_id);
    if (!server && !place->alone && options->job.colocated)
        arguments_add(arguments, "ps", "colocated");
    if (!server && !place->alone && place->workers > 0)
        arguments_add(arguments, "workers", "%" PRIu32, place->workers);
    if (!server && place->evicts && !given(options, "on-term") && !place->serves)
        arguments_add(arguments, "on-term", "leave");
    arguments_add_given(arguments, options, OPTION_TASK, server ? OPTION_PS : OPTION_WORKER,
                        place->alone);
    if (task->waited >= 1 && !given(options, "start-timeout"))
        arguments_add(arguments, "start-timeout", "%.17g", options->deadlines.start);
}

/* Options are passed by command line only. */
static char **role_environment(void)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL)
        count++;
    char **environment = calloc(count + 1, sizeof *environment);
    for (size_t i = 0; environment != NULL && i < count; i++)
        if (!arguments_environment_is_option(environ[i]))
            environment[used++] = environ[i];
    return environment;
}

/* Comes back only when it fails. */
static int become(const char *path, const struct arguments *arguments, struct error *error)
{
    char *const *list = arguments_list(arguments);
    char **environment = role_environment();
    if (list == NULL || environment == NULL) {
        free(environment);
        error_set(error, STATUS_MEMORY, "out of memory");
        return EXIT_TRAINING_FAILED;
    }
    fflush(NULL);
    /* Signals during the exchange of programs wait for process_begin of the next one: the kernel
     * ignores those of a container's first process. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    execve(path, list, environment);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(environment);
    error_set(error, STATUS_IO, "cannot run %.300s: %m", path);
    return EXIT_CANNOT_OPEN;
}

static void name_program(const struct task *task, bool server, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%s/syncopate-%s", task->programs, server ? "ps" : "worker");
}

/* Server 0 begins with what a program gives. */
static enum status keep_initial(const struct task *task, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct stat there;
    bool any;
    const struct options *options = task->options;
    if (!task->place.serves || task->place.server != 0 || options->program == NULL ||
        options->initial != NULL)
        return STATUS_OK;
    snprintf(path, sizeof path, "%.*s/" INITIAL_FILE, DISK_PATH_MAX - 32, options->out);
    initial_drop(&disk_posix, options->out);
    if (stat(path, &there) == 0)
        return STATUS_OK;
    enum status status = disk_posix.make_directory(disk_posix.context, options->out, error);
    return status == STATUS_OK ? program_values_write(options, path, &any, error) : status;
}

static int become_role(const struct task *task, struct error *error)
{
    char path[PATH_MAX + 32];
    struct arguments arguments;
    name_program(task, task->place.serves, path);
    arguments_init(&arguments, path);
    add_role(&arguments, task, task->place.serves);
    int code = become(path, &arguments, error);
    arguments_free(&arguments);
    return code;
}

/* A worker and a server, children of this process. */
static int be_both(const struct task *task, struct error *error)
{
    char paths[2][PATH_MAX + 32];
    struct arguments arguments[2];
    if (task->options->parent_stdin &&
        parent_greet(task->options->deadlines.start, error) != STATUS_OK)
        return EXIT_USAGE;
    char **environment = role_environment();
    struct colocated_role roles[2];
    bool whole = environment != NULL;
    for (int i = 0; i < 2; i++) {
        name_program(task, i == 0, paths[i]);
        arguments_init(&arguments[i], paths[i]);
        add_role(&arguments[i], task, i == 0);
        if (!task->options->parent_stdin) /* Then the option is passed on unchanged. */
            arguments_add(&arguments[i], "parent-stdin", "true");
        roles[i].program = (struct child_program){
            .path = paths[i],
            .arguments = arguments_list(&arguments[i]),
            .environment = environment,
            .prints = true,
        };
        snprintf(roles[i].name, sizeof roles[i].name, "%s/%" PRIu32, i == 0 ? "ps" : "worker",
                 task->place.server);
        whole = whole && roles[i].program.arguments != NULL;
    }
    int code = EXIT_TRAINING_FAILED;
    if (whole)
        code = colocated_pair_run(roles, task->options->deadlines.stop, task->options->parent_stdin,
                                  error);
    else
        error_set(error, STATUS_MEMORY, "out of memory");
    for (int i = 0; i < 2; i++)
        arguments_free(&arguments[i]);
    free(environment);
    return code;
}

/* Scores checkpoints as they are written. */
static int evaluate(const struct task *task, struct error *error)
{
    char path[PATH_MAX + 32];
    struct arguments arguments;
    if (task->options->out == NULL) {
        error_set(error, STATUS_INVALID,
                  "an evaluator needs --out, the run whose checkpoints it "
                  "is to score");
        return EXIT_USAGE;
    }
    snprintf(path, sizeof path, "%s/syncopate", task->programs);
    arguments_init(&arguments, path);
    arguments_add_word(&arguments, "evaluate");
    arguments_add_word(&arguments, "--follow");
    arguments_add_given(&arguments, task->options, OPTION_TASK, OPTION_EVALUATE, false);
    arguments_add_word(&arguments, "--");
    arguments_add_word(&arguments, task->options->out);
    int code = become(path, &arguments, error);
    arguments_free(&arguments);
    return code;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void name_self(const struct place *place, char who[64])
{
    if (place->serves)
        snprintf(who, 64, "ps/%" PRIu32, place->server);
    else if (place->works)
        snprintf(who, 64, "worker/%" PRIu32, place->worker);
    else
        snprintf(who, 64, "%s", place->evaluates ? "evaluator" : "task");
}

static int take_place(struct task *task, struct error *error)
{
    const struct place *place = &task->place;
    char who[64], text[2 * PLACE_TEXT_MAX];
    name_self(place, who);
    options_begin_log(task->options, who);
    place_describe(place, text);
    log_info("place: %s", text);
    enum status status = programs_find(task->programs, error);
    if (status != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    if (place->evaluates)
        return evaluate(task, error);
    int code = command_exit_code(keep_initial(task, error));
    if (code == EXIT_DONE && place->meets)
        code = meet(task, error);
    if (code != EXIT_DONE || (!place->serves && !place->works))
        return code;
    return place->serves && place->works ? be_both(task, error) : become_role(task, error);
}

int command_task(const struct command_call *call, struct error *error)
{
    struct options options = call->options;
    struct task task = {.options = &options};
    if (gethostname(task.host, sizeof task.host - 1) != 0)
        snprintf(task.host, sizeof task.host, "localhost");
    name_meeting(&task);
    enum status status = find_place(&task, error);
    if (status != STATUS_OK)
        return status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_USAGE;
    int code = take_place(&task, error);
    place_free(&task.place);
    return code;
}
