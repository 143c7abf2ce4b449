/* syncopate launch: `run` on several hosts. It adds the hosts, their checks, the placement, and the
 * return of the result. */

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/hash.h"
#include "common/base/wording.h"
#include "common/process/log.h"
#include "deploy/command/command.h"
#include "deploy/command/run_venue.h"
#include "deploy/hosts/host_probe.h"
#include "deploy/hosts/host_site.h"
#include "deploy/hosts/remote_run_dir.h"
#include "deploy/launcher/programs.h"

#define PROGRAM             "syncopate launch"
#define HOST_FILE_BYTES_MAX (1u << 20)
#define CLOCK_SECONDS       2.0 /* A smaller clock difference, or login time, is not reported. */
#define HOSTS_SHOWN         16

struct launch {
    const char *ssh;
    struct host_list list;
    struct placement placement;
    struct host_report *reports; /* [list.count], owned. */
    struct host_wanted wanted;
    struct job_keys keys;
    struct host_site hosts;
    struct remote_run_dir remote_dir;
    char bin[PATH_MAX], folder[PATH_MAX], out[PATH_MAX], mark[PATH_MAX + 48];
    char shown[2048]; /* The placement as text. */
    char with_page[1200];
    bool noted; /* Something of this run is elsewhere. */
};

/* --- hosts --------------------------------------------------------------------------------- */

static int read_hosts(struct launch *launch, const struct options *options, struct error *error)
{
    void *text = NULL;
    size_t bytes = 0;
    enum status status;
    if (options->host_list != NULL) {
        status = host_list_read_words(&launch->list, options->host_list, "--host-list", error);
    } else {
        status = disk_posix.read_file(disk_posix.context, options->hosts, HOST_FILE_BYTES_MAX,
                                      &text, &bytes, error);
        if (status == STATUS_NOT_FOUND && strchr(options->hosts, ',') != NULL)
            error_set(error, status, "--hosts=%.200s: there is no such file; a list goes with -H",
                      options->hosts);
        if (status != STATUS_OK)
            return EXIT_CANNOT_OPEN;
        status = host_list_read(&launch->list, text, bytes, options->hosts, error);
        free(text);
    }
    return status == STATUS_OK       ? EXIT_DONE
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_USAGE;
}

/* A name that means another host to each process that resolves it. */
static int check_names(const struct launch *launch, struct error *error)
{
    const struct host_list *list = &launch->list;
    for (size_t i = 0; i < list->count && list->count > 1; i++)
        if (address_is_loopback(list->hosts[i].name)) {
            error_set(error, STATUS_INVALID,
                      "%s is a different host for everyone who reads it: give the name or address "
                      "that the other hosts know it by",
                      list->hosts[i].name);
            return EXIT_USAGE;
        }
    return EXIT_DONE;
}

/* The number of workers, and the placement. */
static int place(struct launch *launch, struct options *options, struct error *error)
{
    bool colocated = options->job.colocated;
    if (options->workers == 0)
        options->workers = placement_room(&launch->list, options->ps, colocated);
    if (options->workers > JOB_WORKERS_MAX)
        options->workers = JOB_WORKERS_MAX;
    if (options->workers == 0) {
        error_set(error, STATUS_INVALID,
                  "the hosts have no slot for a worker beside %s (slots=N, or --workers)",
                  wording_counted(options->ps, "server", "servers").text);
        return EXIT_USAGE;
    }
    if (colocated && options->workers > JOB_SERVERS_MAX) {
        error_set(error, STATUS_INVALID,
                  "--ps=colocated: %s would be as many servers, and the most is %d",
                  wording_counted(options->workers, "worker", "workers").text, JOB_SERVERS_MAX);
        return EXIT_USAGE;
    }
    if (colocated)
        options->ps = options->workers;
    enum status status = placement_make(&launch->placement, &launch->list, options->ps,
                                        options->workers, colocated, error);
    return status == STATUS_OK        ? EXIT_DONE
           : status == STATUS_INVALID ? EXIT_USAGE
                                      : EXIT_TRAINING_FAILED;
}

/* Before the run's folder is looked at: the newest of it may be on another host. */
static int recover(const struct launch *launch, const struct options *options, struct error *error)
{
    char line[2 * DISK_PATH_MAX];
    bool found = false;
    if (options->out == NULL)
        return EXIT_DONE;
    if (remote_run_dir_recover(launch->ssh, options->out, &found, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    snprintf(line, sizeof line, "the state of an earlier launch on another host is in %s now",
             options->out);
    if (found)
        command_say(PROGRAM, LOG_INFO, line);
    return EXIT_DONE;
}

static int begin(void *context, struct options *options, struct error *error)
{
    struct launch *launch = context;
    launch->ssh = options->ssh;
    int code = read_hosts(launch, options, error);
    if (code == EXIT_DONE)
        code = check_names(launch, error);
    if (code == EXIT_DONE)
        code = place(launch, options, error);
    if (code == EXIT_DONE)
        code = recover(launch, options, error);
    return code;
}

/* --- looking at them ----------------------------------------------------------------------- */

/* The run's folder by its absolute path, made if it is missing. */
static enum status find_folder(struct launch *launch, struct run_plan *plan, struct error *error)
{
    bool there = disk_posix.look(disk_posix.context, plan->out) != DISK_NOTHING;
    enum status status = disk_posix.make_directory(disk_posix.context, plan->out, error);
    if (status != STATUS_OK)
        return status;
    plan->out_made = plan->out_made || !there;
    if (realpath(plan->out, launch->out) == NULL || getcwd(launch->folder, PATH_MAX) == NULL)
        return error_set(error, STATUS_IO, "%.300s: cannot find its whole name", plan->out);
    return STATUS_OK;
}

static enum status find_programs(struct launch *launch, const struct options *options,
                                 struct error *error)
{
    char folder[PATH_MAX];
    if (options->remote_bin != NULL) {
        snprintf(launch->bin, sizeof launch->bin, "%s", options->remote_bin);
        return STATUS_OK;
    }
    enum status status = programs_find(folder, error);
    if (status == STATUS_OK && realpath(folder, launch->bin) == NULL)
        status = error_set(error, STATUS_IO, "%.300s: cannot find its whole name", folder);
    return status;
}

/* A host that sees it shares the folder. */
static enum status make_mark(struct launch *launch, struct error *error)
{
    snprintf(launch->mark, sizeof launch->mark, "%s/.launch-%016" PRIx64, launch->out,
             hash_random_u64());
    return disk_put_note(launch->mark, "", error);
}

static enum status ask_all(struct launch *launch, const struct options *options,
                           struct error *error)
{
    char data[OPTIONS_DATA_MAX];
    options_data_text(options, data);
    uint32_t last = options->port_base + host_site_ports(options->ps) - 1;
    struct host_probe host_probe = {.ssh = launch->ssh,
                                    .list = &launch->list,
                                    .bin = launch->bin,
                                    .folder = launch->folder,
                                    .mark = launch->mark,
                                    .data = options->program == NULL ? data : NULL,
                                    .program = options->program,
                                    .start_seconds = options->deadlines.start,
                                    .instructions = options->instructions,
                                    .first_port = (uint16_t)options->port_base,
                                    .last_port = (uint16_t)(last < 65535 ? last : 65535)};
    launch->wanted = (struct host_wanted){.version = "syncopate " SYNCOPATE_VERSION,
                                          .first_port = host_probe.first_port,
                                          .bin = launch->bin};
    launch->reports = calloc(launch->list.count + 1, sizeof *launch->reports);
    if (launch->reports == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    sigset_t stops, before; /* Which end this process when the mark is gone. */
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, &before);
    enum status status = make_mark(launch, error);
    if (status == STATUS_OK)
        status = host_probe_ask(&host_probe, &launch->wanted, launch->reports, error);
    unlink(launch->mark);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static void compare_bits(struct launch *launch)
{
    const char **names = calloc(launch->list.count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < launch->list.count; i++)
        names[i] = launch->list.hosts[i].name;
    if (names != NULL)
        host_reports_compare(launch->reports, names, launch->list.count);
    free(names);
}

static void say_clock(const struct host *host, double ahead)
{
    char line[HOST_NAME_MAX_BYTES + 128];
    if (isnan(ahead) || fabs(ahead) < CLOCK_SECONDS)
        return;
    snprintf(line, sizeof line, "%s: its clock is %s %s; lines of logs are sorted by it",
             host->name, wording_duration(fabs(ahead)).text, ahead > 0 ? "ahead" : "behind");
    command_say(PROGRAM, LOG_WARNING, line);
}

/* A line for each host that cannot take part; the first one's exit code. */
static int judge(const struct launch *launch, struct error *error)
{
    char line[HOST_NAME_MAX_BYTES + 512];
    size_t faults = 0;
    int code = EXIT_DONE;
    for (size_t i = 0; i < launch->list.count; i++) {
        const struct host_report *report = &launch->reports[i];
        say_clock(&launch->list.hosts[i], report->clock_ahead);
        if (report->fault[0] == '\0')
            continue;
        code = faults++ == 0 ? report->exit_code : code;
        snprintf(line, sizeof line, "%s %s", launch->list.hosts[i].name, report->fault);
        command_say(PROGRAM, LOG_ERROR, line);
    }
    if (faults > 0)
        error_set(error, STATUS_UNREACHABLE, "%zu of %s cannot take part; nothing was started",
                  faults, wording_counted(launch->list.count, "host", "hosts").text);
    return code;
}

static int find_ports(struct launch *launch, const struct options *options, struct error *error)
{
    char line[256];
    uint32_t last = options->port_base + host_site_ports(options->ps) - 1;
    launch->hosts.port =
        host_site_port(&launch->list, &launch->placement, launch->reports, &launch->wanted,
                       (uint16_t)(last < 65535 ? last : 65535), error);
    if (launch->hosts.port == 0)
        return EXIT_CANNOT_OPEN;
    snprintf(line, sizeof line, "servers listen from port %u on: a port from %u on is taken",
             launch->hosts.port, options->port_base);
    if (launch->hosts.port != options->port_base && !options->quiet)
        command_say(PROGRAM, LOG_INFO, line);
    return EXIT_DONE;
}

/* --- preparing ----------------------------------------------------------------------------- */

static int prepare_keys(struct launch *launch, const struct options *options, struct error *error)
{
    enum status status = STATUS_OK;
    if (options->insecure)
        return EXIT_DONE;
    if (options->keys != NULL)
        status = job_keys_read(&launch->keys, options->keys, options->workers, error);
    else
        status = job_keys_make(&launch->keys, options->workers, error);
    launch->hosts.keys = &launch->keys;
    return command_exit_code(status);
}

/* Server 0 uses this folder, or gets one of its own. */
static int prepare_folder(struct launch *launch, struct error *error)
{
    size_t host = launch->placement.server_hosts[0];
    if (launch->reports[host].shares) {
        launch->hosts.site.out = launch->out;
        return EXIT_DONE;
    }
    remote_run_dir_place(&launch->remote_dir, launch->ssh, &launch->list.hosts[host],
                         launch->reports[host].home, launch->out);
    if (remote_run_dir_send(&launch->remote_dir, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    launch->noted = true;
    launch->hosts.site.elsewhere = true;
    launch->hosts.site.out = launch->remote_dir.path;
    launch->hosts.lock = launch->remote_dir.lock;
    return EXIT_DONE;
}

/* "alpha: ps/0, worker/1; beta: worker/0" */
static void show_hosts(struct launch *launch)
{
    const struct placement *placement = &launch->placement;
    size_t size = sizeof launch->shown;
    size_t shown = launch->list.count < HOSTS_SHOWN ? launch->list.count : HOSTS_SHOWN;
    for (size_t host = 0; host < shown; host++) {
        const char *before = ": ";
        wording_append(launch->shown, size, "%s%s", host > 0 ? "; " : "",
                       launch->list.hosts[host].name);
        for (uint32_t i = 0; i < placement->servers; i++)
            if (placement->server_hosts[i] == host) {
                wording_append(launch->shown, size, "%sps/%u", before, i);
                before = ", ";
            }
        for (uint32_t i = 0; i < placement->workers; i++)
            if (placement->worker_hosts[i] == host) {
                wording_append(launch->shown, size, "%sworker/%u", before, i);
                before = ", ";
            }
    }
    if (shown < launch->list.count)
        wording_append(launch->shown, size, "; and %zu hosts more", launch->list.count - shown);
}

static int open_launch(void *context, struct run_plan *plan, struct error *error)
{
    struct launch *launch = context;
    const struct options *options = &plan->options;
    /* What a program gives goes with the folder to server 0; workers ask the programs of their hosts. */
    if (options->initial == plan->initial)
        plan->options.initial = NULL;
    enum status status = find_folder(launch, plan, error);
    if (status == STATUS_OK)
        status = find_programs(launch, options, error);
    if (status == STATUS_OK)
        status = ask_all(launch, options, error);
    if (status != STATUS_OK)
        return command_exit_code(status);
    if (!options->allow_mixed)
        compare_bits(launch);
    int code = judge(launch, error);
    if (code == EXIT_DONE)
        code = find_ports(launch, options, error);
    if (code == EXIT_DONE)
        code = prepare_keys(launch, options, error);
    launch->hosts.ssh = launch->ssh;
    if (options->serve != NULL) { /* What server 0 says of the job comes to the same port here. */
        snprintf(launch->with_page, sizeof launch->with_page, "%.900s -L %s:%s", launch->ssh,
                 options->serve, options->serve);
        launch->hosts.server_0_ssh = launch->with_page;
    }
    launch->hosts.list = &launch->list;
    launch->hosts.placement = &launch->placement;
    launch->hosts.bin = launch->bin;
    launch->hosts.folder = launch->folder;
    if (code == EXIT_DONE)
        code = command_exit_code(host_site_open(&launch->hosts, error));
    if (code == EXIT_DONE)
        code = prepare_folder(launch, error);
    show_hosts(launch);
    plan->hosts = launch->shown;
    return code;
}

static const struct site *site_of(void *context)
{
    const struct launch *launch = context;
    return &launch->hosts.site;
}

/* --- ending -------------------------------------------------------------------------------- */

static int bring(void *context, struct run_plan *plan, struct error *error)
{
    struct launch *launch = context;
    char line[2 * DISK_PATH_MAX];
    if (!launch->noted)
        return EXIT_DONE;
    launch->noted = false;
    if (remote_run_dir_bring(&launch->remote_dir, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    snprintf(line, sizeof line, "%s has the run directory of server 0 on %s", plan->out,
             launch->remote_dir.host.name);
    if (!plan->options.quiet)
        command_say(PROGRAM, LOG_INFO, line);
    return EXIT_DONE;
}

/* A copy that was not used is the same as here. */
static void close_launch(void *context)
{
    struct launch *launch = context;
    if (launch->noted)
        remote_run_dir_drop(&launch->remote_dir);
    host_site_close(&launch->hosts);
    job_keys_free(&launch->keys);
    placement_free(&launch->placement);
    host_list_free(&launch->list);
    free(launch->reports);
}

int command_launch(const struct command_call *call, struct error *unused)
{
    struct launch *launch = calloc(1, sizeof *launch);
    if (launch == NULL) {
        error_set(unused, STATUS_MEMORY, "out of memory");
        return EXIT_TRAINING_FAILED;
    }
    const struct run_venue venue = {.program = PROGRAM,
                                    .context = launch,
                                    .begin = begin,
                                    .open = open_launch,
                                    .site = site_of,
                                    .bring = bring,
                                    .close = close_launch};
    int code = run_at(&venue, call);
    free(launch);
    return code;
}
